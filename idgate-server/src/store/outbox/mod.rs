//! Notifications that wait to be sent: written in the transaction that settles the session, leased
//! for one attempt at a time, removed when delivered, dead letters when given up.
//!
//! ```text
//! settle ──> queued ──lease──> attempt ──> delivered: removed
//!              ^                  ├──────> queued again, later
//!              │                  └──────> dead letter ──30 days──> removed
//!              └ held while its host is PENDING     └──retry──> one attempt
//! ```

mod dead_letters;
mod queue;

use std::sync::Arc;

use idgate_core::session::Settlement;
use idgate_core::time::UnixMillis;
use idgate_core::webhook::{Notification, SigningSecret};
use rusqlite::{Connection, named_params};
use tokio::sync::Notify;

pub use self::dead_letters::{DeadLetter, DeadLetterPage, Replay};
use super::lanes::Whose;
use super::{Caller, PageError, Read, SqliteStore, StoreError, Write, millis};

/// Why a notification was given up without an attempt.
const HOST_REJECTED: &str = "host_rejected";
/// The same, after the longest wait for a review.
const HOST_NOT_APPROVED: &str = "host_not_approved";
/// The client has no endpoint, or is revoked.
const ENDPOINT_MISSING: &str = "endpoint_missing";

/// A client with notifications that are due.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lane {
    /// The client.
    pub client_id: String,
    /// Where they go.
    pub host: String,
    /// Whether the first one waited for the review of its host: those go one by one, in order.
    pub held: bool,
}

/// How many notifications of a client to lease.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wanted {
    /// The client.
    pub client_id: String,
    /// At most so many.
    pub count: usize,
}

/// A notification leased for one attempt.
#[derive(Clone, Debug)]
pub struct Leased {
    /// Its place in the outbox.
    pub seq: i64,
    /// `whf_…`: the same for every attempt.
    pub id: String,
    /// The client.
    pub client_id: String,
    /// What is signed and sent.
    pub body: String,
    /// How often it failed.
    pub attempts: u32,
    /// Whether it is a dead letter that somebody retries.
    pub is_replay: bool,
    /// When the lease ends; names it, too.
    pub lease_until: UnixMillis,
    /// Where to send it.
    pub target: Arc<Target>,
}

/// Where a client's notifications go, and what signs them.
#[derive(Debug)]
pub struct Target {
    /// The endpoint.
    pub url: String,
    /// Its client's mode.
    pub livemode: bool,
    /// In force.
    pub secret: SigningSecret,
    /// Replaced less than a day ago.
    pub previous: Option<SigningSecret>,
}

/// What an attempt came to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// The receiver has it.
    Delivered,
    /// It failed; the text is of the fixed vocabulary.
    Failed {
        /// Why.
        error: String,
        /// When to try again; `None`: never. A retried dead letter is not tried again.
        again_at: Option<UnixMillis>,
    },
}

/// The use cases of the outbox.
pub trait OutboxStore {
    /// Rings after a commit that left something to send. What operators do in other processes does
    /// not ring.
    fn outbox_bell(&self) -> Arc<Notify>;

    /// Makes everything due that a process had leased when it died. For the start, when no other
    /// process can be at it.
    fn release_leases(&self, now: UnixMillis) -> Write<'_, usize>;

    /// Clients with notifications that are due at `now` and may be sent or given up; oldest first.
    fn due_lanes(&self, now: UnixMillis) -> Read<'_, Vec<Lane>>;

