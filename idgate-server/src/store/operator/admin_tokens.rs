//! Admin tokens: made, listed and revoked.

use idgate_core::time::UnixMillis;

use crate::admin_token::AdminToken;
use crate::store::interface::StoreError;

/// What the operator does with admin tokens.
pub trait AdminTokenOperator {
    /// Makes a token: its id, and the only moment at which it is readable.
    fn create_admin_token(
        &mut self,
        name: Option<&str>,
        now: UnixMillis,
    ) -> Result<(String, AdminToken), StoreError>;

    /// All tokens, newest first.
    fn admin_tokens(&self) -> Result<Vec<AdminTokenRecord>, StoreError>;

    /// Stops a token at once; `false`: there is none of that id. Doing it again changes nothing.
    fn revoke_admin_token(&mut self, id: &str, now: UnixMillis) -> Result<bool, StoreError>;
}

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
