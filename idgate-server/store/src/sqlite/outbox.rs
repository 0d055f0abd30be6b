//! Queues and removes notifications together with their session.

use idgate_core::UnixMillis;
use rusqlite::{Connection, OptionalExtension as _, named_params};

use crate::outbox::{HOST_REJECTED, Notice, notification_id};
use crate::sql::millis;
use crate::types::StoreError;

impl Notice {
    /// Queues it if the client has an endpoint. If its host is rejected it becomes a dead letter.
    /// Returns whether it can be sent now.
    pub(crate) fn insert(&self, main: &Connection) -> Result<bool, StoreError> {
        let mut statement = main.prepare_cached(
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
             WHERE e.client_id = :client_id AND c.revoked_at IS NULL \
             RETURNING NOT held AND failed_at IS NULL",
        )?;
        let values = named_params! {
            ":id": self.id,
            ":session_id": self.session_id,
            ":client_id": self.client_id,
            ":body": self.body,
            ":at": millis(self.settled_at),
            ":rejected": HOST_REJECTED,
        };
        let can_be_sent = statement.query_row(values, |row| row.get(0)).optional()?;
        Ok(can_be_sent.unwrap_or(false))
    }
}

/// Removes the notification of a deleted session that settled at `settled_at`.
pub(crate) fn remove_of_session(
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
