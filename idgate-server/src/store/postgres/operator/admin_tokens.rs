//! Admin tokens: made, listed and revoked.

use idgate_core::time::UnixMillis;
use tokio_postgres::Row;

use super::super::error::Done;
use super::super::sql::{execute, rows};
use super::PostgresOperator;
use crate::admin_token::AdminToken;
use crate::store::fresh;
use crate::store::interface::StoreError;
use crate::store::operator::{AdminTokenOperator, AdminTokenRecord};
use crate::store::sql::{millis, time};

impl AdminTokenOperator for PostgresOperator {
    fn create_admin_token(
        &mut self,
        name: Option<&str>,
        now: UnixMillis,
    ) -> Result<(String, AdminToken), StoreError> {
        let (id, token) = fresh::admin_token()?;
        let digest = token.digest();
        self.run(async {
            execute(
                &self.desk.pool.client().await?,
                "INSERT INTO admin_tokens (id, name, digest, created_at) VALUES ($1, $2, $3, $4)",
                &[&id, &name, &digest.as_slice(), &millis(now)],
            )
            .await
        })?;
        Ok((id, token))
    }

    fn admin_tokens(&self) -> Result<Vec<AdminTokenRecord>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT id, name, created_at, revoked_at FROM admin_tokens \
                       ORDER BY created_at DESC, seq DESC";
            rows(&client, sql, &[]).await?.iter().map(record).collect()
        })
    }

    fn revoke_admin_token(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let found = self.run(async {
            execute(
                &self.desk.pool.client().await?,
                "UPDATE admin_tokens SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1",
                &[&id, &millis(now)],
            )
            .await
        })?;
        Ok(found > 0)
    }
}

fn record(row: &Row) -> Done<AdminTokenRecord> {
    Ok(AdminTokenRecord {
        id: row.try_get(0)?,
        name: row.try_get(1)?,
        created_at: time(row.try_get(2)?),
        revoked_at: row.try_get::<_, Option<i64>>(3)?.map(time),
    })
}
