//! Which instance key the database was made with. It never has the key itself.

use super::super::interface::StoreError;
use super::error::{Done, Failure};
use super::pool::Pool;
use super::sql::{execute, row};
use crate::seal::{Place, Sealer};

const CHECK: &str = "key_check";
const CHECK_PLACE: Place<'_> = Place { purpose: "instance", object: CHECK, client: "" };

/// Refuses another key than the one that the database was made with; an empty database takes any.
pub(in crate::store) async fn check_key(pool: &Pool, sealer: &Sealer) -> Done<()> {
    let client = pool.client().await?;
    let sealed = sealer.seal(CHECK_PLACE, b"idgate")?;
    execute(
        &client,
        "INSERT INTO instance (name, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        &[&CHECK, &sealed],
    )
    .await?;
    // Another node may have come first, with another key.
    let stored = row(&client, "SELECT sealed FROM instance WHERE name = $1", &[&CHECK]).await?;
    let stored: Vec<u8> = stored.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    sealer.open(CHECK_PLACE, &stored).map(drop).map_err(|_| Failure::Store(another_key()))
}

fn another_key() -> StoreError {
    StoreError::Failed(
        "the instance key is not the one that this database was made with; \
         set IDGATE_INSTANCE_KEY to that key, the same on all nodes"
            .into(),
    )
}
