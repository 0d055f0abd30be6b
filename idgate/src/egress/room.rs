//! The memory for fetched bodies. Small bodies need none of it; large bodies reserve it as they
//! grow.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::EgressError;

/// The unit in which memory is counted.
const KIB: usize = 1024;

/// The memory that large bodies may use together.
#[derive(Clone, Debug)]
pub struct Room {
    all: Arc<Semaphore>,
    /// The share of it for some of the bodies.
    share: Option<Arc<Semaphore>>,
}

/// Reserved memory. Dropping the value releases it.
#[derive(Debug)]
pub struct Taken {
    _of_all: OwnedSemaphorePermit,
    _of_share: Option<OwnedSemaphorePermit>,
}

/// A fetched body, and its reserved memory.
#[derive(Debug)]
pub struct Body {
    pub(super) bytes: Bytes,
    pub(super) _room: Vec<Taken>,
}

impl Room {
    /// Memory for that many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(Self::units(bytes))), share: None }
    }

    /// The same memory for bodies that are also counted in `share`, which counts [`Room::units`].
    pub fn shared_by(&self, share: Arc<Semaphore>) -> Self {
        Self { all: self.all.clone(), share: Some(share) }
    }

    /// The units in which memory is counted.
    pub const fn units(bytes: usize) -> usize {
        bytes.div_ceil(KIB)
    }

    /// Reserves memory for `bytes` of a body.
    ///
    /// # Errors
    /// There is not enough memory left, which is a fault of this machine.
    pub fn take(&self, bytes: usize) -> Result<Taken, EgressError> {
        let units = u32::try_from(Self::units(bytes)).unwrap_or(u32::MAX);
        let take = |of: &Arc<Semaphore>| {
            of.clone().try_acquire_many_owned(units).map_err(|_| EgressError::OwnFault)
        };
        Ok(Taken {
            _of_share: self.share.as_ref().map(take).transpose()?,
            _of_all: take(&self.all)?,
        })
    }
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
