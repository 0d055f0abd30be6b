//! Notifications that were given up: listed, retried on demand, removed after a while.

use idgate_core::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::super::cursor::List;
use super::super::lanes::Whose;
use super::super::operator::begin;
use super::super::readers::Reader;
use super::super::webhook_hosts::HostStatus;
use super::super::{Caller, OperatorStore, PageError, Read, SqliteStore, StoreError, millis, time};

const LIST: List = List("cursor webhook-failures");

/// A notification that was given up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeadLetter {
    /// `whf_…`; the `webhook-id` of its attempts, too.
    pub id: String,
    /// The session that settled.
    pub session_id: String,
    /// The client.
    pub client_id: String,
    /// The body, a JSON text.
    pub payload: String,
    /// Of the fixed vocabulary.
    pub error_message: Option<String>,
    /// How often it failed.
    pub attempts: u32,
    /// When it last did.
    pub failed_at: UnixMillis,
}

/// Part of a list.
#[derive(Clone, Debug, Default)]
pub struct DeadLetterPage {
    /// Newest first.
    pub letters: Vec<DeadLetter>,
    /// Where the next page begins; `None`: this was the last.
    pub next_cursor: Option<String>,
}

/// A retry that was asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Replay {
    /// The dead letter.
    pub id: String,
    /// Its session.
    pub session_id: String,
    /// Whether there will be an attempt: its host is approved.
    pub is_sent: bool,
}

const COLUMNS: &str =
    "id, session_id, client_id, body, error_message, attempts, failed_at, failure_seq";

impl SqliteStore {
    pub(super) fn dead_letter_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, DeadLetterPage, PageError> {
        let client_id = caller.client_id.clone();
        let before = LIST.start(&self.sealer, client_id.as_str(), cursor, now);
        let caller = caller.clone();
        Box::pin(async move {
            let before = before?;
            let read = move |reader: &Reader| page(&reader.main, &caller, before, limit);
            let (letters, more) = self.readers.read_long(Whose::of(&client_id), read).await?;
            let cursor = |last| LIST.cursor(&self.sealer, client_id.as_str(), last, now);
            let next_cursor = more.map(cursor).transpose()?;
            Ok(DeadLetterPage { letters, next_cursor })
        })
    }
}

impl OperatorStore {
    /// All dead letters, newest first.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        let statement = format!(
            "SELECT {COLUMNS} FROM webhook_deliveries WHERE failed_at IS NOT NULL \
             ORDER BY failure_seq DESC"
        );
        let mut statement = self.main.prepare(&statement)?;
        let rows = statement.query_map([], from_row)?;
        Ok(rows.map(|row| row.map(|(letter, _)| letter)).collect::<Result<_, _>>()?)
    }

    /// Asks for one attempt to deliver a dead letter, whosever it is; `None`: there is none of that
    /// id. A running server makes it within a second, or else the next one.
    pub fn replay_dead_letter(
        &mut self,
        id: &str,
        now: UnixMillis,
    ) -> Result<Option<Replay>, StoreError> {
        let transaction = begin(&mut self.main)?;
        let replayed = replay(&transaction, id, None, now)?;
        transaction.commit()?;
        Ok(replayed)
    }
}

/// Marks a dead letter, of this client and mode if given, for one attempt. What is marked already
/// stays as it is.
pub(super) fn replay(
    main: &Connection,
    id: &str,
    whose: Option<(&str, bool)>,
    now: UnixMillis,
) -> Result<Option<Replay>, StoreError> {
    let (client_id, livemode) = whose.unzip();
    let found = main
        .prepare_cached(
            "SELECT d.seq, d.session_id, h.status, c.revoked_at IS NOT NULL \
             FROM webhook_deliveries AS d JOIN clients AS c ON c.id = d.client_id \
             LEFT JOIN webhook_endpoints AS e ON e.client_id = d.client_id \
             LEFT JOIN webhook_hosts AS h ON h.host = e.host \
             WHERE d.id = ?1 AND d.failed_at IS NOT NULL \
             AND d.client_id = coalesce(?2, d.client_id) AND d.livemode = coalesce(?3, d.livemode)",
        )?
        .query_row((id, client_id, livemode), |row| {
            let status = HostStatus::of(row.get::<_, Option<String>>(2)?.as_deref());
            let is_sent = status == HostStatus::Approved && !row.get::<_, bool>(3)?;
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, is_sent))
        })
        .optional()?;
    let Some((seq, session_id, is_sent)) = found else { return Ok(None) };
    if is_sent {
        main.prepare_cached(
            "UPDATE webhook_deliveries SET due_at = coalesce(due_at, ?2) WHERE seq = ?1",
        )?
        .execute((seq, millis(now)))?;
    }
    Ok(Some(Replay { id: id.to_owned(), session_id, is_sent }))
}

pub(super) fn remove(
    main: &Connection,
    before: UnixMillis,
    limit: usize,
) -> Result<usize, StoreError> {
    Ok(main
        .prepare_cached(
            "DELETE FROM webhook_deliveries WHERE seq IN (SELECT seq FROM webhook_deliveries \
             WHERE failed_at <= ?1 AND lease_until IS NULL ORDER BY failed_at LIMIT ?2)",
        )?
        .execute((millis(before), i64::try_from(limit).unwrap_or(i64::MAX)))?)
}

/// At most `limit` dead letters older than `before`, and the position of the last if there are more.
fn page(
    main: &Connection,
    caller: &Caller,
    before: i64,
    limit: usize,
) -> Result<(Vec<DeadLetter>, Option<i64>), StoreError> {
    let statement = format!(
        "SELECT {COLUMNS} FROM webhook_deliveries WHERE client_id = ?1 AND livemode = ?2 \
         AND failed_at IS NOT NULL AND failure_seq < ?3 ORDER BY failure_seq DESC LIMIT ?4"
    );
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut rows = main
        .prepare_cached(&statement)?
        .query_map((caller.client_id.as_str(), caller.livemode, before, one_more), from_row)?
        .collect::<Result<Vec<_>, _>>()?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().map(|(_, position)| *position).filter(|_| has_more);
    Ok((rows.into_iter().map(|(letter, _)| letter).collect(), last))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(DeadLetter, i64)> {
    let letter = DeadLetter {
        id: row.get(0)?,
        session_id: row.get(1)?,
        client_id: row.get(2)?,
        payload: row.get(3)?,
        error_message: row.get(4)?,
        attempts: row.get(5)?,
        failed_at: time(row.get(6)?),
    };
    Ok((letter, row.get(7)?))
}
