//! Reads SQLite's write-ahead log (file format, section 4). SQLite silently ignores everything
//! after a damaged frame.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The magic number. Its last bit gives the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;
/// A crash cuts off at most one commit, because each is waited for before the next begins. More
/// commits after a damaged frame mean damage.
const TORN: u64 = 1;

/// How many commits follow a damaged frame of the log of the database at `path`, and are lost. 0
/// also if there is no log, or if only its last commit is torn, as after a crash.
///
/// # Errors
/// The log cannot be read.
pub(super) fn lost_commits(path: &Path) -> io::Result<u64> {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    let file = match File::open(&name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        opened => opened?,
    };
    let before = header(&mut File::open(&name)?)?;
    let lost = count(&mut BufReader::with_capacity(1 << 20, &file))?;
    // A running server may have restarted the log in the meantime; then nothing was found.
    let same = header(&mut File::open(&name)?)? == before;
    Ok(if same && lost > TORN { lost } else { 0 })
}

fn header(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(HEADER as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn count(log: &mut impl Read) -> io::Result<u64> {
    let mut head = [0; HEADER];
    if !fill(log, &mut head)? {
        return Ok(0);
    }
    let magic = word(&head, 0);
    if magic & !1 != MAGIC {
        return Ok(0);
    }
    let big_endian = magic & 1 == 1;
    let page = usize::try_from(word(&head, 8)).unwrap_or(0);
    if !(512..=65_536).contains(&page) {
        return Ok(0);
    }
    let salts = (word(&head, 16), word(&head, 20));
    let mut sum = checksum((0, 0), head.get(..24).unwrap_or_default(), big_endian);
    let mut whole = true;
    let mut lost = 0_u64;
    let mut frame = vec![0; FRAME_HEADER.saturating_add(page)];
    while fill(log, &mut frame)? {
        // Left over from before the log was restarted.
        if (word(&frame, 8), word(&frame, 12)) != salts {
            break;
        }
        if whole {
            sum = checksum(sum, frame.get(..8).unwrap_or_default(), big_endian);
            sum = checksum(sum, frame.get(FRAME_HEADER..).unwrap_or_default(), big_endian);
            whole = sum == (word(&frame, 16), word(&frame, 20));
        }
        let commits = word(&frame, 4) != 0;
        lost = lost.saturating_add(u64::from(!whole && commits));
    }
    Ok(lost)
}

/// Whether there were enough bytes.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    word.map_or(0, |word| u32::from_be_bytes(*word))
}

/// The running checksum over pairs of words.
fn checksum((mut a, mut b): (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    let words = bytes.chunks_exact(4).filter_map(|word| word.first_chunk::<4>());
    let mut words = words
        .map(|word| if big_endian { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) });
    while let (Some(first), Some(second)) = (words.next(), words.next()) {
        a = a.wrapping_add(first).wrapping_add(b);
        b = b.wrapping_add(second).wrapping_add(a);
    }
    (a, b)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn commits_after_a_flipped_bit_are_counted_and_a_torn_end_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        assert_eq!(lost_commits(&path).unwrap(), 0, "no log");
        let database = Connection::open(&path).unwrap();
        database.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE a (x);").unwrap();
        for _ in 0..9 {
            database.execute("INSERT INTO a VALUES (randomblob(100))", []).unwrap();
        }
        assert_eq!(lost_commits(&path).unwrap(), 0, "whole");
        let wal = dir.path().join("a.db-wal");
        let bytes = std::fs::read(&wal).unwrap();
        let frames = (bytes.len() - HEADER) / (FRAME_HEADER + 4096);
        assert!(frames >= 10, "{frames}");
        for frame in 0..frames {
            let mut changed = bytes.clone();
            changed[HEADER + frame * (FRAME_HEADER + 4096) + FRAME_HEADER + 777] ^= 4;
            std::fs::write(&wal, &changed).unwrap();
            let lost = lost_commits(&path).unwrap();
            if frame + 1 == frames {
                assert_eq!(lost, 0, "a crash may have torn the last one");
            } else {
                assert!(lost > 1 && lost <= 10, "frame {frame}: {lost}");
            }
        }
        for cut in [0, 31, 32, 33, bytes.len() - 1] {
            std::fs::write(&wal, &bytes[..cut]).unwrap();
            assert_eq!(lost_commits(&path).unwrap(), 0, "cut at {cut}");
        }
    }
}
