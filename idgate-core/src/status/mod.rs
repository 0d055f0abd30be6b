//! Revocation: what a credential publishes about its status, what the trust entry demands, and how
//! an answer of a source is read. Sources are asked last of all, by the embedder: core says what it
//! needs ([`Need`]) and judges what comes ([`Supplied`]). What cannot be established is unknown, and
//! unknown is never good.

#[cfg(all(test, feature = "aws-lc-rs"))]
pub(crate) mod fixtures;
mod inquiry;
mod revocation;
mod token_status_list;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub(crate) use self::inquiry::{Inquiry, check_count, needs_of};
#[doc(hidden)]
pub use self::inquiry::{is_good_by_crls, is_good_by_status_list};
pub use self::revocation::{Revocation, RevocationDetails, RevocationOutcome};
pub(crate) use self::token_status_list::StatusListReference;
pub use self::token_status_list::VerifiedStatusList;
use crate::codec::{cbor, json};
use crate::crypto::CryptoProvider;
use crate::error::{Check, Reason, VerifyError};
use crate::time::UnixMillis;
pub use crate::trust::crl::{CrlError, VerifiedCrl};
use crate::trust::path::{VerifiedPath, authenticate_chain, authenticate_status_signer};
use crate::trust::{TrustAnchor, TrustEntry};

/// A source to be fetched before a verdict is possible. Its URI comes from signed material only.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Need {
    /// A status list token (draft-ietf-oauth-status-list 8.1).
    StatusList {
        /// Where it is.
        uri: String,
    },
    /// A CRL in DER (RFC 5280 5).
    Crl {
        /// Where it is.
        uri: String,
    },
}

impl Need {
    /// What to fetch.
    pub fn uri(&self) -> &str {
        match self {
            Self::StatusList { uri } | Self::Crl { uri } => uri,
        }
    }

    /// The `Accept` header to fetch it with. A JWT serves every credential, a CWT only mdoc.
    pub const fn accept(&self) -> &'static str {
        match self {
            Self::StatusList { .. } => {
                "application/statuslist+jwt, application/statuslist+cwt;q=0.5"
            }
            Self::Crl { .. } => "application/pkix-crl",
        }
    }
}

/// What came of a [`Need`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Supplied<'a> {
    /// The body, as received.
    Bytes(&'a [u8]),
    /// Nothing that can be used came in time.
    Unavailable,
}

impl core::fmt::Debug for Supplied<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Unavailable => f.write_str("Unavailable"),
        }
    }
}

/// A source that was authenticated once and may answer later verifications as well. Keep it until
/// [`VerifiedSource::fresh_until`]; when its source is down it may serve longer, never past
/// [`VerifiedSource::expires_at`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum VerifiedSource {
    /// A status list.
    StatusList(VerifiedStatusList),
    /// A CRL and where it came from.
    Crl {
        /// Where it was fetched.
        uri: String,
        /// The list.
        crl: VerifiedCrl,
    },
}

impl VerifiedSource {
    /// The need that it answers.
    pub fn need(&self) -> Need {
        match self {
            Self::StatusList(list) => Need::StatusList { uri: list.uri().into() },
            Self::Crl { uri, .. } => Need::Crl { uri: uri.clone() },
        }
    }

    /// Until when it need not be fetched again.
    pub fn fresh_until(&self) -> UnixMillis {
        match self {
            Self::StatusList(list) => list.fresh_until(),
            Self::Crl { crl, .. } => crl.next_update(),
        }
    }

    /// Roughly the memory that it takes, in bytes: a status list may have 32 MiB.
    pub fn weight(&self) -> usize {
        match self {
            Self::StatusList(list) => list.weight(),
            Self::Crl { crl, .. } => crl.weight(),
        }
    }

    /// When it stops to say anything; `None`: its signer set no end.
    pub fn expires_at(&self) -> Option<UnixMillis> {
        match self {
            Self::StatusList(list) => list.expires_at(),
            Self::Crl { crl, .. } => Some(crl.next_update()),
        }
    }
}

/// What a credential publishes about its status.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum PublishedStatus {
    /// No `status`.
    #[default]
    None,
    /// A `status` of no known mechanism, or one that cannot be followed.
    Unknown,
    /// A place in a status list.
    List(StatusListReference),
}

impl PublishedStatus {
    /// From the `status` member of a JWT payload (draft-ietf-oauth-status-list 6.2). Mechanisms
    /// beside the status list are other ways to the same status, and are left alone.
    pub(crate) fn from_json(status: Option<json::Value<'_, '_>>) -> Self {
        let Some(status) = status else { return Self::None };
        let list = status.get("status_list").and_then(StatusListReference::from_json);
        list.map_or(Self::Unknown, Self::List)
    }

