//! Create, list and revoke admin tokens.

use idgate_core::UnixMillis;

use super::OperatorStore;
use crate::db::{Row, sql};
use crate::failure::Done;
use crate::new_secrets;
use crate::sql::millis;
use crate::types::StoreError;
use idgate_base::admin_token::AdminToken;

/// An admin token as operators see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AdminTokenRecord {
    /// `adt_…`
    pub id: String,
    /// The operator's name for it.
    pub name: Option<String>,
    /// When it was created.
    pub created_at: UnixMillis,
    /// When it was revoked.
    pub revoked_at: Option<UnixMillis>,
}

impl AdminTokenRecord {
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self {
            id: row.get(0)?,
            name: row.get(1)?,
            created_at: row.time(2)?,
            revoked_at: row.time_if_any(3)?,
        })
    }
}

/// Commands about admin tokens.
impl OperatorStore {
    /// Creates a token and returns its id and value. The value is readable only now.
    ///
    /// # Errors
    /// The database or the random number generator failed.
    pub fn create_admin_token(
        &mut self,
        name: Option<&str>,
        now: UnixMillis,
    ) -> Result<(String, AdminToken), StoreError> {
        let (id, token) = new_secrets::admin_token()?;
        let digest = token.digest();
        self.change(async |db| {
            let sql = sql(
                "INSERT INTO admin_tokens (id, name, digest, created_at) VALUES ($1, $2, $3, $4)",
            );
            db.run(sql, &[&id, &name, &digest.as_slice(), &millis(now)]).await
        })?;
        Ok((id, token))
    }

    /// All tokens, newest first.
    ///
    /// # Errors
    /// The database failed.
    pub fn admin_tokens(&self) -> Result<Vec<AdminTokenRecord>, StoreError> {
        self.read(async |db| {
            let sql = sql("SELECT id, name, created_at, revoked_at FROM admin_tokens \
                           ORDER BY created_at DESC, {seq|rowid} DESC");
            db.all(sql, &[], AdminTokenRecord::read).await
        })
    }

    /// Revokes a token immediately. `false`: no token has that id. Repeating it changes nothing.
    ///
    /// # Errors
    /// The database failed.
    pub fn revoke_admin_token(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let found = self.change(async |db| {
            let sql =
                sql("UPDATE admin_tokens SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1");
            db.run(sql, &[&id, &millis(now)]).await
        })?;
        Ok(found > 0)
    }
}
