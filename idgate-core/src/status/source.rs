//! Sources of status: what is asked for, what came, and what may serve again.

use alloc::string::String;

use super::token_status_list::VerifiedStatusList;
use crate::time::UnixMillis;
use crate::trust::crl::VerifiedCrl;

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
