//! The gateway's signing keys, as operators see and rotate them.

use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::error::Done;
use super::super::gateway_keys;
use super::super::sql::rows;
use super::PostgresOperator;
use crate::store::interface::StoreError;
use crate::store::operator::{GatewayKeyOperator, GatewayKeyRecord};
use crate::store::sql::time;

impl GatewayKeyOperator for PostgresOperator {
    fn rotate_gateway_key(&mut self, now: UnixMillis) -> Result<(), StoreError> {
        let env = (&self.desk.sealer, now);
        self.run(
            self.desk.pool.transact(&env, |&(sealer, now), tx| {
                Box::pin(gateway_keys::rotate(tx, sealer, now))
            }),
        )
    }

    fn gateway_keys(&self) -> Result<Vec<GatewayKeyRecord>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT id, created_at, retired_at, published_until, sealed IS NOT NULL \
                       FROM gateway_keys ORDER BY version DESC";
            rows(&client, sql, &[]).await?.iter().map(record).collect()
        })
    }
}

fn record(row: &Row) -> Done<GatewayKeyRecord> {
    Ok(GatewayKeyRecord {
        id: row.try_get(0)?,
        created_at: time(row.try_get(1)?),
        retired_at: row.try_get::<_, Option<i64>>(2)?.map(time),
        published_until: row.try_get::<_, Option<i64>>(3)?.map(time),
        can_sign: row.try_get(4)?,
    })
}
