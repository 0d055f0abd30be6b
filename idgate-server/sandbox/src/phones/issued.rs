//! The samples that phones hold, by their index in the status lists. They survive a restart,
//! because phones keep them: a file in the sandbox's folder has index, offer and expiry of each,
//! and nothing about the wallet.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::digests::random;
use crate::kept::write_private;
use crate::limits::{MAX_ISSUED, STATUS_PLACES};

const FILE: &str = "issued.json";

/// A sample on a phone.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Issued {
    idx: u64,
    /// The offer by which it was issued.
    offer: String,
    /// When it expires, in milliseconds.
    until_ms: u64,
    withdrawn: bool,
}

/// All of them.
pub(super) struct IssuedSamples {
    folder: PathBuf,
    all: Vec<Issued>,
}

impl IssuedSamples {
    /// The samples stored in the folder.
    ///
    /// # Errors
    /// The file cannot be used.
    pub(super) fn of(folder: &Path) -> Result<Self, String> {
        let path = folder.join(FILE);
        let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let all = match path.exists() {
            false => Vec::new(),
            true => {
                let text = fs::read(&path).map_err(|error| wrong(&error))?;
                serde_json::from_slice(&text).map_err(|error| wrong(&error))?
            }
        };
        Ok(Self { folder: folder.to_owned(), all })
    }

    /// Takes this many free indexes for samples of `offer`, each chosen at random.
    ///
    /// # Errors
    /// There is no room, the system has no random bytes, or the file cannot be written.
    pub(super) fn take(
        &mut self,
        offer: &str,
        count: usize,
        until_ms: u64,
        now_ms: u64,
    ) -> Result<Vec<u64>, String> {
        let mut all = self.all.clone();
        all.retain(|one| one.until_ms > now_ms);
        let mut taken = Vec::with_capacity(count);
        for _ in 0..count {
            if all.len() >= MAX_ISSUED {
                return Err("phones hold as many samples as a sandbox can track".into());
            }
            let idx = loop {
                let idx = u64::from_be_bytes(random()?) % STATUS_PLACES;
                if all.iter().all(|one| one.idx != idx) {
                    break idx;
                }
            };
            all.push(Issued { idx, offer: offer.to_owned(), until_ms, withdrawn: false });
            taken.push(idx);
        }
        self.write(all)?;
        Ok(taken)
    }

    /// Withdraws all samples of an offer; returns how many there are.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn withdraw(&mut self, offer: &str) -> Result<usize, String> {
        let mut all = self.all.clone();
        let mut count = 0_usize;
        for one in all.iter_mut().filter(|one| one.offer == offer) {
            one.withdrawn = true;
            count = count.saturating_add(1);
        }
        self.write(all)?;
        Ok(count)
    }

    /// The number of samples of an offer, and how many of them are withdrawn.
    pub(super) fn of_offer(&self, offer: &str) -> (usize, usize) {
        let own = || self.all.iter().filter(|one| one.offer == offer);
        (own().count(), own().filter(|one| one.withdrawn).count())
    }

    /// The indexes of the withdrawn samples.
    pub(super) fn withdrawn(&self) -> impl Iterator<Item = u64> {
        self.all.iter().filter(|one| one.withdrawn).map(|one| one.idx)
    }

    fn write(&mut self, all: Vec<Issued>) -> Result<(), String> {
        let text = serde_json::to_vec(&all).map_err(|error| error.to_string())?;
        write_private(&self.folder, FILE, &text)?;
        self.all = all;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_unused_and_a_withdrawal_survives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let mut issued = IssuedSamples::of(folder.path()).unwrap();
        let mut taken = issued.take("one", 10, 100, 0).unwrap();
        taken.extend(issued.take("other", 10, 100, 0).unwrap());
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 20);
        assert_eq!(issued.withdraw("one"), Ok(10));
        let again = IssuedSamples::of(folder.path()).unwrap();
        assert_eq!(again.withdrawn().count(), 10);
        assert_eq!((again.of_offer("one"), again.of_offer("other")), ((10, 10), (10, 0)));
        // An expired sample frees its index.
        issued.take("third", 1, 300, 200).unwrap();
        assert_eq!(issued.of_offer("one"), (0, 0));
    }

    #[test]
    fn samples_beyond_the_maximum_are_refused_and_take_no_index() {
        let folder = tempfile::tempdir().unwrap();
        let mut issued = IssuedSamples::of(folder.path()).unwrap();
        issued.take("first", MAX_ISSUED - 1, 100, 0).unwrap();
        let refused = issued.take("second", 2, 100, 0).unwrap_err();
        assert!(refused.contains("as many samples as"), "{refused}");
        assert_eq!(issued.of_offer("second"), (0, 0));
        issued.take("second", 1, 100, 0).unwrap();
    }
}
