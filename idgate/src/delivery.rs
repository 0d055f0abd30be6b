//! The result of a fetch.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use idgate_core::revocation::SourceFault;

use crate::egress::{Body, EgressError};

/// The result of a fetch.
#[derive(Clone)]
pub(crate) enum Delivery {
    /// A body.
    Body(Fetched),
    /// The source, or the network path to it, fails: this decides (`revocation_unknown`).
    Nothing(SourceFault),
    /// The answer for which the source is fetched has used up its requests. Other answers that wait
    /// for the same source fetch it again.
    Spent,
    /// We could not fetch: there was no permit or no file descriptor.
    NotAsked,
}

impl Delivery {
    /// The result of a failed exchange.
    pub(crate) fn of(error: EgressError) -> Self {
        Self::Nothing(match error {
            EgressError::OwnFault => return Self::NotAsked,
            EgressError::NoRequestLeft => return Self::Spent,
            EgressError::InvalidUrl | EgressError::AddressBlocked => SourceFault::NotAllowed,
            EgressError::DnsFailed | EgressError::ConnectFailed | EgressError::TlsFailed => {
                SourceFault::Unreachable
            }
            EgressError::Status(_) | EgressError::NoBody => SourceFault::HttpStatus,
            EgressError::RedirectRefused
            | EgressError::RedirectBlocked
            | EgressError::TooManyRedirects => SourceFault::Redirect,
            EgressError::Encoded | EgressError::BadCoding | EgressError::TrailingBytes => {
                SourceFault::ContentCoding
            }
            EgressError::TooLarge => SourceFault::TooLarge,
            EgressError::Broken => SourceFault::Broken,
        })
    }
}

/// A body that counts against the limit while it is held.
#[derive(Clone)]
pub(crate) struct Fetched(Arc<(Body, Arc<OwnedSemaphorePermit>)>);

impl Fetched {
    /// `permit` is one of those shared by all fetches.
    pub(crate) fn new(body: Body, permit: Arc<OwnedSemaphorePermit>) -> Self {
        Self(Arc::new((body, permit)))
    }
}

impl AsRef<[u8]> for Fetched {
    fn as_ref(&self) -> &[u8] {
        self.0.0.as_ref()
    }
}
