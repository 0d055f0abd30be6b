//! Proofs as types. Each marker says "this was checked" and is created in one place, and a
//! [`VerifiedCredential`] cannot be built without all of them. So a forgotten check is a compile
//! error, not an incident.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use zeroize::Zeroizing;

use crate::crypto::{Alg, CryptoProvider, HashAlg, HashValue, PublicKey};
use crate::error::VerifyError;
use crate::request::TransactionData;
use crate::revocation::{Published, Revocation, RevocationDetails};
use crate::time::UnixMillis;
use crate::trust::ListedBy;
use crate::trust::path::VerifiedPath;

/// A trusted key signed the credential.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IssuerAuthenticated(());
/// The issuer signed the digest of everything disclosed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisclosuresBound(());
/// `now` is within the credential's validity period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WithinValidity(());
/// The presenter holds the credential's key and signed this request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HolderBound(());
/// Revocation is settled as the trust entry requires.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusSettled(());

macro_rules! proofs {
    ($($name:ident)*) => {$(
        impl $name {
            /// Call this where the check ends, and nowhere else.
            pub(super) const fn assertion() -> Self {
                Self(())
            }
        }
    )*};
}

proofs! { IssuerAuthenticated DisclosuresBound WithinValidity HolderBound StatusSettled }

/// Disclosed claims; `Debug` prints their names, never their values.
#[derive(Clone)]
pub struct DisclosedClaims {
    /// A JSON object.
    json: Zeroizing<String>,
    /// Name and value of each member in `json`.
    spans: Vec<(Range<u32>, Range<u32>)>,
}

impl DisclosedClaims {
    pub(super) fn with_capacity(claims: usize) -> Self {
        Self { json: Zeroizing::new(String::new()), spans: Vec::with_capacity(claims) }
    }

    /// Appends a member; `name` must need no escapes.
    pub(super) fn push(&mut self, name: &str, write: impl FnOnce(&mut String)) {
        let json = &mut *self.json;
        json.push(if json.is_empty() { '{' } else { ',' });
        json.push('"');
        let name_start = json.len();
        json.push_str(name);
        let name_end = json.len();
        json.push_str("\":");
        let value_start = json.len();
        write(json);
        let span = |start, end| index(start)..index(end);
        self.spans.push((span(name_start, name_end), span(value_start, json.len())));
    }

    pub(super) fn reserve(&mut self, bytes: usize) {
        self.json.reserve(bytes);
    }

    /// Closes the object.
    pub(super) fn finish(&mut self) {
        let close = if self.json.is_empty() { "{}" } else { "}" };
        self.json.push_str(close);
    }

    /// The claims as a JSON object.
    pub fn as_json(&self) -> &str {
        &self.json
    }

    /// The names of the disclosed claims, in the order of the request.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.spans.iter().map(|(name, _)| self.slice(name))
    }

    /// The value of the claim `name`, as JSON text; `None`: there is no such claim.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.spans.iter().find(|(span, _)| self.slice(span) == name)?;
        Some(self.slice(value))
    }

    fn slice(&self, span: &Range<u32>) -> &str {
        let at = |n| usize::try_from(n).unwrap_or(usize::MAX);
        self.json.get(at(span.start)..at(span.end)).unwrap_or_default()
    }
}

/// Presentations are limited to far less than 4 GiB.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl fmt::Debug for DisclosedClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// The trust anchor of an issuer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TrustedBy {
    /// A bare key that signed the credential.
    IssuerKey(PublicKey),
    /// A root that the signer's certificate chain leads to.
    X5chain {
        /// The hash of the root's certificate.
        sha256: [u8; 32],
    },
    /// A signer that is trusted directly.
    PinnedSigner {
        /// The hash of the signer's certificate.
        sha256: [u8; 32],
    },
    /// A signer that a trusted list names directly.
    ListedSigner {
        /// The hash of the signer's certificate.
        sha256: [u8; 32],
    },
}

impl TrustedBy {
    pub(super) fn of(path: &VerifiedPath) -> Self {
        let sha256 = path.anchor_sha256;
        match (path.pinned, &path.listed) {
            (true, Some(_)) => Self::ListedSigner { sha256 },
            (true, None) => Self::PinnedSigner { sha256 },
            (false, _) => Self::X5chain { sha256 },
        }
    }

