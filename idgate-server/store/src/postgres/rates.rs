//! The rate limits of sessions, shared by all nodes: the generic cell rate algorithm, as in one
//! process, but by the database's clock. The table is unlogged: after a crash of the database every
//! session has its whole burst again.

use super::super::sql::{number, unsigned};
use super::super::types::SessionRate;
use super::error::Done;
use super::shared::Shared;
use crate::postgres_statements::{execute, row};

/// Charges one request to an existing session. If it exceeds the limit, returns how many
/// milliseconds it is too early.
pub(super) async fn charge(shared: &Shared, id: &str, rate: SessionRate) -> Done<Option<u64>> {
    let client = shared.pool.client().await?;
    let window = number(rate.window_ms);
    let each = window.checked_div(number(rate.burst)).unwrap_or(window);
    let charged = execute(
        &client,
        "INSERT INTO session_rates AS r (session_id, name, full_at) \
         SELECT id, $2::text, clock_ms() + $3::bigint FROM sessions WHERE id = $1 \
         ON CONFLICT (session_id, name) DO UPDATE \
         SET full_at = greatest(r.full_at, clock_ms()) + $3::bigint \
         WHERE greatest(r.full_at, clock_ms()) + $3::bigint <= clock_ms() + $4::bigint",
        &[&id, &rate.name, &each, &window],
    )
    .await?;
    if charged > 0 {
        return Ok(None);
    }
    let sql = "SELECT full_at + $3::bigint - $4::bigint - clock_ms() FROM session_rates \
         WHERE session_id = $1 AND name = $2";
    let used = row(&client, sql, &[&id, &rate.name, &each, &window]).await?;
    // No row means that the session does not exist; the caller finds that out elsewhere.
    let early: Option<i64> = used.map(|row| row.try_get(0)).transpose()?;
    Ok(early.map(|early| unsigned(early).max(1)))
}

/// Removes limits that are full again.
pub(super) async fn forget(shared: &Shared) -> Done<()> {
    let client = shared.pool.client().await?;
    execute(&client, "DELETE FROM session_rates WHERE full_at < clock_ms()", &[]).await?;
    Ok(())
}
