//! A trusted issuer: its trust material, and the rules for the status of its credentials.

mod places;

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub(super) use self::places::Places;
use super::anchors::TrustAnchor;
use super::bare_key::TrustedKey;
use super::certificate::Certificate;
use super::crl::VerifiedCrl;
use super::oid::Oid;
use super::on_unknown::{OnUnknownRevocation, UnknownRevocation};
use super::pinned_signer::PinnedSigner;
use super::sd_jwt_profile::check_sd_jwt_usage;
use crate::codec::base64url;
use crate::error::Remedy;
use crate::ids::{ClaimPath, DocType, IssuerId, NameSpace};
use crate::limits::{DEFAULT_STATUS_MAX_AGE_DAYS, MAX_AKI_VALUES};
use crate::time::UnixMillis;

/// The extended key usage of an mDL document signer (ISO/IEC 18013-5 B.1.4).
const MDL_DOCUMENT_SIGNER: &str = "1.0.18013.5.1.2";

/// A trusted issuer: its keys and the types that they may attest.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrustEntry {
    /// The name that requests use.
    pub issuer_id: IssuerId,
    /// The required value of `iss` where it is present; `None`: not compared.
    pub iss: Option<String>,
    /// Accepted credential types. Empty: any type of this issuer, but none if the entry follows a
    /// trusted list.
    pub vct: Vec<String>,
    /// Accepted mdoc document types. Empty: the type that the request names, but none if the entry
    /// follows a trusted list.
    pub doc_types: Vec<DocType>,
    /// mdoc namespaces that a request may omit.
    pub namespaces: Vec<NameSpace>,
    /// The claims of a request in the legacy form, which names only the issuer.
    pub default_claims: Vec<String>,
    /// The paths of SD-JWT VC claims that are not top-level members of the payload under their
    /// name. Not for sessions with only `draft`.
    pub claim_paths: Vec<(String, ClaimPath)>,
    /// Issuer keys of SD-JWT VC.
    pub keys: Vec<TrustedKey>,
    /// X.509 roots of mdoc document signers.
    pub roots: Vec<TrustAnchor>,
    /// mdoc document signers that are trusted directly.
    pub pinned_signers: Vec<PinnedSigner>,
    /// X.509 roots of SD-JWT VC issuers, which sign with a key that has its certificates in `x5c`.
    /// They are not trusted for mdocs, and `roots` are not trusted for SD-JWT VCs.
    pub sd_jwt_roots: Vec<TrustAnchor>,
    /// Certificates of SD-JWT VC issuers that are trusted directly.
    pub sd_jwt_signers: Vec<PinnedSigner>,
    /// The countries (countryName) whose roots this entry uses, of either kind; empty: any.
    pub countries: Vec<String>,
    /// The accepted extended key usages of a document signer.
    pub ekus: Vec<Oid>,
    /// The extended key usages of which an SD-JWT VC issuer's certificate must have one (RFC 5280
    /// 4.2.1.12). A certificate without extended key usage, or with anyExtendedKeyUsage alone, then
    /// needs 2.5.29.37.0 among them.
    ///
    /// Empty: any certificate is accepted, unless all its extended key usages are for other
    /// purposes: serverAuth, clientAuth, codeSigning, emailProtection, timeStamping, OCSPSigning,
    /// mdoc reader authentication.
    pub sd_jwt_ekus: Vec<Oid>,
    /// X.509 roots below which status lists may be signed, in addition to the root of the
    /// credential; they are trusted for nothing else. A root that is limited to document types may
    /// sign lists for mdocs of these types, and never for SD-JWT VCs, which have no document type.
    pub status_roots: Vec<TrustAnchor>,
    /// Status-list signers named in trusted lists, each for the credentials of its own provider.
    pub status_signers: Vec<PinnedSigner>,
    /// CRLs of the roots, supplied by the operator. They are used in place of fetched ones.
    pub crls: Vec<VerifiedCrl>,
    /// The rule for revocation.
    pub revocation: RevocationPolicy,
    /// The treatment of a credential whose status list cannot be fetched.
    pub on_unknown_revocation: OnUnknownRevocation,
    /// How many days after its `iat` a status list token without `exp` is accepted.
    pub status_max_age_days: u32,
    /// Whether test-mode sessions accept an mDL whose issuing_country differs from its signer's.
    /// The result says so.
    pub issuing_country_unbound: bool,
    /// Whether DCQL queries name the roots, so that wallets look only for credentials below them
    /// (OpenID4VP 6.1.1.1).
    pub aki: bool,
    /// The URLs of trusted lists that DCQL queries name, so that wallets look only for credentials
    /// of their providers (OpenID4VP 6.1.1.2).
    pub etsi_tl: Vec<String>,
    /// How many documents an mdoc's DeviceResponse may have, in `1.0` and `haip`.
    pub device_response_documents: DeviceResponseDocuments,
    /// Whether the entry follows a trusted list, even one without providers. It then accepts only
    /// types that it names, whatever its roots.
    pub(crate) follows_list: bool,
    /// The places of its roots and signers, after it becomes part of a snapshot.
    pub(super) places: Places,
}

