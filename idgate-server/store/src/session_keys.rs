//! The keys to which wallets encrypt their answers to open sessions. A key is as secret as the
//! claims in the answer, so it is stored like them: sealed in `claims.db`, on a page of its own,
//! and erased permanently soon after its session settles. The main database never has one, so no
//! backup does.

use idgate_core::Session;

use super::claims;
use super::types::StoreError;
use crate::seal::{Place, Sealer};

/// The seal's place of a session's key.
pub(super) fn place(session: &Session) -> Place<'_> {
    let (object, client) = (session.id().as_str(), session.tenant().as_str());
    Place { purpose: "session_keys", object, client }
}

/// Seals a key.
pub(super) fn seal(sealer: &Sealer, session: &Session, key: &[u8]) -> Result<Vec<u8>, StoreError> {
    claims::seal_padded(sealer, place(session), key)
}

/// Whether answers to the session are encrypted to its own key and may still arrive.
pub(super) fn needs_key(session: &Session) -> bool {
    session.takes_encrypted_answers() && session.settled_at().is_none()
}

/// Gives a session its stored, sealed key.
pub(super) fn restore(
    sealer: &Sealer,
    session: &mut Session,
    sealed: &[u8],
) -> Result<(), StoreError> {
    let key = claims::open_padded(sealer, place(session), sealed)?;
    session.restore_encryption_key(&key).map_err(|error| {
        StoreError::Failed(format!("the key of session {}: {error}", session.id()))
    })
}
