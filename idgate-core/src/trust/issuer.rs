//! Statements about an issuer, as texts and bytes. [`Trust::new`](super::Trust::new) reads them.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::entry::{DeviceResponseDocuments, RevocationPolicy, TrustEntry};
use super::list_file::ListFile;
use super::on_unknown::OnUnknownRevocation;
use crate::ids::{ClaimPath, DocType, IssuerId, NameSpace};

/// One issuer that you trust: which credentials it may issue, and the keys and certificates that they
/// are verified with.
///
/// Each method adds to the ones before. [`Trust::new`](super::Trust::new) reads the material, and its error
/// names issuer and field.
///
/// ```
/// use idgate_core::Issuer;
///
/// # let (jwk, iaca) = ("", "");
/// let pid = Issuer::new("https://issuer.example").vct("urn:eudi:pid:1").jwk(jwk);
/// let licences = Issuer::new("https://dmv.example").doc_type("org.iso.18013.5.1.mDL").iaca_roots(iaca);
/// ```
#[derive(Clone)]
pub struct Issuer {
    /// Its words, without material.
    pub(super) entry: TrustEntry,
    pub(super) material: Vec<Material>,
    /// Texts that are read with the material.
    pub(super) texts: Vec<(Field, String)>,
    pub(super) test_only: bool,
}

/// Bytes, and the field that they were given as.
#[derive(Clone)]
pub(super) struct Material {
    pub(super) field: Field,
    /// A certificate list comes with its rules.
    pub(super) list: Option<ListFile>,
    pub(super) bytes: Vec<u8>,
}

/// A method of [`Issuer`], by which an error says what is wrong.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Field {
    /// The name of the issuer itself.
    Id,
    /// [`Issuer::jwk`]
    Jwk,
    /// [`Issuer::public_key_pem`]
    PublicKeyPem,
    /// [`Issuer::iaca_roots`]
    IacaRoots,
    /// [`Issuer::mdoc_signers`]
    MdocSigners,
    /// [`Issuer::x5c_roots`]
    X5cRoots,
    /// [`Issuer::x5c_signers`]
    X5cSigners,
    /// [`Issuer::status_roots`]
    StatusRoots,
    /// [`Issuer::crls`]
    Crls,
    /// [`Issuer::vical`]
    Vical,
    /// [`Issuer::master_list`]
    MasterList,
    /// [`Issuer::trusted_list`]
    TrustedList,
    /// [`Issuer::mdoc_eku`]
    MdocEku,
    /// [`Issuer::x5c_eku`]
    X5cEku,
    /// [`Issuer::status_max_age_days`]
    StatusMaxAgeDays,
    /// [`Issuer::on_unknown_revocation`]
    OnUnknownRevocation,
}

impl Field {
    /// Its name in Rust, for example `iaca_roots`. Another language has it in its own spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Jwk => "jwk",
            Self::PublicKeyPem => "public_key_pem",
            Self::IacaRoots => "iaca_roots",
            Self::MdocSigners => "mdoc_signers",
            Self::X5cRoots => "x5c_roots",
            Self::X5cSigners => "x5c_signers",
            Self::StatusRoots => "status_roots",
            Self::Crls => "crls",
            Self::Vical => "vical",
            Self::MasterList => "master_list",
            Self::TrustedList => "trusted_list",
            Self::MdocEku => "mdoc_eku",
            Self::X5cEku => "x5c_eku",
            Self::StatusMaxAgeDays => "status_max_age_days",
            Self::OnUnknownRevocation => "on_unknown_revocation",
        }
    }
}

