//! The status events of a session. They are a column of the session's row, so they commit together
//! with it.

use idgate_core::{Reason, SessionId, WalletError};

use super::db::{Db, Row, sql};
use super::failure::Done;
use super::sql::time;
use super::types::{Caller, EventPage, StatusEvent, StoreError};

/// Reads a page in one statement, so that session and events come from the same snapshot.
pub(super) async fn page(
    db: &Db<'_>,
    caller: &Caller,
    id: &SessionId,
    after: u64,
    limit: usize,
) -> Done<Option<EventPage>> {
    let sql = sql("SELECT settled_at IS NOT NULL, events FROM sessions \
                   WHERE id = $1 AND client_id = $2 AND livemode = $3");
    let (id, client_id) = (id.as_str(), caller.client_id.as_str());
    let skipped = usize::try_from(after).unwrap_or(usize::MAX);
    let page = |row: &Row<'_>| {
        let all = parse(&row.get::<Option<String>>(1)?.unwrap_or_default())?;
        let last = u64::try_from(all.len()).unwrap_or(u64::MAX);
        let events = all.into_iter().skip(skipped).take(limit).collect();
        Ok(EventPage { events, last, settled: row.get(0)? })
    };
    db.one(sql, &[&id, &client_id, &caller.livemode], page).await
}

/// Parses the column `events`, in order.
///
/// # Errors
/// The column was changed outside idgate.
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
        // Older versions did not store the name.
        let is_wallets = reason.as_deref() == Some(Reason::WalletError.as_str());
        let unnamed = || is_wallets.then(|| WalletError::Other.as_str().to_owned());
        let wallet_error = wallet_error.or_else(unnamed);
        events.push(StatusEvent { seq, status, reason, wallet_error, occurred_at: time(at) });
    }
    Ok(events)
}
