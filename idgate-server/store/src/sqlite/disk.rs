//! Watches the free disk space. On a full disk only erasing continues, for which space is reserved.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::statvfs;

use crate::sqlite::disk_reserve::Reserve;
use crate::types::StoreError;
use idgate_base::telemetry::Use;

/// Enough for what two seconds of a busy gateway add to its logs, which an erasure needs to get
/// through them. Less on a small volume, where no gateway is that busy.
const RESERVED_BYTES: Share = Share { of_all: 16, least: 256 << 10, most: 8 << 20 };
/// The most that a start writes before it can erase. It is a reserve of its own, because another
/// program may have taken the space that was released before.
const START_BYTES: Share = Share { of_all: 128, least: 128 << 10, most: 1 << 20 };

/// A fraction of a volume.
struct Share {
    of_all: u64,
    least: u64,
    most: u64,
}

impl Share {
    fn of(&self, dir: &Path) -> u64 {
        let all = statvfs(dir).map_or(u64::MAX, |disk| disk.f_blocks.saturating_mul(disk.f_frsize));
        all.checked_div(self.of_all).unwrap_or(0).clamp(self.least, self.most)
    }
}

/// The state of one data directory's disk.
#[derive(Debug)]
pub(crate) struct Disk {
    reserve: Reserve,
    for_start: Reserve,
    full: AtomicBool,
    dir: PathBuf,
}

impl Disk {
    /// Takes the reserve. If there is no room for it, the disk counts as full from the start.
    pub(crate) fn of(dir: &Path) -> Self {
        let reserve = Reserve::new(dir.join("reserve"), RESERVED_BYTES.of(dir));
        let for_start = Reserve::new(dir.join("reserve.start"), START_BYTES.of(dir));
        let full = !for_start.has_room_beside() || !reserve.take() || !for_start.take();
        if full {
            reserve.give_back();
            for_start.give_back();
            tracing::error!("the disk is full: only erasing continues; free disk space");
        }
        Self { reserve, for_start, full: AtomicBool::new(full), dir: dir.to_owned() }
    }

    /// Whether only erasing may write.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// The bytes of the volume. Space that only the system may use counts as used.
    pub(crate) fn bytes(&self) -> Option<Use> {
        let disk = statvfs(&self.dir).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        let limit = bytes(disk.f_blocks);
        Some(Use { used: limit.saturating_sub(bytes(disk.f_bavail)), limit })
    }

    /// Learns from the outcome of a write. The first one that found no room releases the reserve.
    pub(crate) fn note<T>(&self, outcome: &Result<T, StoreError>) {
        if matches!(outcome, Err(StoreError::Full)) && !self.full.swap(true, Ordering::Relaxed) {
            self.reserve.give_back();
            tracing::error!("the disk is full: only erasing continues; free disk space");
        }
    }

    /// Resumes normal work once there is room for the reserve again.
    pub(crate) fn recover(&self) {
        if self.is_full() && self.reserve.take() && self.for_start.take() {
            self.full.store(false, Ordering::Relaxed);
            tracing::info!("there is room on the disk again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_releases_the_reserve_until_there_is_room() {
        let dir = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let disk = Disk::of(dir.path());
        assert!(!disk.is_full() && disk.reserve.is_taken());
        disk.note(&Err::<(), _>(StoreError::Busy));
        disk.note(&Ok(()));
        assert!(!disk.is_full());
        disk.note(&Err::<(), _>(StoreError::Full));
        assert!(disk.is_full() && !disk.reserve.is_taken());
        disk.recover();
        assert!(!disk.is_full() && disk.reserve.is_taken());
    }
}