impl TrustEntry {
    /// Creates an entry without material that accepts any type. `iss` is compared if the name is a
    /// URL or a DID.
    pub fn new(issuer_id: IssuerId) -> Self {
        let name = issuer_id.as_str();
        let compared = name.starts_with("did:") || name.contains("://");
        let iss = compared.then(|| String::from(name));
        Self {
            issuer_id,
            iss,
            vct: Vec::new(),
            doc_types: Vec::new(),
            namespaces: Vec::new(),
            default_claims: Vec::new(),
            claim_paths: Vec::new(),
            keys: Vec::new(),
            roots: Vec::new(),
            pinned_signers: Vec::new(),
            sd_jwt_roots: Vec::new(),
            sd_jwt_signers: Vec::new(),
            countries: Vec::new(),
            ekus: Oid::parse(MDL_DOCUMENT_SIGNER).map_or_else(Vec::new, |eku| vec![eku]),
            sd_jwt_ekus: Vec::new(),
            status_roots: Vec::new(),
            status_signers: Vec::new(),
            crls: Vec::new(),
            revocation: RevocationPolicy::default(),
            on_unknown_revocation: OnUnknownRevocation::default(),
            status_max_age_days: DEFAULT_STATUS_MAX_AGE_DAYS,
            issuing_country_unbound: false,
            aki: false,
            etsi_tl: Vec::new(),
            device_response_documents: DeviceResponseDocuments::default(),
            follows_list: false,
            places: Places::default(),
        }
    }

    /// Whether a credential is accepted although its status list cannot be fetched, for a request
    /// with this `wish`.
    pub(crate) fn accepts_unknown_revocation(&self, wish: Option<UnknownRevocation>) -> bool {
        self.revocation != RevocationPolicy::Required && self.on_unknown_revocation.accepts(wish)
    }

    /// Whether SD-JWT VCs of this type are accepted.
    pub(crate) fn accepts_vct(&self, vct: &str) -> bool {
        match self.vct.as_slice() {
            [] => !self.follows_list,
            named => named.iter().any(|own| own == vct),
        }
    }

    /// Whether mdocs of this type are accepted.
    pub(crate) fn accepts_doc_type(&self, doc_type: &str) -> bool {
        match self.doc_types.as_slice() {
            [] => !self.follows_list,
            named => named.iter().any(|own| own.as_str() == doc_type),
        }
    }

    /// The keys for a session of this mode: test material is for test sessions only.
    pub fn keys_for(&self, livemode: bool) -> impl Iterator<Item = &TrustedKey> {
        self.keys.iter().filter(move |key| !(livemode && key.test_only))
    }

    /// The roots of mdoc document signers that a session of this mode may use, limited to the
    /// entry's countries.
    pub fn roots_for(&self, livemode: bool) -> impl Iterator<Item = &TrustAnchor> {
        self.serving(self.roots.iter(), livemode)
    }

    /// The pinned document signers for a session of this mode.
    pub fn pinned_signers_for(&self, livemode: bool) -> impl Iterator<Item = &PinnedSigner> {
        self.pinned_signers.iter().filter(move |signer| signer.serves_mode(livemode))
    }

    /// The roots of SD-JWT VC issuers that a session of this mode may use, limited to the entry's
    /// countries.
    pub fn sd_jwt_roots_for(&self, livemode: bool) -> impl Iterator<Item = &TrustAnchor> {
        self.serving(self.sd_jwt_roots.iter(), livemode)
    }

    /// The pinned certificates of SD-JWT VC issuers for a session of this mode.
    pub fn sd_jwt_signers_for(&self, livemode: bool) -> impl Iterator<Item = &PinnedSigner> {
        self.sd_jwt_signers.iter().filter(move |signer| signer.serves_mode(livemode))
    }

    /// The pinned certificates of SD-JWT VC issuers whose extended key usages this entry refuses
    /// ([`Self::sd_jwt_ekus`]), each with the reason. A credential signed with one fails with
    /// `chain_invalid`.
    pub fn refused_sd_jwt_signers(&self) -> impl Iterator<Item = (&PinnedSigner, &'static str)> {
        self.sd_jwt_signers.iter().filter_map(|signer| {
            let certificate = Certificate::parse(signer.der()).ok()?;
            let broken = check_sd_jwt_usage(&certificate, &self.sd_jwt_ekus).err()?;
            Some((signer, broken))
        })
    }

