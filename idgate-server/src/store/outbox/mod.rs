//! Notifications as rows: written in the transaction that settles the session.

pub(super) mod dead_letters;
pub(super) mod give_up;
pub(super) mod pending;
pub(super) mod queue;

use idgate_core::session::Settlement;
use idgate_core::time::UnixMillis;
use idgate_core::webhook::Notification;
use rusqlite::{Connection, named_params};

use super::sql::millis;
use super::types::StoreError;

/// Why a notification was given up without an attempt.
pub(super) const HOST_REJECTED: &str = "host_rejected";
/// The same, after the longest wait for a review.
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

    /// Queues it if the client has an endpoint. A host that is rejected makes it a dead letter.
    pub(super) fn insert(&self, main: &Connection) -> Result<(), StoreError> {
        main.prepare_cached(
            "INSERT INTO webhook_deliveries (id, session_id, client_id, livemode, body, \
             queued_at, held, due_at, failed_at, failure_seq, error_message, parent_span) \
             SELECT :id, :session_id, e.client_id, e.livemode, :body, :at, h.status IS NULL, \
             iif(h.status = 'REJECTED', NULL, :at), iif(h.status = 'REJECTED', :at, NULL), \
             iif(h.status = 'REJECTED', \
                 (SELECT coalesce(max(failure_seq), 0) + 1 FROM webhook_deliveries), NULL), \
             iif(h.status = 'REJECTED', :rejected, NULL), \
             (SELECT s.parent_span FROM sessions AS s WHERE s.id = :session_id) \
             FROM webhook_endpoints AS e JOIN clients AS c ON c.id = e.client_id \
             LEFT JOIN webhook_hosts AS h ON h.host = e.host \
             WHERE e.client_id = :client_id AND c.revoked_at IS NULL",
        )?
        .execute(named_params! {
            ":id": self.id,
            ":session_id": self.session_id,
            ":client_id": self.client_id,
            ":body": self.body,
            ":at": millis(self.settled_at),
            ":rejected": HOST_REJECTED,
        })?;
        Ok(())
    }
}

/// Removes what a deleted session that settled at `settled_at` would still say.
pub(super) fn remove_of_session(
    main: &Connection,
    session_id: &str,
    settled_at: UnixMillis,
) -> Result<(), StoreError> {
    main.prepare_cached(
        "DELETE FROM webhook_deliveries \
         WHERE failed_at IS NULL AND queued_at = ?1 AND session_id = ?2",
    )?
    .execute((millis(settled_at), session_id))?;
    main.prepare_cached("DELETE FROM webhook_deliveries WHERE failed_at IS NOT NULL AND id = ?1")?
        .execute([notification_id(session_id)])?;
    Ok(())
}

/// There is one notification per session, so its id follows from the session's.
pub(crate) fn notification_id(session_id: &str) -> String {
    format!("whf_{}", session_id.strip_prefix("ses_").unwrap_or(session_id))
}
