//! Results and keys of sessions in their stored form: sealed, and padded so that each row fills
//! whole pages.

use idgate_core::Session;
use idgate_core::session::SessionResult;
use zeroize::Zeroizing;

use super::types::StoreError;
use crate::seal::{OVERHEAD, Place, Sealer};

/// A row of this many sealed bytes fills a 4096-byte page, less SQLite's overhead, so that no
/// second row shares the page (see `sqlite/claims.sql`).
const FIRST_PAGE: usize = 4000;
/// The capacity of each further (overflow) page.
const NEXT_PAGE: usize = 4092;
/// The length prefix of the result, needed because padding follows it.
const LEN: usize = 8;

/// The seal's place of a session's result.
pub(super) fn place(session: &Session) -> Place<'_> {
    let (object, client) = (session.id().as_str(), session.tenant().as_str());
    Place { purpose: "results", object, client }
}

/// The latest plausible expiry of a result, from now: its 30 seconds, plus two for a reader whose
/// clock reading is slightly old. A later time means that the result was stored before the clock
/// was set back.
pub(super) const FARTHEST_MS: u64 = 32_000;

/// Seals a result.
pub(super) fn seal(
    sealer: &Sealer,
    session: &Session,
    result: &SessionResult,
) -> Result<Vec<u8>, StoreError> {
    seal_padded(sealer, place(session), &result.to_bytes())
}

/// Seals `bytes` so that the row fills whole pages.
pub(super) fn seal_padded(
    sealer: &Sealer,
    place: Place<'_>,
    bytes: &[u8],
) -> Result<Vec<u8>, StoreError> {
    let used = LEN.saturating_add(bytes.len());
    let mut padded = Zeroizing::new(vec![0; padded_len(used)]);
    let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes();
    for (to, from) in padded.iter_mut().zip(len.iter().chain(bytes.iter())) {
        *to = *from;
    }
    Ok(sealer.seal(place, &padded)?)
}

/// Opens the output of [`seal_padded`].
pub(super) fn open_padded(
    sealer: &Sealer,
    place: Place<'_>,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    unpad(sealer.open(place, sealed)?)
}

/// Removes the padding.
pub(super) fn unpad(mut padded: Zeroizing<Vec<u8>>) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    let damaged = || StoreError::Damaged("a padded row cannot be read".into());
    let (len, rest) = padded.split_first_chunk::<LEN>().ok_or_else(damaged)?;
    let len = usize::try_from(u64::from_be_bytes(*len)).map_err(|_| damaged())?;
    if len > rest.len() {
        return Err(damaged());
    }
    padded.drain(..LEN);
    padded.truncate(len);
    Ok(padded)
}

pub(super) fn open(
    sealer: &Sealer,
    session: &Session,
    sealed: &[u8],
) -> Result<SessionResult, StoreError> {
    let bytes = open_padded(sealer, place(session), sealed)?;
    SessionResult::from_bytes(&bytes)
        .map_err(|_| StoreError::Failed("a stored result cannot be read".into()))
}

/// The length that `used` bytes are padded to before they are sealed.
fn padded_len(used: usize) -> usize {
    let sealed = used.saturating_add(OVERHEAD);
    let further = sealed.saturating_sub(FIRST_PAGE).div_ceil(NEXT_PAGE);
    FIRST_PAGE.saturating_add(further.saturating_mul(NEXT_PAGE)).saturating_sub(OVERHEAD)
}
