//! The description of an issuer, as texts and bytes that [`Trust::new`](super::Trust::new) reads.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::entry::{DeviceResponseDocuments, RevocationPolicy, TrustEntry};
use super::list_file::ListFile;
use super::on_unknown::OnUnknownRevocation;
use crate::ids::{ClaimPath, DocType, IssuerId, NameSpace};

/// An issuer that you trust: the credentials that it may issue, and the keys and certificates that
/// verify them.
///
/// Each method adds to the previous ones. [`Trust::new`](super::Trust::new) reads the material, and
/// its error names the issuer and the field.
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
    /// The settings, without material.
    pub(super) entry: TrustEntry,
    pub(super) material: Vec<Material>,
    /// Texts that are parsed together with the material.
    pub(super) texts: Vec<(Field, String)>,
    pub(super) test_only: bool,
}

/// Bytes, and the field that they were given for.
#[derive(Clone)]
pub(super) struct Material {
    pub(super) field: Field,
    /// The rules of a certificate list.
    pub(super) list: Option<ListFile>,
    pub(super) bytes: Vec<u8>,
}

/// A field of [`Issuer`], which errors name.
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
    /// Returns the name in Rust, for example `iaca_roots`. Other languages use their own spelling.
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
    /// Creates an issuer with the name that requests use. If the name is a URL or a DID, an `iss`
    /// in a credential must equal it; see [`Issuer::iss`] and [`Issuer::any_iss`].
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            entry: TrustEntry::new(IssuerId::new(id)),
            material: Vec::new(),
            texts: Vec::new(),
            test_only: false,
        }
    }

    // Keys and certificates.

    /// Adds the public key of an SD-JWT VC issuer: a JWK, or a JWK Set (RFC 7517 5).
    pub fn jwk(self, jwk_or_set: impl Into<Vec<u8>>) -> Self {
        self.with(Field::Jwk, jwk_or_set)
    }

    /// Adds the public key of an SD-JWT VC issuer, in PEM.
    pub fn public_key_pem(self, pem: impl Into<Vec<u8>>) -> Self {
        self.with(Field::PublicKeyPem, pem)
    }

    /// Adds X.509 roots of mdoc document signers, one or many, in PEM or DER (ISO/IEC 18013-5 B.1).
    pub fn iaca_roots(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::IacaRoots, pem_or_der)
    }

    /// Adds certificates of mdoc document signers that are trusted without a root, in PEM or DER.
    pub fn mdoc_signers(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::MdocSigners, pem_or_der)
    }

    /// Adds X.509 roots of SD-JWT VC issuers that sign with the certificates in `x5c`, in PEM or
    /// DER.
    pub fn x5c_roots(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::X5cRoots, pem_or_der)
    }

    /// Adds certificates of SD-JWT VC issuers that are trusted without a root, in PEM or DER.
    pub fn x5c_signers(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::X5cSigners, pem_or_der)
    }

    /// Adds X.509 roots below which status lists may be signed, in addition to the root of the
    /// credential.
    pub fn status_roots(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::StatusRoots, pem_or_der)
    }

    /// Adds CRLs of this issuer's roots, in PEM or DER. They are used in place of fetched ones.
    pub fn crls(self, pem_or_der: impl Into<Vec<u8>>) -> Self {
        self.with(Field::Crls, pem_or_der)
    }

    /// Adds the roots of a VICAL (ISO/IEC 18013-5 annex C).
    pub fn vical(self, file: ListFile) -> Self {
        self.with_list(Field::Vical, file)
    }

    /// Adds the roots of an ICAO Master List (Doc 9303-12).
    pub fn master_list(self, file: ListFile) -> Self {
        self.with_list(Field::MasterList, file)
    }

    /// Adds the providers of a European trusted list (ETSI TS 119 602, JSON). The issuer then
    /// accepts only credential types that it names.
    pub fn trusted_list(self, file: ListFile) -> Self {
        self.with_list(Field::TrustedList, file)
    }

    // Credentials that it may issue.

    /// Adds an accepted SD-JWT VC type; without any, all types are accepted.
    pub fn vct(mut self, vct: impl Into<String>) -> Self {
        self.entry.vct.push(vct.into());
        self
    }

    /// Adds an accepted mdoc document type; without any, the type that the request names is
    /// accepted.
    pub fn doc_type(mut self, doc_type: impl Into<String>) -> Self {
        self.entry.doc_types.push(DocType::new(doc_type));
        self
    }

    /// Adds an mdoc namespace that a request may omit.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.entry.namespaces.push(NameSpace::new(namespace));
        self
    }

    /// Sets the path of an SD-JWT VC claim that is not a top-level member of the payload under its
    /// name. Not for the profile `draft`.
    pub fn claim_at(mut self, claim: impl Into<String>, path: ClaimPath) -> Self {
        self.entry.claim_paths.push((claim.into(), path));
        self
    }

    /// Adds a claim that is requested when a request names only this issuer.
    pub fn default_claim(mut self, claim: impl Into<String>) -> Self {
        self.entry.default_claims.push(claim.into());
        self
    }

    /// Sets the required value of `iss` where a credential has one.
    pub fn iss(mut self, iss: impl Into<String>) -> Self {
        self.entry.iss = Some(iss.into());
        self
    }

    /// Accepts any value of `iss`.
    pub fn any_iss(mut self) -> Self {
        self.entry.iss = None;
        self
    }

    /// Adds a country (countryName) whose roots are used; without any, all are used.
    pub fn country(mut self, country: impl Into<String>) -> Self {
        self.entry.countries.push(country.into());
        self
    }

    /// Adds the object identifier of an accepted extended key usage of an mdoc document signer. The
    /// first call replaces that of the mDL (ISO/IEC 18013-5 B.1.4).
    pub fn mdoc_eku(mut self, oid: impl Into<String>) -> Self {
        self.texts.push((Field::MdocEku, oid.into()));
        self
    }

    /// Adds an extended key usage. The certificate of an SD-JWT VC issuer must have one of them
    /// (RFC 5280 4.2.1.12).
    pub fn x5c_eku(mut self, oid: impl Into<String>) -> Self {
        self.texts.push((Field::X5cEku, oid.into()));
        self
    }

    // Rules for its credentials and requests.

    /// Sets the rule for revocation; by default a published status must be good.
    pub fn revocation(mut self, policy: RevocationPolicy) -> Self {
        self.entry.revocation = policy;
        self
    }

    /// Sets the treatment of a credential whose status list cannot be fetched; by default the
    /// credential is refused. Cannot be combined with [`RevocationPolicy::Required`], which always
    /// refuses.
    pub fn on_unknown_revocation(mut self, choice: OnUnknownRevocation) -> Self {
        self.entry.on_unknown_revocation = choice;
        self
    }

    /// Sets how many days after its `iat` a status list without `exp` is accepted: 1 to 3650, by
    /// default 7.
    pub fn status_max_age_days(mut self, days: u32) -> Self {
        self.entry.status_max_age_days = days;
        self
    }

    /// Names the key identifiers of the roots in queries, so that wallets look only for credentials
    /// below them (OpenID4VP 6.1.1.1).
    pub fn named_in_queries(mut self) -> Self {
        self.entry.aki = true;
        self
    }

    /// Adds the URL of a trusted list that queries name, so that wallets look only for credentials
    /// of its providers (OpenID4VP 6.1.1.2).
    pub fn trusted_list_url(mut self, url: impl Into<String>) -> Self {
        self.entry.etsi_tl.push(url.into());
        self
    }

    /// Sets how many documents an mdoc's DeviceResponse may have, in `1.0` and `haip`; by default
    /// one.
    pub fn device_response_documents(mut self, documents: DeviceResponseDocuments) -> Self {
        self.entry.device_response_documents = documents;
        self
    }

    /// Accepts, in test-mode sessions, an mDL whose issuing_country differs from its signer's. The
    /// result says so.
    pub fn issuing_country_unbound(mut self) -> Self {
        self.entry.issuing_country_unbound = true;
        self
    }

    /// Restricts all material of this issuer to test-mode sessions.
    pub fn test_only(mut self) -> Self {
        self.test_only = true;
        self
    }

    /// Writes the trusted material into `said`, each part with its length.
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

/// The name and the amount of material.
impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer")
            .field("id", &self.entry.issuer_id)
            .field("material", &self.material.len())
            .finish_non_exhaustive()
    }
}

/// The error of [`Trust::new`](super::Trust::new): the issuer, the field and the fault.
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

    /// The field.
    pub const fn field(&self) -> Field {
        self.field
    }

    /// The index of the value in the field, from 0; `None`: the field has one value.
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
