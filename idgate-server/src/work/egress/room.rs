//! Memory for bodies that come back: small ones need none of it, large ones take all that they may come
//! to before they are kept.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::EgressError;

/// Bodies up to here are taken as they come.
pub(super) const SMALL: usize = 64 * 1024;
/// The unit in which memory is counted.
const KIB: usize = 1024;

/// What large bodies may take together.
#[derive(Clone, Debug)]
pub struct Room(Arc<Semaphore>);

/// A body that came back, and its room while it is there.
#[derive(Debug)]
pub struct Body {
    pub(super) bytes: Bytes,
    pub(super) _room: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// For so many bytes.
    pub fn of(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.div_ceil(KIB))))
    }

    /// Takes room for a body of `bytes`.
    ///
    /// # Errors
    /// There is not so much left: nobody's fault but ours.
    pub(super) fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, EgressError> {
        let units = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
        self.0.clone().try_acquire_many_owned(units).map_err(|_| EgressError::OwnFault)
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
