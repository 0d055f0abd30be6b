//! Admin tokens: made, listed and revoked.

use idgate_core::ids::random_id;
use idgate_core::time::UnixMillis;

use super::super::interface::StoreError;
use super::super::sql::{begin, millis, time};
use super::OperatorStore;
use crate::admin_token::AdminToken;
use crate::entropy::OsEntropy;

/// An admin token as operators see it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AdminTokenRecord {
    /// `adt_…`
    pub id: String,
    /// The operator's name for it.
    pub name: Option<String>,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When it stopped.
    pub revoked_at: Option<UnixMillis>,
}

impl OperatorStore {
    /// Makes a token: its id, and the only moment at which it is readable.
    pub fn create_admin_token(
        &mut self,
        name: Option<&str>,
        now: UnixMillis,
    ) -> Result<(String, AdminToken), StoreError> {
        let exhausted = |error| StoreError::Failed(format!("{error}"));
        let id = random_id("adt_", &mut OsEntropy).map_err(exhausted)?;
        let token = AdminToken::generate(&mut OsEntropy).map_err(exhausted)?;
        self.main.execute(
            "INSERT INTO admin_tokens (id, name, digest, created_at) VALUES (?1, ?2, ?3, ?4)",
            (&id, name, token.digest(), millis(now)),
        )?;
        Ok((id, token))
    }

    /// All tokens, newest first.
    pub fn admin_tokens(&self) -> Result<Vec<AdminTokenRecord>, StoreError> {
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

    /// Stops a token at once; `false`: there is none of that id. Doing it again changes nothing.
    pub fn revoke_admin_token(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError> {
        let transaction = begin(&mut self.main)?;
        let found = transaction.execute(
            "UPDATE admin_tokens SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
            (id, millis(now)),
        )?;
        transaction.commit()?;
        Ok(found > 0)
    }
}