    /// Whether a certificate may sign an SD-JWT VC in a session of this mode. If so, a credential
    /// with `x5c` in its header is verified by that alone.
    pub(crate) fn takes_x5c(&self, livemode: bool) -> bool {
        self.sd_jwt_roots_for(livemode).next().is_some()
            || self.sd_jwt_signers_for(livemode).next().is_some()
    }

    /// Whether it has certificates for mdocs (or for SD-JWT VCs), and all of them are a sandbox's.
    pub(crate) fn has_samples_alone(&self, of_mdoc: bool) -> bool {
        let (roots, signers) = match of_mdoc {
            true => (&self.roots, &self.pinned_signers),
            false => (&self.sd_jwt_roots, &self.sd_jwt_signers),
        };
        !(roots.is_empty() && signers.is_empty())
            && roots.iter().all(TrustAnchor::is_sample)
            && signers.iter().all(PinnedSigner::is_sample)
    }

    /// The roots for status lists that a session of this mode may use.
    pub fn status_roots_for(&self, livemode: bool) -> impl Iterator<Item = &TrustAnchor> {
        self.status_roots.iter().filter(move |root| root.serves_mode(livemode))
    }

    /// The status-list signers named in trusted lists, for a session of this mode.
    pub fn status_signers_for(&self, livemode: bool) -> impl Iterator<Item = &PinnedSigner> {
        self.status_signers.iter().filter(move |signer| signer.serves_mode(livemode))
    }

    /// The key identifiers of the roots for credentials of `doc_type`, or for SD-JWT VCs if there
    /// is none, in base64url, for the `aki` of a query. Empty: the entry does not set `aki`, no
    /// root has a key identifier, or more than [`MAX_AKI_VALUES`] have one.
    pub fn aki_values(&self, doc_type: Option<&DocType>, livemode: bool) -> Vec<String> {
        let roots: Vec<&TrustAnchor> = match doc_type {
            _ if !self.aki => Vec::new(),
            Some(doc_type) => {
                let serves = |root: &&TrustAnchor| root.serves(doc_type.as_str());
                self.roots_for(livemode).filter(serves).collect()
            }
            None => self.sd_jwt_roots_for(livemode).collect(),
        };
        let mut values: Vec<String> =
            roots.iter().filter_map(|root| root.key_identifier()).map(base64url::encode).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > MAX_AKI_VALUES { Vec::new() } else { values }
    }

    /// Why the entry accepts no credential of that kind at `now` although it has the material: its
    /// trusted lists are past their next update, or not in force yet. The text names a list.
    pub(crate) fn lapsed_list(
        &self,
        doc_type: Option<&DocType>,
        livemode: bool,
        now: UnixMillis,
    ) -> Option<(String, Option<Remedy>)> {
        let (roots, signers): (Vec<_>, Vec<_>) = match doc_type {
            Some(doc_type) => {
                let name = doc_type.as_str();
                let is_current = |root: &TrustAnchor| root.serves(name) && root.is_in_force(now);
                let signs = |one: &PinnedSigner| one.serves(name) && one.is_in_force(now);
                if self.roots_for(livemode).any(is_current)
                    || self.pinned_signers_for(livemode).any(signs)
                {
                    return None;
                }
                (self.roots_for(livemode).collect(), self.pinned_signers_for(livemode).collect())
            }
            None => {
                if self.keys_for(livemode).next().is_some()
                    || self.sd_jwt_roots_for(livemode).any(|root| root.is_in_force(now))
                    || self.sd_jwt_signers_for(livemode).any(|one| one.is_in_force(now))
                {
                    return None;
                }
                (
                    self.sd_jwt_roots_for(livemode).collect(),
                    self.sd_jwt_signers_for(livemode).collect(),
                )
            }
        };
        let listings = roots.iter().filter_map(|root| root.listing());
        let listing = listings.chain(signers.iter().filter_map(|one| one.listing())).next()?;
        let name = &listing.list.name;
        let alone = format!("is trusted only through the trusted list {name}");
        Some(match listing.list.until.filter(|until| *until <= now) {
            Some(until) => (
                format!("{alone}, which was in force until {until}"),
                Some(Remedy::UpdateTrustedList),
            ),
            None => (format!("{alone}, in which no entry is in force yet"), None),
        })
    }

    /// Those of these roots that may be used in a session of this mode.
    fn serving<'e>(
        &'e self,
        roots: impl Iterator<Item = &'e TrustAnchor>,
        livemode: bool,
    ) -> impl Iterator<Item = &'e TrustAnchor> {
        let roots = roots.filter(move |root| root.serves_mode(livemode));
        roots.filter(|root| self.includes(root))
    }

    /// For a trusted list, only providers of the entry's countries were imported, whatever their
    /// certificates say.
    fn includes(&self, root: &TrustAnchor) -> bool {
        let country = root.country();
        let is = |own: &String| country.is_some_and(|country| own.eq_ignore_ascii_case(country));
        self.countries.is_empty() || root.listing().is_some() || self.countries.iter().any(is)
    }
}

