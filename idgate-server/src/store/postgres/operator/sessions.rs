//! Sessions, whosever they are, and as `idgate doctor` looks at them.

use idgate_core::time::UnixMillis;

use super::super::reports;
use super::super::sql::rows;
use super::PostgresOperator;
use crate::seal::Sealer;
use crate::store::interface::StoreError;
use crate::store::operator::{SessionLine, SessionOperator};
use crate::store::prepared::Stored;
use crate::store::sql::number;

impl SessionOperator for PostgresOperator {
    fn session_report(&self, id: &str, now: UnixMillis) -> Result<Option<Vec<u8>>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let found = reports::find(&client, id, None, now).await?;
            Ok(found.map(|sealed| sealed.open(&self.desk.sealer)).transpose()?)
        })
    }

    fn list_sessions(&self, limit: usize) -> Result<Vec<SessionLine>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let found = rows(&client, SessionLine::NEWEST, &[&number(limit)]).await?;
            found.iter().map(SessionLine::read).collect()
        })
    }
}

impl PostgresOperator {
    /// What opens them.
    pub(in crate::store) fn sealer(&self) -> &Sealer {
        &self.desk.sealer
    }

    /// The newest sessions of a client, at most `limit`.
    pub(in crate::store) fn newest_sessions(
        &self,
        client_id: &str,
        limit: i64,
    ) -> Result<Vec<Stored>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT id, client_id, livemode, record FROM sessions WHERE client_id = $1 \
                       ORDER BY created_at DESC LIMIT $2";
            let mut newest = Vec::new();
            for row in rows(&client, sql, &[&client_id, &limit]).await? {
                newest.push(Stored {
                    id: row.try_get(0)?,
                    client_id: row.try_get(1)?,
                    livemode: row.try_get(2)?,
                    record: row.try_get(3)?,
                });
            }
            Ok(newest)
        })
    }
}
