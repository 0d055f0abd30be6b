//! The outcome of a fetch for a need.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use idgate_core::revocation::SourceFault;

use crate::egress::{Body, EgressError};

/// The outcome of a fetch for a need.
#[derive(Clone)]
pub(crate) enum Delivery {
    /// A body.
    Body(Fetched),
    /// The source, or the way to it, failed. The decision depends on that (`revocation_unknown`).
    Nothing(SourceFault),
    /// The answer that needs the source has used up its requests. Other callers that wait for the
    /// same source ask again.
    Spent,
    /// This machine could not ask: there was no permit or no file descriptor.
    NotAsked,
}

impl Delivery {
    /// The outcome of a failed exchange.
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

/// A body, whose memory is counted while it is held.
#[derive(Clone)]
pub(crate) struct Fetched(Arc<(Body, Arc<OwnedSemaphorePermit>)>);

impl Fetched {
    /// `permit` is one of all fetches.
    pub(crate) fn new(body: Body, permit: Arc<OwnedSemaphorePermit>) -> Self {
        Self(Arc::new((body, permit)))
    }
}

impl AsRef<[u8]> for Fetched {
    fn as_ref(&self) -> &[u8] {
        self.0.0.as_ref()
    }
}
