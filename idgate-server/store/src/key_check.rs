//! Identifies the instance keys that a store is sealed with, without storing a key. The store has a
//! value sealed under each key, and a process must be able to open all of them. Usually there is
//! one key; a second one stays until `idgate keys reseal` is done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::types::StoreError;
use crate::audit_chain::AuditKeys;
use crate::seal::{Place, SealedBy, Sealer, Uses};

/// The name of the value under the key that the store was created with, or last resealed with.
pub(super) const CHECK: &str = "key_check";
/// The plaintext of every check.
const PLAIN: &[u8] = b"idgate";

/// A name and its sealed value.
pub(super) type Check = (String, Vec<u8>);

/// The sealed value to store with `name`.
pub(super) fn seal(sealer: &Sealer, name: &str) -> Result<Vec<u8>, StoreError> {
    Ok(sealer.seal_uncounted(place(name), PLAIN)?)
}

/// The check to add to `checks` before the first use of the key that seals. `None`: it is there
/// already.
///
/// # Errors
/// A key is missing: either all of them, and the error is `none`, or one of several.
pub(super) fn judge(
    sealer: &Sealer,
    checks: &[Check],
    none: fn() -> StoreError,
) -> Result<Option<Check>, StoreError> {
    let opened = checks.iter().map(|(name, sealed)| sealer.open_by(place(name), sealed).ok());
    let opened: Vec<Option<SealedBy>> = opened.map(|it| it.map(|(by, _)| by)).collect();
    if opened.iter().all(Option::is_none) {
        return Err(none());
    }
    if opened.iter().any(Option::is_none) {
        return Err(StoreError::Failed(
            "stored values are sealed under two instance keys, and one of them is missing; set \
             IDGATE_INSTANCE_KEYS to both, the new one first, until `idgate keys reseal` is done"
                .into(),
        ));
    }
    if opened.contains(&Some(SealedBy::First)) {
        return Ok(None);
    }
    let name = format!("{CHECK} {}", sealer.key_name()?);
    let sealed = seal(sealer, &name)?;
    Ok(Some((name, sealed)))
}

/// The key that seals, until its check is stored. A gateway or a command may end before it seals
/// anything.
#[derive(Debug)]
pub(super) struct FirstKey {
    check: Option<Check>,
    /// The check that turned out to be missing after a command had removed the key.
    later: OnceLock<Check>,
    is_noted: AtomicBool,
    uses: [Uses; 2],
    at_first: u64,
}

impl FirstKey {
    /// `check` is the missing check that [`judge`] returned.
    pub(super) fn new(check: Option<Check>, sealer: &Sealer, audit: &AuditKeys) -> Self {
        let uses = [sealer.uses().clone(), audit.uses().clone()];
        let at_first = total(&uses);
        Self { check, later: OnceLock::new(), is_noted: AtomicBool::new(false), uses, at_first }
    }

    /// Takes the missing check that a later call of [`judge`] returned: a command may have removed
    /// the key in between.
    pub(super) fn is_missing(&self, check: Check) {
        // The first one stays; they are equivalent.
        let _kept = self.later.set(check);
        self.is_noted.store(false, Ordering::Relaxed);
    }

    /// The check to store before the key seals anything outside the database.
    pub(super) fn check(&self) -> Option<&Check> {
        self.later.get().or(self.check.as_ref())
    }

    /// The check that a transaction has to store, whether the key sealed something before it began
    /// or within it. `None`: nothing was sealed so far, or the check is stored.
    pub(super) fn due(&self) -> Option<&Check> {
        let is_due = |_: &&Check| {
            !self.is_noted.load(Ordering::Relaxed) && total(&self.uses) != self.at_first
        };
        self.check().filter(is_due)
    }

    /// Notes that a transaction that stored the check was committed.
    pub(super) fn is_noted(&self) {
        self.is_noted.store(true, Ordering::Relaxed);
    }
}

fn total(uses: &[Uses; 2]) -> u64 {
    uses.iter().map(Uses::so_far).fold(0, u64::saturating_add)
}

fn place(name: &str) -> Place<'_> {
    Place { purpose: "instance", object: name, client: "" }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::seal::InstanceKey;

    const OLD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const NEW: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

    fn sealer(keys: &str) -> Sealer {
        Sealer::new(&InstanceKey::parse_several(keys).unwrap()).unwrap()
    }

    fn none() -> StoreError {
        StoreError::Failed("none".into())
    }

    fn fails_with(result: Result<Option<Check>, StoreError>, text: &str) {
        let error = result.err().unwrap().to_string();
        assert!(error.contains(text), "{error}");
    }

    #[test]
    fn a_second_key_is_noted_before_it_seals_and_required_from_then_on() {
        let mut checks = vec![(CHECK.to_owned(), seal(&sealer(OLD), CHECK).unwrap())];
        assert!(judge(&sealer(OLD), &checks, none).unwrap().is_none());
        assert!(judge(&sealer(&format!("{OLD},{NEW}")), &checks, none).unwrap().is_none());
        fails_with(judge(&sealer(NEW), &checks, none), "none");
        let both = sealer(&format!("{NEW},{OLD}"));
        checks.push(judge(&both, &checks, none).unwrap().unwrap());
        assert!(judge(&both, &checks, none).unwrap().is_none(), "noted once");
        for one in [OLD, NEW] {
            fails_with(judge(&sealer(one), &checks, none), "IDGATE_INSTANCE_KEYS to both");
        }
        checks[0].1 = seal(&both, CHECK).unwrap();
        checks.truncate(1);
        assert!(judge(&sealer(NEW), &checks, none).unwrap().is_none());
        fails_with(judge(&sealer(OLD), &checks, none), "none");
    }

    #[test]
    fn a_key_check_opens_under_its_own_name_only() {
        let old = sealer(OLD);
        let moved = [("key_check 0000000000000000".to_owned(), seal(&old, CHECK).unwrap())];
        fails_with(judge(&old, &moved, none), "none");
    }
}
