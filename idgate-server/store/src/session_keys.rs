//! The keys that answers to open sessions are encrypted to. A key is as secret as the claims of its
//! answer, so it lives where they live: in `claims.db`, sealed, a page to itself, and is erased for
//! good soon after its session settled. The main database never holds one, so no backup does.

use idgate_core::Session;

use super::claims;
use super::types::StoreError;
use crate::seal::{Place, Sealer};

/// Where the key of a session stands.
pub(super) fn place(session: &Session) -> Place<'_> {
    let (object, client) = (session.id().as_str(), session.tenant().as_str());
    Place { purpose: "session_keys", object, client }
}

/// The sealed form of a key.
pub(super) fn seal(sealer: &Sealer, session: &Session, key: &[u8]) -> Result<Vec<u8>, StoreError> {
    claims::seal_padded(sealer, place(session), key)
}

/// Whether answers to the session are encrypted to a key of its own, and may still come.
pub(super) fn needs_key(session: &Session) -> bool {
    session.takes_encrypted_answers() && session.settled_at().is_none()
}

/// Gives a session its key, which is stored sealed.
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
