//! Sessions, whosever they are.

use idgate_core::time::UnixMillis;

use super::SqliteOperator;
use crate::store::interface::StoreError;
use crate::store::operator::{SessionLine, SessionOperator};
use crate::store::reports;
use crate::store::sql::{number, time};

impl SessionOperator for SqliteOperator {
    fn session_report(&self, id: &str, now: UnixMillis) -> Result<Option<Vec<u8>>, StoreError> {
        let found = reports::find(&self.main, id, None, now)?;
        found.map(|sealed| sealed.open(&self.sealer)).transpose()
    }
    fn list_sessions(&self, limit: usize) -> Result<Vec<SessionLine>, StoreError> {
        let mut statement = self.main.prepare_cached(
            "SELECT id, client_id, status, reason, created_at, expires_at, formats, issuer_ids \
             FROM sessions ORDER BY created_at DESC, rowid DESC LIMIT ?1",
        )?;
        let mut rows = statement.query([number(limit)])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            lines.push(SessionLine {
                id: row.get(0)?,
                client_id: row.get(1)?,
                status: row.get(2)?,
                reason: row.get(3)?,
                created_at: time(row.get(4)?),
                expires_at: time(row.get(5)?),
                formats: SessionLine::texts(&row.get::<_, String>(6)?)?,
                issuer_ids: SessionLine::texts(&row.get::<_, String>(7)?)?,
            });
        }
        Ok(lines)
    }
}
