//! The position of a page in a list, as text for the caller. It is sealed, so it is opaque and
//! cannot be forged. It is bound to the list and the client, and valid for a day.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use idgate_core::UnixMillis;

use super::sql::{millis, time};
use super::types::{PageError, Read, StoreError};
use crate::seal::{Place, Sealer};

/// How long a cursor is valid.
const LIFETIME_MS: u64 = 24 * 60 * 60 * 1000;

/// A list that has pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct List(pub(super) &'static str);

impl List {
    /// Reads a page with `read` from the cursor's position, and creates the cursor after that page.
    pub(super) fn page<'s, T: Send + 's>(
        self,
        sealer: &Arc<Sealer>,
        client_id: &str,
        (cursor, now): (Option<&str>, UnixMillis),
        read: impl FnOnce(i64) -> Read<'s, (Vec<T>, Option<i64>)> + Send + 's,
    ) -> Read<'s, (Vec<T>, Option<String>), PageError> {
        let (sealer, whose) = (sealer.clone(), client_id.to_owned());
        let before = self.start(&sealer, client_id, cursor, now);
        Box::pin(async move {
            let (rows, more) = read(before?).await?;
            let cursor = |last| self.cursor(&sealer, &whose, last, now);
            Ok((rows, more.map(cursor).transpose()?))
        })
    }

    /// The cursor of this client for the position after the row at `position`.
    pub(super) fn cursor(
        self,
        sealer: &Sealer,
        client_id: &str,
        position: i64,
        now: UnixMillis,
    ) -> Result<String, StoreError> {
        let plain = [millis(now).to_be_bytes(), position.to_be_bytes()].concat();
        Ok(URL_SAFE_NO_PAD.encode(sealer.seal(self.place(client_id), &plain)?))
    }

    /// Where a page of this client begins: after `cursor`, or with the newest row.
    ///
    /// # Errors
    /// As [`List::position`].
    fn start(
        self,
        sealer: &Sealer,
        client_id: &str,
        cursor: Option<&str>,
        now: UnixMillis,
    ) -> Result<i64, PageError> {
        cursor.map_or(Ok(i64::MAX), |cursor| self.position(sealer, client_id, cursor, now))
    }

    /// The position of a cursor of this client.
    ///
    /// # Errors
    /// It was not made here, for this list and this client, in the last 24 hours.
    pub(super) fn position(
        self,
        sealer: &Sealer,
        client_id: &str,
        cursor: &str,
        now: UnixMillis,
    ) -> Result<i64, PageError> {
        let sealed = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| PageError::Cursor)?;
        let plain = sealer.open(self.place(client_id), &sealed).map_err(|_| PageError::Cursor)?;
        let (issued_at, position) = plain.split_first_chunk().ok_or(PageError::Cursor)?;
        let issued_at = time(i64::from_be_bytes(*issued_at));
        if now.since(issued_at) >= LIFETIME_MS {
            return Err(PageError::Cursor);
        }
        let position = position.try_into().map_err(|_| PageError::Cursor)?;
        Ok(i64::from_be_bytes(position))
    }

    const fn place(self, client_id: &str) -> Place<'_> {
        Place { purpose: self.0, object: client_id, client: client_id }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::seal::InstanceKey;

    const NOW: UnixMillis = UnixMillis(1_790_000_000_000);
    const LIST: List = List("cursor a");

    fn sealer() -> Sealer {
        Sealer::new(&InstanceKey::generate().unwrap()).unwrap()
    }

    #[test]
    fn a_cursor_gives_its_position_for_a_day() {
        let sealer = sealer();
        for position in [i64::MIN, -1, 0, 7, i64::MAX] {
            let cursor = LIST.cursor(&sealer, "cli_1", position, NOW).unwrap();
            for age in [0, LIFETIME_MS - 1] {
                let read = LIST.position(&sealer, "cli_1", &cursor, NOW.plus(age));
                assert_eq!(read.unwrap(), position);
            }
            let late = LIST.position(&sealer, "cli_1", &cursor, NOW.plus(LIFETIME_MS));
            assert!(matches!(late, Err(PageError::Cursor)));
        }
    }

    #[test]
    fn a_cursor_of_another_client_list_or_instance_is_rejected() {
        let sealer = sealer();
        let cursor = LIST.cursor(&sealer, "cli_1", 7, NOW).unwrap();
        assert!(LIST.position(&sealer, "cli_2", &cursor, NOW).is_err());
        assert!(List("cursor b").position(&sealer, "cli_1", &cursor, NOW).is_err());
        assert!(LIST.position(&self::sealer(), "cli_1", &cursor, NOW).is_err());
    }

    #[test]
    fn a_changed_cut_or_longer_cursor_is_refused() {
        let sealer = sealer();
        let cursor = LIST.cursor(&sealer, "cli_1", 7, NOW).unwrap();
        for at in 0..cursor.len() {
            let mut changed = cursor.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(LIST.position(&sealer, "cli_1", &changed, NOW).is_err(), "{at}");
            assert!(LIST.position(&sealer, "cli_1", &cursor[..at], NOW).is_err(), "{at}");
        }
        for more in ["A", "AAAA", "=", " ", "é"] {
            let longer = format!("{cursor}{more}");
            assert!(LIST.position(&sealer, "cli_1", &longer, NOW).is_err(), "{more}");
        }
    }

    #[test]
    fn a_cursor_from_before_the_clock_was_set_back_is_still_good() {
        let sealer = sealer();
        let cursor = LIST.cursor(&sealer, "cli_1", 7, NOW.plus(5000)).unwrap();
        assert_eq!(LIST.position(&sealer, "cli_1", &cursor, NOW).unwrap(), 7);
    }
}
