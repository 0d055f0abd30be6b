//! Disk space that is reserved for erasing. When the disk is full, it is released, so that claims
//! can still be erased in time.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

/// The unit of `st_blocks`, whatever the file system.
const BLOCK: u64 = 512;

/// The reserve of one data directory.
#[derive(Debug)]
pub(crate) struct Reserve {
    path: PathBuf,
    bytes: u64,
}

impl Reserve {
    pub(crate) fn new(path: PathBuf, bytes: u64) -> Self {
        Self { path, bytes }
    }

    /// Takes the space, unless it is taken already. `false`: too little is left, and nothing was
    /// taken. The same amount must be free again, so that the next writes do not release it
    /// immediately.
    pub(crate) fn take(&self) -> bool {
        if self.is_taken() {
            return true;
        }
        let taken = self.free() >= self.bytes.saturating_mul(2) && self.fill().is_ok();
        if !taken {
            self.give_back();
        }
        taken
    }

    /// Whether the whole reserve is taken.
    pub(crate) fn is_taken(&self) -> bool {
        let Ok(file) = std::fs::metadata(&self.path) else { return false };
        // Written bytes may be compressed; then the length counts.
        file.blocks().saturating_mul(BLOCK).max(file.len()) >= self.bytes
    }

    /// Whether the same amount is free as well.
    pub(crate) fn has_room_beside(&self) -> bool {
        self.free() >= self.bytes
    }

    /// Releases the space.
    pub(crate) fn give_back(&self) {
        // It does not exist, or the disk has worse problems; nothing can be done in either case.
        let _ = std::fs::remove_file(&self.path);
    }

    /// The free bytes outside the reserve.
    fn free(&self) -> u64 {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        statvfs(dir).map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    fn fill(&self) -> std::io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&self.path)?;
        // Allocated past the end of the file, so that it is never read or copied.
        match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, self.bytes) {
            Ok(()) if self.is_taken() => Ok(()),
            Err(rustix::io::Errno::NOSPC) => Err(rustix::io::Errno::NOSPC.into()),
            _ => write_out(&mut file, self.bytes),
        }
    }
}

/// For file systems that cannot preallocate.
fn write_out(file: &mut File, bytes: u64) -> std::io::Result<()> {
    let zeros = vec![0; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        file.write_all(&zeros)?;
        left = left.saturating_sub(1 << 16);
    }
    file.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_reserve_is_taken_and_released() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("reserve");
        let reserve = Reserve::new(path.clone(), 3 << 20);
        assert!(!reserve.is_taken());
        assert!(reserve.take() && reserve.is_taken() && reserve.take());
        let file = std::fs::metadata(&path).unwrap();
        assert!(file.blocks() * BLOCK >= 3 << 20);
        assert_eq!(file.mode() & 0o777, 0o600);
        reserve.give_back();
        assert!(!reserve.is_taken());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        reserve.give_back();
    }
}
