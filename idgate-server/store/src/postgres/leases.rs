//! Leases for duties that only one of several nodes needs to do. The holder renews its lease.
//! Another node takes it when it ends by the database's clock, or when its holder leaves. If two
//! nodes do the same duty, only work is wasted.

use std::time::Duration;

use super::super::sql::number;
use super::error::Done;
use super::shared::Shared;
use crate::postgres_statements::{execute, row};

/// Whether this node holds the lease, for at least the time `lasting`.
pub(super) async fn hold(shared: &Shared, name: &str, lasting: Duration) -> Done<bool> {
    if shared.live.count() == 1 {
        return Ok(true);
    }
    let lease_ms = number(lasting.as_millis());
    let client = shared.aside.client().await?;
    let sql = "SELECT node_id = $2, lease_until - clock_ms() FROM leases WHERE name = $1";
    if let Some(found) = row(&client, sql, &[&name, &shared.env.node]).await? {
        let (is_ours, left): (bool, i64) = (found.try_get(0)?, found.try_get(1)?);
        if left > if is_ours { lease_ms / 2 } else { 0 } {
            return Ok(is_ours);
        }
    }
    let taken = execute(
        &client,
        "INSERT INTO leases AS l (name, node_id, lease_until) VALUES ($1, $2, clock_ms() + $3) \
         ON CONFLICT (name) DO UPDATE \
         SET node_id = excluded.node_id, lease_until = excluded.lease_until \
         WHERE l.node_id = excluded.node_id OR l.lease_until <= clock_ms()",
        &[&name, &shared.env.node, &lease_ms],
    )
    .await?;
    Ok(taken > 0)
}

/// Gives up this node's leases.
pub(super) async fn leave(shared: &Shared) -> Done<()> {
    let client = shared.aside.client().await?;
    execute(&client, "DELETE FROM leases WHERE node_id = $1", &[&shared.env.node]).await?;
    Ok(())
}
