//! A trusted list that was read from a form other than JSON, for example XML: its content, and the
//! signature over it. The rules about signers, dates and numbers are those of every list.

use alloc::string::String;
use alloc::vec::Vec;

use super::entities::{Entities, ListedService, Misnamed};
use super::error::{TrustedListError, not_authentic, unusable};
use super::gathered::{Gathered, Keys};
use super::scheme::{self, Scheme};
use super::signer::{Claimed, lacks_signer};
use super::{ListRules, ListSigner, TrustedList};
use crate::crypto::{CryptoProvider, HashAlg, IssuerKey, SignatureAlgorithm};
use crate::limits::{MAX_CERTIFICATES, MAX_LIST_PROVIDERS, MAX_LIST_SEQUENCE, MAX_LIST_SERVICES};
use crate::time::UnixMillis;
use crate::trust::certificate::Certificate;
use crate::trust::listing::{ListRole, ListType, TrustServiceProvider, member_state};

/// The content of a list in a form other than JSON.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ReadList {
    /// Its kind.
    pub list_type: ListType,
    /// The sequence number.
    pub sequence: u64,
    /// The names of its publisher, the English ones first.
    pub operators: Vec<String>,
    /// The time when it was issued.
    pub issued_at: UnixMillis,
    /// The time when the next one is due.
    pub next_update: UnixMillis,
    /// Its providers, with only the services of its type.
    pub providers: Vec<ReadProvider>,
    /// The number of its services of other types.
    pub other_services: usize,
    /// SHA-256 of the certificates that it announces for its next versions.
    pub announced_signers: Vec<[u8; 32]>,
    /// SHA-256 of the whole content without the signature.
    pub content_sha256: [u8; 32],
    /// The signature over it.
    pub signature: ListSignature,
}

/// A provider, with its services.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ReadProvider {
    /// Its names, the English ones first.
    pub names: Vec<String>,
    /// Its registration identifiers.
    pub identifiers: Vec<String>,
    /// The state, with a code as in lists or in certificates.
    pub country: Option<String>,
    /// The services that issue credentials.
    pub services: Vec<ReadService>,
}

/// A service that issues credentials.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ReadService {
    /// The time from which its status counts; `None`: the text is not a date and time.
    pub from: Option<UnixMillis>,
    /// Whether its status is one that counts.
    pub in_force: bool,
    /// Whether it, or its provider, has a critical extension: all are unknown.
    pub has_critical: bool,
    /// Its certificates, in DER.
    pub certificates: Vec<Vec<u8>>,
}

/// A signature over a list, and the signer that it names.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_structs)] // its reader makes it
pub struct ListSignature {
    /// Certificates in DER, the signer's own first.
    pub chain: Vec<Vec<u8>>,
    /// When the signature was made, if the signed bytes say so.
    pub signed_at: Option<UnixMillis>,
    /// The algorithm.
    pub kind: SignatureKind,
    /// The signed bytes. They contain the digests of the list's whole content.
    pub input: Vec<u8>,
    /// The value of the signature; for ECDSA r and s, each as long as a coordinate.
    pub value: Vec<u8>,
}

/// The algorithm of a signature.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_enums)] // its reader names one
pub enum SignatureKind {
    /// ECDSA, on the curve that goes with the hash.
    Ecdsa(HashAlg),
    /// RSASSA-PKCS1-v1_5.
    RsaPkcs1(HashAlg),
    /// RSASSA-PSS, with MGF1 over the same hash, and a salt of the hash's length.
    RsaPss(HashAlg),
}

impl ListSignature {
    fn claimed(&self) -> Claimed<'_> {
        Claimed { chain: &self.chain, signed_at: self.signed_at }
    }

    /// Verifies that `key` made it.
    fn verify(&self, provider: &CryptoProvider, key: &IssuerKey) -> Result<(), TrustedListError> {
        let rsa = |kind| key.verify(provider, kind, &self.input, &self.value).is_ok();
        let is_good = match (self.kind, key) {
            (SignatureKind::Ecdsa(hash), IssuerKey::Nist(own)) if is_hash_of(own, hash) => {
                provider.verify(own, &self.input, &self.value).is_ok()
            }
            (SignatureKind::RsaPkcs1(hash), IssuerKey::Rsa { pss_only: false, .. }) => {
                rsa(SignatureAlgorithm::RsaPkcs1(hash))
            }
            (SignatureKind::RsaPss(hash), IssuerKey::Rsa { .. }) => {
                rsa(SignatureAlgorithm::RsaPss { hash, salt_len: hash.len() })
            }
            _ => return Err(not_authentic("has an algorithm that does not fit its signer's key")),
        };
        match is_good {
            true => Ok(()),
            false => Err(not_authentic("has a signature that does not verify")),
        }
    }
}

/// Whether signatures by `key` use that hash, as ES256, ES384 and ES512 do.
fn is_hash_of(key: &crate::crypto::PublicKey, hash: HashAlg) -> bool {
    use crate::crypto::Curve;
    let own = match key.curve() {
        Curve::P256 => HashAlg::Sha256,
        Curve::P384 => HashAlg::Sha384,
        Curve::P521 => HashAlg::Sha512,
    };
    own == hash
}

