//! What operators think of the hosts that clients want to be notified at: one verdict per host for
//! the whole gateway, before or after somebody names it.

use idgate_core::time::UnixMillis;

use crate::store::interface::{HostStatus, StoreError};

/// What the operator thinks of hosts.
pub trait WebhookHostOperator {
    /// All hosts by name.
    fn webhook_hosts(&self) -> Result<Vec<HostRecord>, StoreError>;

    /// Stores a verdict on `host`. A rejection makes dead letters of what waits for it; says how
    /// many.
    fn review_webhook_host(
        &mut self,
        host: &str,
        review: Review<'_>,
        now: UnixMillis,
    ) -> Result<usize, StoreError>;

    /// The verdict on the host of a client's endpoint; `None`: it has none.
    fn webhook_host_of(&self, client_id: &str) -> Result<Option<HostStatus>, StoreError>;
}

/// A host that operators reviewed, or that some client named.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HostRecord {
    /// As endpoints have it: lower case, punycode.
    pub host: String,
    /// The verdict.
    pub status: HostStatus,
    /// Why, when it is rejected.
    pub note: Option<String>,
    /// When it was last reviewed.
    pub reviewed_at: Option<UnixMillis>,
    /// Clients whose endpoint is there, live and test.
    pub clients: Vec<String>,
}

/// A verdict to store.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Review<'a> {
    /// Notify it.
    Approve,
    /// Do not, because of this.
    Reject(&'a str),
    /// Forget what was thought of it: it waits for a review again.
    Reset,
}
