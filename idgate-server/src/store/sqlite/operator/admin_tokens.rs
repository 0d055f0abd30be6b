//! Admin tokens: made, listed and revoked.

use idgate_core::time::UnixMillis;

use super::SqliteOperator;
use crate::admin_token::AdminToken;
use crate::store::directory::Change;
use crate::store::fresh;
use crate::store::interface::StoreError;
use crate::store::operator::{AdminTokenOperator, AdminTokenRecord};
use crate::store::sql::{millis, time};

impl AdminTokenOperator for SqliteOperator {
    fn create_admin_token(
        &mut self,
        name: Option<&str>,
        now: UnixMillis,
    ) -> Result<(String, AdminToken), StoreError> {
        let (id, token) = fresh::admin_token()?;
        self.main.execute(
            "INSERT INTO admin_tokens (id, name, digest, created_at) VALUES (?1, ?2, ?3, ?4)",
            (&id, name, token.digest(), millis(now)),
        )?;
        Ok((id, token))
    }

    fn admin_tokens(&self) -> Result<Vec<AdminTokenRecord>, StoreError> {
        let mut statement = self.main.prepare(
            "SELECT id, name, created_at, revoked_at FROM admin_tokens \
             ORDER BY created_at DESC, rowid DESC",
        )?;
        let rows = statement.query_map([], |row| {
            Ok(AdminTokenRecord {
                id: row.get(0)?,
                name: row.get(1)?,
                created_at: time(row.get(2)?),
                revoked_at: row.get::<_, Option<i64>>(3)?.map(time),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn revoke_admin_token(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let found = transaction.execute(
            "UPDATE admin_tokens SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
            (id, millis(now)),
        )?;
        transaction.commit()?;
        Ok(found > 0)
    }
}
