//! The gateway's signing keys, as operators see and rotate them.

use idgate_core::time::UnixMillis;

use super::SqliteOperator;
use crate::store::directory::Change;
use crate::store::files::truncate_log;
use crate::store::gateway_keys::{insert, retire};
use crate::store::interface::StoreError;
use crate::store::operator::{GatewayKeyOperator, GatewayKeyRecord};
use crate::store::sql::time;

impl GatewayKeyOperator for SqliteOperator {
    fn rotate_gateway_key(&mut self, now: UnixMillis) -> Result<(), StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        retire(&transaction, now)?;
        insert(&transaction, &self.sealer, now)?;
        transaction.commit()?;
        // Wiped in the log as well, unless a reader is in the way: then with the next checkpoint.
        let _later = truncate_log(&self.main);
        Ok(())
    }

    fn gateway_keys(&self) -> Result<Vec<GatewayKeyRecord>, StoreError> {
        let mut statement = self.main.prepare(
            "SELECT id, created_at, retired_at, published_until, sealed IS NOT NULL FROM gateway_keys \
             ORDER BY version DESC",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(GatewayKeyRecord {
                id: row.get(0)?,
                created_at: time(row.get(1)?),
                retired_at: row.get::<_, Option<i64>>(2)?.map(time),
                published_until: row.get::<_, Option<i64>>(3)?.map(time),
                can_sign: row.get(4)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
