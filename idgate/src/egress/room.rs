//! Memory for bodies that come back: small ones need none of it, large ones take it as they grow.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::EgressError;

/// The unit in which memory is counted.
const KIB: usize = 1024;

/// What large bodies may take together.
#[derive(Clone, Debug)]
pub struct Room {
    all: Arc<Semaphore>,
    /// The part of it that is for some of them.
    share: Option<Arc<Semaphore>>,
}

/// Room that was taken; dropping it gives it back.
#[derive(Debug)]
pub struct Taken {
    _of_all: OwnedSemaphorePermit,
    _of_share: Option<OwnedSemaphorePermit>,
}

/// A body that came back, and its room while it is there.
#[derive(Debug)]
pub struct Body {
    pub(super) bytes: Bytes,
    pub(super) _room: Vec<Taken>,
}

impl Room {
    /// For so many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(Self::units(bytes))), share: None }
    }

    /// The same room for bodies that also come out of `share`, which counts [`Room::units`].
    pub fn shared_by(&self, share: Arc<Semaphore>) -> Self {
        Self { all: self.all.clone(), share: Some(share) }
    }

    /// In what room is counted.
    pub const fn units(bytes: usize) -> usize {
        bytes.div_ceil(KIB)
    }

    /// Takes room for `bytes` of a body.
    ///
    /// # Errors
    /// There is not so much left: nobody's fault but ours.
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