    /// From the `status` member of an MSO (draft-ietf-oauth-status-list 6.3).
    pub(crate) fn from_cbor(status: Option<cbor::Value<'_, '_>>) -> Self {
        let Some(status) = status else { return Self::None };
        let list = status.get("status_list").and_then(StatusListReference::from_cbor);
        list.map_or(Self::Unknown, Self::List)
    }
}

/// What is known of the certificate that signed an mdoc, for its revocation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SignerStatus {
    /// Content bytes of its serial number.
    serial: Vec<u8>,
    /// The URIs of each of its CRL distribution points; none for a point that is not for all
    /// reasons or names its list in another way.
    points: Vec<Vec<String>>,
    /// DER of the certificate that issued it, and so must have signed its CRL; unknown for a
    /// pinned signer of which no root is trusted.
    issuer: Option<Arc<[u8]>>,
}

impl SignerStatus {
    /// Of the signer of an authenticated path.
    pub(crate) fn of(path: &VerifiedPath) -> Self {
        Self {
            serial: path.leaf_serial.clone(),
            points: path.crl_distribution_points.clone(),
            issuer: path.issuer.clone(),
        }
    }
}

/// What vouched for a credential: whoever signs its status list stands below the same.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Voucher {
    /// SHA-256 of the root, or of the pinned signer.
    anchor_sha256: [u8; 32],
    /// For credentials of this type.
    doc_type: String,
}

impl Voucher {
    pub(crate) fn new(anchor_sha256: [u8; 32], doc_type: &str) -> Self {
        Self { anchor_sha256, doc_type: doc_type.into() }
    }
}

/// Everything that can be asked about one credential.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Published {
    /// Of the credential.
    pub(crate) status: PublishedStatus,
    /// Of the certificate that signed it; `None` with a bare key.
    pub(crate) signer: Option<SignerStatus>,
    /// `None` with a bare key.
    pub(crate) voucher: Option<Voucher>,
}

/// Against what sources are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusContext<'e> {
    pub(crate) provider: &'e CryptoProvider,
    /// The trust entry that the credential was verified with.
    pub(crate) issuer: &'e TrustEntry,
    /// The version of its snapshot.
    pub(crate) trust_version: u64,
    pub(crate) livemode: bool,
    pub(crate) now: UnixMillis,
}

impl StatusContext<'_> {
    /// Authenticates the certificate that stands first in `chain` as a signer of status lists: it
    /// leads to the root that vouched for the credential or to one that the operator named for
    /// status lists, or it is the pinned signer that vouched. Whether it is revoked is a question
    /// of its own.
    fn authenticate_list_signer(
        &self,
        chain: &[&[u8]],
        voucher: Option<&Voucher>,
    ) -> Result<VerifiedPath, VerifyError> {
        let Self { provider, issuer, livemode, now, .. } = *self;
        let path = match chain.first().filter(|leaf| self.is_pinned(leaf, voucher)) {
            Some(_) => authenticate_chain(provider, chain, issuer, "", livemode, now),
            None => {
                let roots: Vec<&TrustAnchor> = self.list_roots(voucher).collect();
                authenticate_status_signer(provider, chain, &roots, &issuer.ekus, now)
            }
        };
        path.map_err(|error| unknown(error.detail))
    }

    /// The roots below which lists may be signed.
    fn list_roots<'s>(
        &'s self,
        voucher: Option<&'s Voucher>,
    ) -> impl Iterator<Item = &'s TrustAnchor> {
        let doc_type = voucher.map_or("", |voucher| voucher.doc_type.as_str());
        let vouched = move |root: &&TrustAnchor| {
            voucher.is_some_and(|voucher| root.sha256() == voucher.anchor_sha256)
        };
        let roots = self.issuer.roots_for(self.livemode).filter(vouched);
        let named = self.issuer.status_roots_for(self.livemode);
        roots.chain(named).filter(move |root| root.serves(doc_type))
    }

    fn is_pinned(&self, leaf: &[u8], voucher: Option<&Voucher>) -> bool {
        voucher.is_some_and(|voucher| {
            let mut pinned = self.issuer.pinned_signers_for(self.livemode);
            pinned.any(|signer| signer.der() == leaf && signer.sha256() == voucher.anchor_sha256)
        })
    }

    /// Whether a list that was signed below `anchor_sha256` counts for what `voucher` vouched for.
    fn takes_lists_of(&self, anchor_sha256: &[u8; 32], voucher: Option<&Voucher>) -> bool {
        voucher.is_some_and(|voucher| voucher.anchor_sha256 == *anchor_sha256)
            || self.list_roots(voucher).any(|root| root.sha256() == *anchor_sha256)
    }
}

/// A refusal because the status of a credential cannot be established.
const fn unknown(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::RevocationUnknown, Check::Status, detail)
}

/// Whether an embedder can fetch it. Hosts and addresses are for its own filter.
fn is_fetchable(uri: &str) -> bool {
    let scheme = uri.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
}
