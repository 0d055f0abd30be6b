//! Where clients are notified.

use std::fmt;

use idgate_core::UnixMillis;
use idgate_core::shell::webhook::SigningSecret;

/// What came of a removal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Removed {
    /// It is gone.
    Yes,
    /// There is none.
    NoEndpoint,
    /// The caller's key is not in force any more; nothing changed.
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
    /// What operators think of its host.
    pub host_status: HostStatus,
    /// Why, when it is rejected.
    pub host_review_note: Option<String>,
}

/// What a client wants its endpoint to be.
#[derive(Clone)]
pub struct EndpointRequest {
    /// A URL that may be notified.
    pub url: String,
    /// The host in it.
    pub host: String,
    /// The secret that the client brings.
    pub secret: Option<SigningSecret>,
    /// A fresh one, for a client that brings none and has used the one it was provisioned with.
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
    /// Nobody has looked at it: deliveries are held.
    Pending,
    /// It is notified.
    Approved,
    /// It is not.
    Rejected,
}

impl HostStatus {
    /// Its name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
        }
    }

    /// From what is stored; what is not known is not approved.
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