impl TrustedList {
    /// Accepts a list that was read from a form other than JSON, by the rules for every list: its
    /// signer, its signature, its dates and its number. The country of a signer below a CA is not
    /// compared.
    ///
    /// # Errors
    /// The first of the rules that it breaks.
    pub fn from_read(
        provider: &CryptoProvider,
        read: ReadList,
        rules: &ListRules<'_>,
        now: UnixMillis,
    ) -> Result<Self, TrustedListError> {
        let signature = &read.signature;
        if signature.signed_at.is_none() && !rules.test_only {
            return Err(not_authentic("does not say when it was signed (SigningTime)"));
        }
        if signature.chain.is_empty() {
            return Err(lacks_signer());
        }
        let is_new = rules.mark.is_none_or(|mark| mark.payload_sha256 != read.content_sha256);
        let by = signature.claimed().authenticate(provider, rules, (is_new, now), |_, key| {
            signature.verify(provider, key)
        })?;
        let scheme = read.scheme()?;
        scheme.check_identity(&by, rules)?;
        scheme.check_dates(by.signer.signed_at, rules.allow_stale, now)?;
        if let Some(mark) = rules.mark {
            scheme::check_mark((scheme.sequence, scheme.issued_at), &read.content_sha256, mark)?;
        }
        read.with_signer(provider, by.signer, now)
    }

    /// Reads a list again that was accepted before and stored where only the operator can write:
    /// signature, dates and number are not checked.
    ///
    /// # Errors
    /// It was never a list.
    pub fn recall_read(
        provider: &CryptoProvider,
        read: ReadList,
        now: UnixMillis,
    ) -> Result<Self, TrustedListError> {
        let signer = read.signature.claimed().recalled(provider)?;
        read.with_signer(provider, signer, now)
    }
}

impl ReadList {
    fn scheme(&self) -> Result<Scheme, TrustedListError> {
        if !(1..=MAX_LIST_SEQUENCE).contains(&self.sequence) {
            return Err(unusable("has a number that is not from 1 to 2^53 - 1"));
        }
        Ok(Scheme {
            list_type: self.list_type,
            sequence: self.sequence,
            operators: self.operators.clone(),
            territory: None,
            issued_at: self.issued_at,
            next_update: self.next_update,
            departures: Vec::new(),
        })
    }

    fn with_signer(
        self,
        provider: &CryptoProvider,
        signer: ListSigner,
        now: UnixMillis,
    ) -> Result<TrustedList, TrustedListError> {
        let misnamed = Misnamed::default();
        let mut entities =
            Entities { provider, list_type: self.list_type, now, ignored: 0, misnamed };
        let providers = entities.take(self.providers)?;
        Ok(TrustedList {
            list_type: self.list_type,
            sequence: self.sequence,
            operator: self.operators.into_iter().next().unwrap_or_default(),
            issued_at: self.issued_at,
            next_update: self.next_update,
            signer,
            payload_sha256: self.content_sha256,
            providers,
            warnings: entities.misnamed.warning().into_iter().collect(),
            ignored_members: entities.ignored,
            other_services: self.other_services,
            announced_signers: self.announced_signers,
        })
    }
}

impl Entities<'_> {
    /// All providers, with those that occur twice merged.
    fn take(
        &mut self,
        read: Vec<ReadProvider>,
    ) -> Result<Vec<super::ListedProvider>, TrustedListError> {
        if read.len() > MAX_LIST_PROVIDERS {
            return Err(unusable("has more than 2000 providers"));
        }
        let mut gathered = Gathered::default();
        for (place, one) in read.into_iter().enumerate() {
            if one.services.len() > MAX_LIST_SERVICES {
                return Err(unusable("has a provider with more than 20 services"));
            }
            let provider = TrustServiceProvider {
                name: one.names.first().cloned().unwrap_or_default(),
                identifiers: one.identifiers,
                country: one.country.as_deref().map(member_state),
                names: one.names,
                place,
            };
            let mut withdrawn = Keys::new();
            let services: Result<Vec<ListedService>, _> =
                one.services.iter().map(|service| self.listed(service, &mut withdrawn)).collect();
            let services = services?;
            self.misnamed.look_at(&provider, &services);
            gathered.add(provider, services, withdrawn);
        }
        Ok(gathered.finish())
    }

    fn listed(
        &self,
        read: &ReadService,
        withdrawn: &mut Keys,
    ) -> Result<ListedService, TrustedListError> {
        if read.certificates.len() > MAX_CERTIFICATES {
            return Err(unusable("has a service with more than 10 certificates"));
        }
        let skipped = match read.from {
            _ if read.has_critical => Some("has a critical extension that is not known"),
            _ if !read.in_force => Some("is withdrawn, or has a status that is not known"),
            None => Some("has a StatusStartingTime that is not a date and time"),
            Some(_) if read.certificates.is_empty() => {
                Some("names no certificate, and a name is not a key")
            }
            Some(_) => None,
        };
        let mut listed = ListedService {
            role: Some(ListRole::Issuance),
            from: read.from.unwrap_or_default(),
            skipped,
            certificates: Vec::new(),
            roots: Vec::new(),
            signers: Vec::new(),
        };
        for der in &read.certificates {
            if !read.in_force
                && let Ok(parsed) = Certificate::parse(der)
            {
                withdrawn.insert(parsed.spki().to_vec());
            }
            self.certificate(der, &mut listed);
        }
        Ok(listed)
    }
}