    /// The text in `verification_details`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::IssuerKey(_) => "issuer_key",
            Self::X5chain { .. } => "x5chain",
            Self::PinnedSigner { .. } => "pinned_signer",
            Self::ListedSigner { .. } => "listed_signer",
        }
    }

    /// SHA-256 of the certificate, or of the key's SubjectPublicKeyInfo, in DER.
    pub fn anchor_sha256(&self, provider: &CryptoProvider) -> HashValue {
        match self {
            Self::IssuerKey(key) => provider.hash(HashAlg::Sha256, &key.spki_der()),
            Self::X5chain { sha256 }
            | Self::PinnedSigner { sha256 }
            | Self::ListedSigner { sha256 } => HashValue::new(sha256),
        }
    }
}

/// How a presenter proved possession of a credential's key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HolderBinding {
    /// By a key binding JWT.
    KbJwt,
    /// By a device signature.
    DeviceSignature,
    /// By a device MAC.
    DeviceMac,
}

impl HolderBinding {
    /// The text in `verification_details`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KbJwt => "kb_jwt",
            Self::DeviceSignature => "device_signature",
            Self::DeviceMac => "device_mac",
        }
    }
}

/// The facts about a credential in addition to its claims.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CredentialFacts {
    /// The actual `vct` or docType.
    pub credential_type: String,
    /// `iss`, if present; otherwise the subject of the certificate that signed an SD-JWT VC, or the
    /// subject of an mdoc's anchor (RFC 4514).
    pub issuer: Option<String>,
    /// The issuer's algorithm.
    pub alg: Alg,
    /// The issuer's trust anchor.
    pub trust: TrustedBy,
    /// The provider that a trusted list names for the issuer, if there is one.
    pub listed_by: Option<Arc<ListedBy>>,
    /// How the presenter proved possession of the credential's key.
    pub holder_binding: HolderBinding,
    /// mdoc only: the name of the handover that the device signed.
    pub session_transcript: Option<&'static str>,
    /// mdoc only: requested age statements, and the elements that answered them.
    pub decided_by: Vec<(String, String)>,
    /// mdoc only: whether issuing_country differs from the signer's, which the trust entry
    /// tolerates in test-mode sessions.
    pub issuing_country_unbound: bool,
    /// OIDs of unreadable extensions of the signer's certificate that were tolerated: `2.5.29.18`
    /// (issuerAltName) for test material and for providers of a trusted list.
    pub tolerated: Vec<&'static str>,
    /// `nbf`, or `validFrom`.
    pub valid_from: Option<UnixMillis>,
    /// `exp`, or `validUntil`.
    pub valid_until: Option<UnixMillis>,
    /// The transaction data that the holder approved with this credential.
    pub transaction_data: Vec<TransactionData>,
}

/// A credential that passed every check except its status.
pub(crate) struct AwaitingStatus {
    pub(super) claims: DisclosedClaims,
    pub(super) subject: Vec<Option<String>>,
    pub(super) facts: CredentialFacts,
    pub(super) published: Published,
    /// SHA-256 of the part that the issuer signed: the issuer-signed JWT without its signature, or
    /// the MSO. This excludes the signature, which can be rewritten, and the holder's additions,
    /// which may differ.
    pub(super) issued: [u8; 32],
    /// The origin of the page whose browser delivered it, if only the proof showed that.
    pub(super) origin: Option<String>,
    pub(super) proofs: (IssuerAuthenticated, DisclosuresBound, WithinValidity, HolderBound),
}

/// A credential that passed every check; the only type with claims.
#[derive(Clone, Debug)]
pub struct VerifiedCredential {
    claims: DisclosedClaims,
    facts: CredentialFacts,
    revocation: RevocationDetails,
    _issuer: IssuerAuthenticated,
    _disclosures: DisclosuresBound,
    _validity: WithinValidity,
    _holder: HolderBound,
    _status: StatusSettled,
}

impl VerifiedCredential {
    pub(super) fn new(
        credential: AwaitingStatus,
        status: Result<(RevocationDetails, StatusSettled), VerifyError>,
    ) -> Result<Self, VerifyError> {
        let (revocation, settled) = status?;
        let AwaitingStatus { claims, facts, proofs, .. } = credential;
        Ok(Self {
            claims,
            facts,
            revocation,
            _issuer: proofs.0,
            _disclosures: proofs.1,
            _validity: proofs.2,
            _holder: proofs.3,
            _status: settled,
        })
    }

    /// The requested claims, and no others.
    pub fn claims(&self) -> &DisclosedClaims {
        &self.claims
    }

    /// The facts in addition to the claims.
    pub fn facts(&self) -> &CredentialFacts {
        &self.facts
    }

    /// The outcome for its status, in one word.
    pub fn revocation(&self) -> Revocation {
        self.revocation.summary()
    }

    /// The outcome for the credential and for its signer separately.
    pub fn revocation_details(&self) -> RevocationDetails {
        self.revocation
    }
}
