//! Reading a tenant's audit log.

use super::{App, AppError};
use idgate_store::{AuditPage, Caller};

impl App {
    /// Up to `limit` entries of the caller's audit chain, newest first, starting at `cursor`.
    ///
    /// # Errors
    /// The cursor was not issued for this list, or is too old.
    pub async fn audit_page(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AuditPage, AppError> {
        Ok(self.store.audit_page(caller, cursor, limit, self.now()).await?)
    }
}
