//! Notifications as rows, written in the transaction that settles the session.

pub(super) mod dead_letters;
pub(super) mod give_up;
pub(super) mod pending;
pub(super) mod queue;

use idgate_core::UnixMillis;
use idgate_core::shell::Settlement;
use idgate_core::shell::webhook::Notification;

/// The reason for giving up a notification without an attempt: its host was rejected.
pub(super) const HOST_REJECTED: &str = "host_rejected";
/// The host was not approved within the longest wait for a review.
pub(super) const HOST_NOT_APPROVED: &str = "host_not_approved";
/// The client has no endpoint, or is revoked.
pub(super) const ENDPOINT_MISSING: &str = "endpoint_missing";

/// The notification of a session that just settled, ready to be stored.
pub(super) struct Notice {
    pub(super) id: String,
    pub(super) session_id: String,
    pub(super) client_id: String,
    pub(super) body: String,
    pub(super) settled_at: UnixMillis,
}

impl Notice {
    pub(super) fn of(ended: &Settlement<'_>) -> Self {
        let Notification { session_id, client_id, .. } = ended.notification();
        Self {
            id: notification_id(session_id),
            session_id: session_id.to_owned(),
            client_id: client_id.to_owned(),
            body: ended.notification().to_json(),
            settled_at: ended.at,
        }
    }
}

/// There is one notification per session, so its id is derived from the session's.
pub fn notification_id(session_id: &str) -> String {
    format!("whf_{}", session_id.strip_prefix("ses_").unwrap_or(session_id))
}
