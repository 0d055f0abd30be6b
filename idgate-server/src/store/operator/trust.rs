//! The trust store, as operators change it.

use idgate_core::time::UnixMillis;

use crate::store::interface::{FetchedList, Refreshed, StoreError};
use crate::store::trust::{RemovedMaterial, TrustChange, TrustRecord};

/// What the operator does with the trust store.
pub trait TrustOperator {
    /// Adds material to a trust entry and replaces named attributes; the entry as it then is.
    /// `None`: it would stay without any material, so nothing was stored.
    fn add_trust(
        &mut self,
        issuer_id: &str,
        change: &TrustChange,
        now: UnixMillis,
    ) -> Result<Option<TrustRecord>, StoreError>;

    /// All trust entries by name.
    fn trust_entries(&self) -> Result<Vec<TrustRecord>, StoreError>;

    /// The trust entry of that name.
    fn trust_entry(&self, issuer_id: &str) -> Result<Option<TrustRecord>, StoreError>;

    /// Removes a trust entry with its material; `false`: there is none.
    ///
    /// # Errors
    /// The database failed; or the entry is removed, as the text says then, and only the audit log
    /// was altered: that must not keep anything trusted.
    fn remove_trust(&mut self, issuer_id: &str, now: UnixMillis) -> Result<bool, StoreError>;

    /// Gives every entry that takes its trusted list from there the one that was fetched.
    fn refresh_list(
        &mut self,
        list: &FetchedList,
        now: UnixMillis,
    ) -> Result<Refreshed, StoreError>;

    /// Keeps that nothing could be fetched from `url`.
    fn note_list_failure(
        &mut self,
        url: &str,
        why: &str,
        now: UnixMillis,
    ) -> Result<(), StoreError>;

    /// Removes the material of a trust entry that has this hash, and says what it was. Empty: there
    /// is none. `None`: there is no such entry.
    fn remove_trust_material(
        &mut self,
        issuer_id: &str,
        sha256: &[u8; 32],
        now: UnixMillis,
    ) -> Result<Option<Vec<RemovedMaterial>>, StoreError>;
}
