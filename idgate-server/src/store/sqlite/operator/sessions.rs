//! Sessions, whosever they are.

use idgate_core::time::UnixMillis;

use super::SqliteOperator;
use crate::store::interface::StoreError;
use crate::store::operator::SessionOperator;
use crate::store::reports;

impl SessionOperator for SqliteOperator {
    fn session_report(&self, id: &str, now: UnixMillis) -> Result<Option<Vec<u8>>, StoreError> {
        let found = reports::find(&self.main, id, None, now)?;
        found.map(|sealed| sealed.open(&self.sealer)).transpose()
    }
}
