//! Deliberate failures for tests: they exercise the layers above the store with a real store that
//! fails. The released program does not contain them.

use super::lanes::LaneKey;
use super::types::{Read, Write};

/// A switch for tests.
#[derive(Clone, Default)]
pub(super) struct Fault {
    #[cfg(any(test, feature = "fixtures"))]
    mood: std::sync::Arc<std::sync::Mutex<Mood>>,
}

#[cfg(not(any(test, feature = "fixtures")))]
impl Fault {
    pub(super) fn read<'a, T: Send + 'static>(&self, read: Read<'a, T>) -> Read<'a, T> {
        read
    }

    pub(super) fn sum<'a, T: Send + 'static>(&self, read: Read<'a, T>) -> Read<'a, T> {
        read
    }

    pub(super) fn write<T: Send + 'static>(
        &self,
        _: LaneKey,
        write: impl FnOnce() -> Write<'static, T>,
    ) -> Write<'static, T> {
        write()
    }
}

/// How a store behaves.
#[cfg(any(test, feature = "fixtures"))]
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Mood {
    /// As in production.
    #[default]
    Well,
    /// Writes find the queue full.
    Busy,
    /// The database is broken.
    Broken,
    /// Writes never finish, and sums are late.
    Stuck,
    /// Reads of sessions and of sums panic.
    Panicking,
    /// The next write of a client (not of the gateway itself) panics, then all is normal again.
    Startled,
}

#[cfg(any(test, feature = "fixtures"))]
#[allow(clippy::unwrap_used, clippy::panic)]
impl Fault {
    pub(super) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn mood(&self) -> Mood {
        *self.mood.lock().unwrap()
    }

    /// A read of sessions, or of sums over them.
    pub(super) fn read<'a, T: Send + 'static>(&self, read: Read<'a, T>) -> Read<'a, T> {
        let mood = self.mood();
        Box::pin(async move {
            match mood {
                Mood::Panicking => panic!("on purpose"),
                Mood::Broken => Err(super::types::StoreError::Failed("broken".into())),
                _ => read.await,
            }
        })
    }

    /// A sum, which may also be late.
    pub(super) fn sum<'a, T: Send + 'static>(&self, read: Read<'a, T>) -> Read<'a, T> {
        let (mood, read) = (self.mood(), self.read(read));
        Box::pin(async move {
            if mood == Mood::Stuck {
                tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            }
            read.await
        })
    }

    /// A write, before it is queued.
    pub(super) fn write<T: Send + 'static>(
        &self,
        whose: LaneKey,
        write: impl FnOnce() -> Write<'static, T>,
    ) -> Write<'static, T> {
        let mut mood = self.mood.lock().unwrap();
        match *mood {
            Mood::Busy => Box::pin(async { Err(super::types::StoreError::Busy) }),
            Mood::Broken => {
                Box::pin(async { Err(super::types::StoreError::Failed("broken".into())) })
            }
            Mood::Stuck => Box::pin(std::future::pending()),
            Mood::Startled if whose != LaneKey::GATEWAY => {
                *mood = Mood::Well;
                Box::pin(async { panic!("on purpose") })
            }
            Mood::Well | Mood::Panicking | Mood::Startled => write(),
        }
    }
}