impl Issuer {
    /// An issuer by the name that requests use for it. Where the name is a URL or a DID, credentials that
    /// have `iss` must have it there; see [`Issuer::iss`] and [`Issuer::any_iss`].
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            entry: TrustEntry::new(IssuerId::new(id)),
            material: Vec::new(),
            texts: Vec::new(),
            test_only: false,
        }
    }

    // Keys and certificates.

    /// The public key of an SD-JWT VC issuer: a JWK, or a JWK Set (RFC 7517 5).
    pub fn jwk(self, jwk_or_set: impl Into<Vec<u8>>) -> Self {
        self.with(Field::Jwk, jwk_or_set)
    }

    /// The public key of an SD-JWT VC issuer, in PEM.
    pub fn public_key_pem(self, pem: impl Into<Vec<u8>>) -> Self {
        self.with(Field::PublicKeyPem, pem)
    }

    /// X.509 roots of mdoc document signers, one or many, in PEM or DER (ISO/IEC 18013-5 B.1).
    pub fn iaca_roots(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::IacaRoots, pem_or_der)
    }

    /// Certificates of mdoc document signers that are trusted without a root, in PEM or DER.
    pub fn mdoc_signers(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::MdocSigners, pem_or_der)
    }

    /// X.509 roots of SD-JWT VC issuers that sign with the certificates in `x5c`, in PEM or DER.
    pub fn x5c_roots(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::X5cRoots, pem_or_der)
    }

    /// Certificates of SD-JWT VC issuers that are trusted without a root, in PEM or DER.
    pub fn x5c_signers(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::X5cSigners, pem_or_der)
    }

    /// X.509 roots below which status lists may be signed, in addition to the one of the credential.
    pub fn status_roots(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::StatusRoots, pem_or_der)
    }

    /// CRLs of the roots above, in PEM or DER. They replace the fetch.
    pub fn crls(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::Crls, pem_or_der)
    }

    /// The roots of a VICAL (ISO/IEC 18013-5 annex C).
    pub fn vical(self, file: ListFile) -> Self {
        self.with_list(Field::Vical, file)
    }

    /// The roots of an ICAO Master List (Doc 9303-12).
    pub fn master_list(self, file: ListFile) -> Self {
        self.with_list(Field::MasterList, file)
    }

    /// The providers of a European trusted list (ETSI TS 119 602, JSON). With it the issuer takes no type of
    /// credential that it does not name.
    pub fn trusted_list(self, file: ListFile) -> Self {
        self.with_list(Field::TrustedList, file)
    }

    // Credentials that it may issue.

    /// An SD-JWT VC type that is accepted; without one, any.
    pub fn vct(mut self, vct: impl Into<String>) -> Self {
        self.entry.vct.push(vct.into());
        self
    }

    /// An mdoc document type that is accepted; without one, whatever a request names.
    pub fn doc_type(mut self, doc_type: impl Into<String>) -> Self {
        self.entry.doc_types.push(DocType::new(doc_type));
        self
    }

    /// An mdoc namespace that a request may leave unnamed.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.entry.namespaces.push(NameSpace::new(namespace));
        self
    }

    /// Where a claim of its SD-JWT VCs is, if it is not a member of the payload by its name. Not for
    /// the profile `draft`.
    pub fn claim_at(mut self, claim: impl Into<String>, path: ClaimPath) -> Self {
        self.entry.claim_paths.push((claim.into(), path));
        self
    }

    /// A claim that a request gets which names this issuer alone.
    pub fn default_claim(mut self, claim: impl Into<String>) -> Self {
        self.entry.default_claims.push(claim.into());
        self
    }

    /// The value that `iss` must have where a credential has one.
    pub fn iss(mut self, iss: impl Into<String>) -> Self {
        self.entry.iss = Some(iss.into());
        self
    }

    /// `iss` is not compared.
    pub fn any_iss(mut self) -> Self {
        self.entry.iss = None;
        self
    }

    /// A country (countryName) whose roots serve; without one, any.
    pub fn country(mut self, country: impl Into<String>) -> Self {
        self.entry.countries.push(country.into());
        self
    }

    /// The object identifier of an extended key usage that makes an mdoc document signer. The first one that
    /// is given replaces that of the mDL (ISO/IEC 18013-5 B.1.4).
    pub fn mdoc_eku(mut self, oid: impl Into<String>) -> Self {
        self.texts.push((Field::MdocEku, oid.into()));
        self
    }

    /// An extended key usage of which the certificate of an SD-JWT VC issuer must have one (RFC 5280 4.2.1.12).
    pub fn x5c_eku(mut self, oid: impl Into<String>) -> Self {
        self.texts.push((Field::X5cEku, oid.into()));
        self
    }

    // How its credentials are checked and asked for.

    /// The rule for revocation; without it a published status must be good.
    pub fn revocation(mut self, policy: RevocationPolicy) -> Self {
        self.entry.revocation = policy;
        self
    }

    /// The treatment of a credential whose status list cannot be had; without it the credential is refused. Not with
    /// [`RevocationPolicy::Required`], which refuses always.
    pub fn on_unknown_revocation(mut self, choice: OnUnknownRevocation) -> Self {
        self.entry.on_unknown_revocation = choice;
        self
    }

    /// How long a status list without `exp` counts after its `iat`, in days: 1 to 3650, without it 7.
    pub fn status_max_age_days(mut self, days: u32) -> Self {
        self.entry.status_max_age_days = days;
        self
    }

    /// Queries name the key identifiers of its roots, so that wallets look only for credentials below them
    /// (OpenID4VP 6.1.1.1).
    pub fn named_in_queries(mut self) -> Self {
        self.entry.aki = true;
        self
    }

    /// A URL of a trusted list that queries name, so that wallets look only for credentials of its providers
    /// (OpenID4VP 6.1.1.2).
    pub fn trusted_list_url(mut self, url: impl Into<String>) -> Self {
        self.entry.etsi_tl.push(url.into());
        self
    }

    /// How many documents the DeviceResponse of an mdoc may have, in `1.0` and `haip`; without it one.
    pub fn device_response_documents(mut self, documents: DeviceResponseDocuments) -> Self {
        self.entry.device_response_documents = documents;
        self
    }

    /// Test-mode sessions take an mDL whose issuing_country is not its signer's, and say so.
    pub fn issuing_country_unbound(mut self) -> Self {
        self.entry.issuing_country_unbound = true;
        self
    }

    /// All its material serves test-mode sessions only.
    pub fn test_only(mut self) -> Self {
        self.test_only = true;
        self
    }

    /// Writes down the trusted material, each part with its length.
    pub(super) fn say(&self, said: &mut Vec<u8>) {
        let mut part = |bytes: &[u8]| {
            said.extend_from_slice(&bytes.len().to_be_bytes());
            said.extend_from_slice(bytes);
        };
        part(self.entry.issuer_id.as_str().as_bytes());
        part(&[u8::from(self.test_only)]);
        part(&self.entry.status_max_age_days.to_be_bytes());
        self.entry.countries.iter().for_each(|country| part(country.as_bytes()));
        for Material { field, list, bytes } in &self.material {
            part(field.name().as_bytes());
            part(list.as_ref().map_or(bytes, |list| &list.bytes));
        }
        for (field, text) in &self.texts {
            part(field.name().as_bytes());
            part(text.as_bytes());
        }
    }

    fn with(mut self, field: Field, bytes: impl Into<Vec<u8>>) -> Self {
        self.material.push(Material { field, list: None, bytes: bytes.into() });
        self
    }

    fn with_list(mut self, field: Field, list: ListFile) -> Self {
        self.material.push(Material { field, list: Some(list), bytes: Vec::new() });
        self
    }
}

