//! Webhook endpoints of clients.

use std::fmt;

use idgate_core::UnixMillis;
use idgate_core::shell::webhook::SigningSecret;

/// The outcome of removing an endpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Removed {
    /// It was removed.
    Yes,
    /// The client has no endpoint.
    NoEndpoint,
    /// The caller's key is no longer active; nothing changed.
    KeyGone,
}

/// An endpoint as its client sees it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EndpointRecord {
    /// The client.
    pub client_id: String,
    /// Serialised as it was parsed.
    pub url: String,
    /// When the client first had one.
    pub created_at: UnixMillis,
    /// The operators' verdict on its host.
    pub host_status: HostStatus,
    /// Why the host was rejected.
    pub host_review_note: Option<String>,
}

/// The endpoint that a client requests.
#[derive(Clone)]
pub struct EndpointRequest {
    /// A URL that notifications may be sent to.
    pub url: String,
    /// The host in it.
    pub host: String,
    /// The secret that the client supplies.
    pub secret: Option<SigningSecret>,
    /// A new secret, for a client that supplies none and has used the one it was provisioned with.
    pub fresh: SigningSecret,
}

impl fmt::Debug for EndpointRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndpointRequest({})", self.host)
    }
}

/// The verdict on a host (specification 3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostStatus {
    /// Not reviewed yet: deliveries are held.
    Pending,
    /// Notifications are sent to it.
    Approved,
    /// No notifications are sent to it.
    Rejected,
}

impl HostStatus {
    /// The name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
        }
    }

    /// Parses the stored verdict. An unknown one counts as not approved.
    pub(crate) fn of(stored: Option<&str>) -> Self {
        match stored {
            Some("APPROVED") => Self::Approved,
            Some(_) => Self::Rejected,
            None => Self::Pending,
        }
    }
}

impl fmt::Display for HostStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