    /// Leases notifications until `lease_until`, oldest first. Host and client are looked at in the
    /// same transaction: what may not be sent is held or given up instead.
    fn lease(
        &self,
        wanted: Vec<Wanted>,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Write<'_, Vec<Leased>>;

    /// Ends a lease with what the attempt came to. `false`: the lease was lost, or the notification
    /// is gone; nothing changed.
    fn end_lease(
        &self,
        seq: i64,
        lease_until: UnixMillis,
        verdict: Verdict,
        now: UnixMillis,
    ) -> Write<'_, bool>;

    /// Gives up what has been queued since `before` or longer for hosts that nobody reviewed, at
    /// most `limit`; says how many.
    fn give_up_unreviewed(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, usize>;

    /// Removes dead letters from before `before`, at most `limit`; says how many.
    fn remove_dead_letters(&self, before: UnixMillis, limit: usize) -> Write<'_, usize>;

    /// At most `limit` dead letters of this caller and mode, newest first, from `cursor` on.
    fn dead_letters(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, DeadLetterPage, PageError>;

    /// Asks for one attempt to deliver a dead letter of this caller; `None`: there is none of that
    /// id.
    fn replay_dead_letter(
        &self,
        caller: &Caller,
        id: &str,
        now: UnixMillis,
    ) -> Write<'_, Option<Replay>>;
}

/// The notification of a session that just settled, ready to be stored.
pub(super) struct Notice {
    id: String,
    session_id: String,
    client_id: String,
    body: String,
    settled_at: UnixMillis,
}

impl Notice {
    pub(super) fn of(ended: &Settlement<'_>) -> Self {
        let Notification { session_id, client_id, .. } = ended.notification();
        Self {
            // There is one notification per session, so its id follows from the session's.
            id: format!("whf_{}", session_id.strip_prefix("ses_").unwrap_or(session_id)),
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
             queued_at, held, due_at, failed_at, failure_seq, error_message) \
             SELECT :id, :session_id, e.client_id, e.livemode, :body, :at, h.status IS NULL, \
             iif(h.status = 'REJECTED', NULL, :at), iif(h.status = 'REJECTED', :at, NULL), \
             iif(h.status = 'REJECTED', \
                 (SELECT coalesce(max(failure_seq), 0) + 1 FROM webhook_deliveries), NULL), \
             iif(h.status = 'REJECTED', :rejected, NULL) \
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

/// Removes what a deleted session would still say.
pub(super) fn remove_of_session(main: &Connection, session_id: &str) -> Result<(), StoreError> {
    main.prepare_cached("DELETE FROM webhook_deliveries WHERE session_id = ?1")?
        .execute([session_id])?;
    Ok(())
}

/// Notes that a client's queued notifications now wait for a review, if they do.
pub(super) fn hold_if_pending(main: &Connection, client_id: &str) -> Result<(), StoreError> {
    main.prepare_cached(
        "UPDATE webhook_deliveries SET held = 1 WHERE client_id = ?1 AND failed_at IS NULL \
         AND NOT EXISTS (SELECT 1 FROM webhook_endpoints AS e \
         JOIN webhook_hosts AS h ON h.host = e.host WHERE e.client_id = ?1)",
    )?
    .execute([client_id])?;
    Ok(())
}

/// Makes dead letters of what waits for a host that was rejected; says how many. An attempt under
/// way ends as it will.
pub(super) fn give_up_host(
    main: &Connection,
    host: &str,
    now: UnixMillis,
) -> Result<usize, StoreError> {
    let among = "client_id IN (SELECT client_id FROM webhook_endpoints WHERE host = ?3)";
    let statement = format!("{GIVE_UP} AND {among}");
    Ok(main.prepare_cached(&statement)?.execute((millis(now), HOST_REJECTED, host))?)
}

/// Makes dead letters, at ?1 for the reason ?2, of what is queued and not leased.
const GIVE_UP: &str = "UPDATE webhook_deliveries SET due_at = NULL, lease_until = NULL, \
     failed_at = ?1, error_message = ?2, failure_seq = seq + \
     (SELECT coalesce(max(failure_seq), 0) FROM webhook_deliveries) \
     WHERE failed_at IS NULL AND coalesce(lease_until, 0) <= ?1";

impl OutboxStore for SqliteStore {
    fn outbox_bell(&self) -> Arc<Notify> {
        self.outbox_bell.clone()
    }

    fn release_leases(&self, now: UnixMillis) -> Write<'_, usize> {
        self.writer.submit(move |batch| queue::release(batch.main, now))
    }

    fn due_lanes(&self, now: UnixMillis) -> Read<'_, Vec<Lane>> {
        self.readers.read_long(Whose::GATEWAY, move |reader| queue::due_lanes(&reader.main, now))
    }

    fn lease(
        &self,
        wanted: Vec<Wanted>,
        now: UnixMillis,
        lease_until: UnixMillis,
    ) -> Write<'_, Vec<Leased>> {
        let sealer = self.sealer.clone();
        self.writer
            .submit(move |batch| queue::lease(batch.main, &sealer, &wanted, now, lease_until))
    }

    fn end_lease(
        &self,
        seq: i64,
        lease_until: UnixMillis,
        verdict: Verdict,
        now: UnixMillis,
    ) -> Write<'_, bool> {
        self.writer.submit(move |batch| queue::end(batch.main, seq, lease_until, &verdict, now))
    }

    fn give_up_unreviewed(
        &self,
        before: UnixMillis,
        limit: usize,
        now: UnixMillis,
    ) -> Write<'_, usize> {
        self.writer.submit(move |batch| queue::give_up_unreviewed(batch.main, before, limit, now))
    }

    fn remove_dead_letters(&self, before: UnixMillis, limit: usize) -> Write<'_, usize> {
        self.writer.submit(move |batch| dead_letters::remove(batch.main, before, limit))
    }

    fn dead_letters(
        &self,
        caller: &Caller,
        cursor: Option<&str>,
        limit: usize,
        now: UnixMillis,
    ) -> Read<'_, DeadLetterPage, PageError> {
        self.dead_letter_page(caller, cursor, limit, now)
    }

    fn replay_dead_letter(
        &self,
        caller: &Caller,
        id: &str,
        now: UnixMillis,
    ) -> Write<'_, Option<Replay>> {
        let (whose, caller, id) = (Whose::of(&caller.client_id), caller.clone(), id.to_owned());
        let replayed = self.writer.submit_for(whose, move |batch| {
            let whose = Some((caller.client_id.as_str(), caller.livemode));
            dead_letters::replay(batch.main, &id, whose, now)
        });
        Box::pin(async move {
            let replayed = replayed.await?;
            self.outbox_bell.notify_one();
            Ok(replayed)
        })
    }
}