/// Its name and how much material it has.
impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer")
            .field("id", &self.entry.issuer_id)
            .field("material", &self.material.len())
            .finish_non_exhaustive()
    }
}

/// Trust that cannot be made: whose, which field, and why.
///
/// ```
/// # #[cfg(feature = "rustcrypto")] {
/// use idgate_core::crypto::rustcrypto::PROVIDER;
/// use idgate_core::{Issuer, Trust};
///
/// let refused = Trust::new(PROVIDER, [Issuer::new("https://dmv.example").iaca_roots("what?")]);
/// let error = refused.unwrap_err();
/// assert_eq!(error.to_string(), "https://dmv.example: iaca_roots: is neither PEM nor DER");
/// # }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TrustError {
    issuer: IssuerId,
    field: Field,
    index: Option<usize>,
    why: Cow<'static, str>,
}

impl TrustError {
    pub(super) const fn new(
        issuer: IssuerId,
        field: Field,
        index: Option<usize>,
        why: Cow<'static, str>,
    ) -> Self {
        Self { issuer, field, index, why }
    }

    /// The issuer.
    pub const fn issuer(&self) -> &IssuerId {
        &self.issuer
    }

    /// Its field.
    pub const fn field(&self) -> Field {
        self.field
    }

    /// Which of several values of the field, from 0; `None`: it has one.
    pub const fn index(&self) -> Option<usize> {
        self.index
    }

    /// The fault, for example `is neither PEM nor DER`.
    pub fn why(&self) -> &str {
        &self.why
    }
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.issuer, self.field.name())?;
        if let Some(index) = self.index {
            write!(f, "[{index}]")?;
        }
        write!(f, ": {}", self.why)
    }
}

impl core::error::Error for TrustError {}
