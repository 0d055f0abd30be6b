//! Memory for received bodies: small ones need none of it, large ones reserve it as they grow.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::EgressError;

/// The unit in which memory is counted.
const KIB: usize = 1024;

/// The memory for all large bodies together.
#[derive(Clone, Debug)]
pub struct Room {
    all: Arc<Semaphore>,
    /// The share of it that some of them may use.
    share: Option<Arc<Semaphore>>,
}

/// Reserved memory; dropping it releases it.
#[derive(Debug)]
pub struct Taken {
    _of_all: OwnedSemaphorePermit,
    _of_share: Option<OwnedSemaphorePermit>,
}

/// A received body, with its memory reserved while it exists.
#[derive(Debug)]
pub struct Body {
    pub(super) bytes: Bytes,
    pub(super) _room: Vec<Taken>,
}

impl Room {
    /// Room for this many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(Self::units(bytes))), share: None }
    }

    /// The same room for bodies that also count against `share`, in [`Room::units`].
    pub fn shared_by(&self, share: Arc<Semaphore>) -> Self {
        Self { all: self.all.clone(), share: Some(share) }
    }

    /// The units in which room is counted.
    pub const fn units(bytes: usize) -> usize {
        bytes.div_ceil(KIB)
    }

    /// Reserves memory for `bytes` of a body.
    ///
    /// # Errors
    /// Not enough is left, which is a fault of this machine only.
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
