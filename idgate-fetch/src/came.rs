//! What comes of a need.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use crate::egress::Body;

/// What came of a need.
#[derive(Clone)]
pub(crate) enum Came {
    /// A body.
    Body(Fetched),
    /// The source, or the way to it, is out of order: it decides (`revocation_unknown`).
    Nothing,
    /// We could not ask: there was no permit or no file descriptor.
    NotAsked,
}

/// A body, counted while it is held.
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