/// How many documents a DeviceResponse may have. HAIP 5.3.1 requires wallets to send one.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeviceResponseDocuments {
    /// Exactly one.
    #[default]
    One,
    /// One or more; docType selects the document.
    Any,
}

impl DeviceResponseDocuments {
    /// Returns the value with this name, for example `one`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::One, Self::Any].into_iter().find(|known| known.name() == name)
    }

    /// Returns the name, for example `one`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Any => "any",
        }
    }
}

/// The rule for the revocation status of a credential.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RevocationPolicy {
    /// A published status must be checked and good; if none is published, the result says so.
    #[default]
    IfPublished,
    /// A credential that publishes no status is refused.
    Required,
    /// The status is not checked, and the result says so.
    Off,
}

impl RevocationPolicy {
    /// Returns the value with this name, for example `if_published`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "if_published" => Some(Self::IfPublished),
            "required" => Some(Self::Required),
            "off" => Some(Self::Off),
            _ => None,
        }
    }

    /// Returns the name, for example `if_published`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IfPublished => "if_published",
            Self::Required => "required",
            Self::Off => "off",
        }
    }
}

#[cfg(all(test, feature = "aws-lc-rs"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::format;

    use idgate_testkit::keys::{Curve, SigningKey};
    use idgate_testkit::time::SAMPLE_NOW_MS;
    use idgate_testkit::x509::{CertificateBuilder, Name, SUBJECT_KEY_IDENTIFIER, key_identifier};

    use super::*;
    use crate::crypto::tests::PROVIDER;
    use crate::trust::anchors::RootOrigin;

    const MDL: &str = "org.iso.18013.5.1.mDL";

    fn key(n: usize) -> SigningKey {
        SigningKey::from_seed(Curve::P256, format!("root {n}"))
    }

    fn builder(n: usize) -> CertificateBuilder {
        CertificateBuilder::issuer_root(Name::new("UT", &format!("{n}")), &key(n), SAMPLE_NOW_MS)
    }

    fn anchor(builder: &CertificateBuilder, n: usize) -> TrustAnchor {
        TrustAnchor::from_der(&PROVIDER, &builder.sign(&key(n)), RootOrigin::RootFile).unwrap()
    }

    fn root(n: usize) -> TrustAnchor {
        anchor(&builder(n), n)
    }

    fn value(n: usize) -> String {
        base64url::encode(&key_identifier(&key(n)))
    }

    fn entry() -> TrustEntry {
        let mut entry = TrustEntry::new(IssuerId::new("utopia"));
        entry.aki = true;
        entry
    }

    #[test]
    fn aki_values_are_the_key_identifiers_of_the_usable_roots() {
        let mut entry = entry();
        entry.sd_jwt_roots = vec![root(1), root(1), root(2).for_test_only()];
        entry.roots = vec![root(3), root(4).with_doc_types([DocType::new("other")])];
        assert_eq!(entry.aki_values(None, true), [value(1)]);
        assert_eq!(entry.aki_values(None, false).len(), 2);
        assert_eq!(entry.aki_values(Some(&DocType::new(MDL)), true), [value(3)]);
        entry.aki = false;
        assert!(entry.aki_values(None, true).is_empty());
    }

    #[test]
    fn an_entry_that_requires_a_status_never_accepts_an_unknown_one() {
        use OnUnknownRevocation::{Accept, Refuse, Tenant};
        let wish = Some(UnknownRevocation::Accept);
        for (choice, accepts) in [(Refuse, false), (Accept, true), (Tenant, true)] {
            let mut entry = entry();
            entry.on_unknown_revocation = choice;
            assert_eq!(entry.accepts_unknown_revocation(wish), accepts);
            entry.revocation = RevocationPolicy::Required;
            assert!(!entry.accepts_unknown_revocation(wish));
        }
    }

    #[test]
    fn roots_without_key_identifier_have_no_aki_value() {
        let mut entry = entry();
        let bare = anchor(&builder(1).without(SUBJECT_KEY_IDENTIFIER), 1);
        entry.sd_jwt_roots = vec![bare.clone(), root(2)];
        assert_eq!(bare.key_identifier(), None);
        assert_eq!(entry.aki_values(None, true), [value(2)]);
    }

    #[test]
    fn more_than_ten_aki_values_are_omitted() {
        let mut entry = entry();
        entry.sd_jwt_roots = (0..10).map(root).collect();
        assert_eq!(entry.aki_values(None, true).len(), MAX_AKI_VALUES);
        entry.sd_jwt_roots.push(root(10));
        assert!(entry.aki_values(None, true).is_empty());
    }
}
