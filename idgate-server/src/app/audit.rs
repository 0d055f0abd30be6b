//! A tenant reads its audit log.

use super::{App, AppError};
use idgate_store::{AuditPage, Caller};

impl App {
    /// At most `limit` entries of the caller's chain, newest first, from `cursor` on.
    ///
    /// # Errors
    /// The cursor was not given for this list, or is too old.
    pub async fn audit_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AuditPage, AppError> {
        Ok(self.store.audit_page(caller, cursor, limit, self.now()).await?)
    }
}
