//! Sessions, whosever they are.

use idgate_core::time::UnixMillis;

use super::SqliteOperator;
use crate::store::interface::StoreError;
use crate::store::operator::{SessionLine, SessionOperator};
use crate::store::reports;
use crate::store::sql::number;
use crate::store::statement::rows;

impl SessionOperator for SqliteOperator {
    fn session_report(&self, id: &str, now: UnixMillis) -> Result<Option<Vec<u8>>, StoreError> {
        let found = reports::find(&self.main, id, None, now)?;
        found.map(|sealed| sealed.open(&self.sealer)).transpose()
    }

    fn list_sessions(&self, limit: usize) -> Result<Vec<SessionLine>, StoreError> {
        rows(&self.main, SessionLine::NEWEST, [number(limit)], |row| {
            SessionLine::read::<_, StoreError>(row)
        })
    }
}
