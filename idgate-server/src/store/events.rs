//! The status events of a session: in the row of the session, so that they are committed with it.

use idgate_core::ids::SessionId;
use idgate_core::{Reason, WalletError};
use rusqlite::{Connection, Row};

use super::interface::{Caller, EventPage, StatusEvent, StoreError};
use super::sql::{number, time, unsigned};

/// Reads a page in one statement, so that session and events are of one instant.
pub(super) fn page(
    main: &Connection,
    caller: &Caller,
    id: &SessionId,
    after: u64,
    limit: usize,
) -> Result<Option<EventPage>, StoreError> {
    let mut statement = main.prepare_cached(
        "WITH s AS MATERIALIZED ( \
             SELECT settled_at, '[' || rtrim(events, ',') || ']' AS events FROM sessions \
             WHERE id = ?1 AND client_id = ?2 AND livemode = ?3 \
         ) \
         SELECT s.settled_at IS NOT NULL, json_array_length(s.events), \
         e.key + 1, e.value ->> 0, e.value ->> 1, e.value ->> 2, e.value ->> 3 \
         FROM s LEFT JOIN json_each(s.events) AS e ON e.key >= ?4 ORDER BY e.key LIMIT ?5",
    )?;
    let (client_id, first) = (caller.client_id.as_str(), number(after));
    let of_caller = (id.as_str(), client_id, caller.livemode, first, number(limit));
    let mut rows = statement.query(of_caller)?;
    let mut page: Option<EventPage> = None;
    while let Some(row) = rows.next()? {
        let page = match &mut page {
            Some(page) => page,
            None => page.insert(EventPage {
                events: Vec::new(),
                last: unsigned(row.get::<_, Option<i64>>(1)?.unwrap_or(0)),
                settled: row.get(0)?,
            }),
        };
        page.events.extend(event(row)?);
    }
    Ok(page)
}

/// The events in the column `events`, in order.
///
/// # Errors
/// It was changed outside idgate.
pub(super) fn parse(column: &str) -> Result<Vec<StatusEvent>, StoreError> {
    type Event = (String, Option<String>, i64, Option<String>);
    let damaged = |_| StoreError::Damaged("the events of a session cannot be read".into());
    let mut events = Vec::new();
    let text = format!("[{}]", column.trim_end_matches(','));
    for (value, seq) in
        serde_json::from_str::<Vec<serde_json::Value>>(&text).map_err(damaged)?.into_iter().zip(1..)
    {
        let (status, reason, at, wallet_error) = match value.as_array().map(Vec::len) {
            Some(3) => {
                let (status, reason, at) = serde_json::from_value(value).map_err(damaged)?;
                (status, reason, at, None)
            }
            _ => serde_json::from_value::<Event>(value).map_err(damaged)?,
        };
        events.push(StatusEvent { seq, status, reason, wallet_error, occurred_at: time(at) });
    }
    Ok(events)
}

/// The event of a row; none when the session has no more of them.
fn event(row: &Row<'_>) -> rusqlite::Result<Option<StatusEvent>> {
    let Some(seq) = row.get::<_, Option<i64>>(2)? else { return Ok(None) };
    let reason: Option<String> = row.get(4)?;
    // Versions before the name was kept stored none.
    let unnamed = || {
        let is_wallets = reason.as_deref() == Some(Reason::WalletError.as_str());
        is_wallets.then(|| WalletError::Other.as_str().to_owned())
    };
    let wallet_error = row.get::<_, Option<String>>(6)?.or_else(unnamed);
    Ok(Some(StatusEvent {
        seq: unsigned(seq),
        status: row.get(3)?,
        reason,
        wallet_error,
        occurred_at: time(row.get(5)?),
    }))
}
