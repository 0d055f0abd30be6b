//! Proofs as types: each marker says "this was checked", is made in one place, and a
//! [`VerifiedCredential`] cannot be built without all of them. Forgetting a check is a compile
//! error, not an incident.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use zeroize::Zeroizing;

use crate::crypto::{Alg, PublicKey};
use crate::error::VerifyError;
use crate::time::UnixMillis;

/// A trusted key signed the credential.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IssuerAuthenticated(());
/// The issuer signed the digest of everything disclosed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisclosuresBound(());
/// `now` lies in the credential's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WithinValidity(());
/// The presenter holds the credential's key and meant this request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HolderBound(());
/// Revocation is settled as the trust entry demands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusSettled(());

macro_rules! proofs {
    ($($name:ident)*) => {$(
        impl $name {
            /// To be called where the check ends, and nowhere else.
            pub(super) const fn assertion() -> Self {
                Self(())
            }
        }
    )*};
}

proofs! { IssuerAuthenticated DisclosuresBound WithinValidity HolderBound StatusSettled }

/// Disclosed claims: `Debug` prints names, never values.
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

    /// Appends a member; `name` needs no escapes.
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

    /// The names, in the order of the request.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.spans.iter().map(|(name, _)| self.slice(name))
    }

    /// The JSON text of one value.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.spans.iter().find(|(span, _)| self.slice(span) == name)?;
        Some(self.slice(value))
    }

    fn slice(&self, span: &Range<u32>) -> &str {
        let at = |n| usize::try_from(n).unwrap_or(usize::MAX);
        self.json.get(at(span.start)..at(span.end)).unwrap_or_default()
    }
}

/// Presentations are bounded far below 4 GiB.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl fmt::Debug for DisclosedClaims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// How the status of a credential was settled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Revocation {
    /// The issuer publishes no status for it.
    NotPublished,
    /// The trust entry says not to look.
    Off,
}

impl Revocation {
    /// The text in `verification_details`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotPublished => "not_published",
            Self::Off => "off",
        }
    }
}

/// What is known about a credential beside its claims.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CredentialFacts {
    /// The actual `vct`.
    pub credential_type: String,
    /// `iss`, when present.
    pub issuer: Option<String>,
    /// The issuer's algorithm.
    pub alg: Alg,
    /// The trusted key that signed.
    pub issuer_key: PublicKey,
    /// `nbf`
    pub valid_from: Option<UnixMillis>,
    /// `exp`
    pub valid_until: Option<UnixMillis>,
}

/// A credential of which everything but its status is proved.
pub(crate) struct AwaitingStatus {
    pub(super) claims: DisclosedClaims,
    pub(super) subject: Vec<Option<String>>,
    pub(super) facts: CredentialFacts,
    pub(super) publishes_status: bool,
    pub(super) proofs: (IssuerAuthenticated, DisclosuresBound, WithinValidity, HolderBound),
}

/// A credential whose every check passed; the only holder of claims.
#[derive(Clone, Debug)]
pub struct VerifiedCredential {
    claims: DisclosedClaims,
    facts: CredentialFacts,
    revocation: Revocation,
    _issuer: IssuerAuthenticated,
    _disclosures: DisclosuresBound,
    _validity: WithinValidity,
    _holder: HolderBound,
    _status: StatusSettled,
}

impl VerifiedCredential {
    pub(super) fn new(
        credential: AwaitingStatus,
        status: Result<(Revocation, StatusSettled), VerifyError>,
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

    /// What is known beside the claims.
    pub fn facts(&self) -> &CredentialFacts {
        &self.facts
    }

    /// How its status was settled.
    pub fn revocation(&self) -> Revocation {
        self.revocation
    }
}
