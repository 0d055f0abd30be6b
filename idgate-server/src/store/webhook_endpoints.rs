//! Where clients are notified, and with which secrets. A replaced secret signs for one more day.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;
use rusqlite::{Connection, OptionalExtension as _};

use super::interface::{Caller, EndpointRecord, EndpointWish, HostStatus, StoreError, Target};
use super::keys;
use super::sql::{millis, time};
use super::writer::Batch;
use crate::audit::{AuditEvent, AuditStatus};
use crate::seal::{Place, Sealer};

/// How long a replaced secret signs beside the new one (decisions 11).
pub(super) const OVERLAP_MS: u64 = 24 * 60 * 60 * 1000;

/// Where one client's notifications go now.
pub(super) struct Destination {
    pub(super) url: String,
    pub(super) livemode: bool,
    pub(super) secret: SigningSecret,
    pub(super) previous: Option<SigningSecret>,
}

impl Destination {
    pub(super) fn into_target(self) -> Target {
        let Self { url, livemode, secret, previous } = self;
        Target { url, livemode, secret, previous }
    }
}

/// Where to send at `now`; `None`: the client has no endpoint.
pub(super) fn destination(
    main: &Connection,
    sealer: &Sealer,
    client_id: &str,
    now: UnixMillis,
) -> Result<Option<Destination>, StoreError> {
    let found = main
        .prepare_cached(
            "SELECT url, livemode, secret, \
             CASE WHEN previous_until > ?2 THEN previous_secret END \
             FROM webhook_endpoints WHERE client_id = ?1",
        )?
        .query_row((client_id, millis(now)), |row| {
            let secrets: (Vec<u8>, Option<Vec<u8>>) = (row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, row.get(1)?, secrets))
        })
        .optional()?;
    let Some((url, livemode, (secret, previous))) = found else { return Ok(None) };
    let secret = open(sealer, place(client_id), &secret)?;
    let previous = previous.map(|sealed| open(sealer, place(client_id), &sealed)).transpose()?;
    Ok(Some(Destination { url, livemode, secret, previous }))
}

pub(super) fn read(
    main: &Connection,
    caller: &Caller,
) -> Result<Option<EndpointRecord>, StoreError> {
    Ok(main
        .prepare_cached(
            "SELECT e.client_id, e.url, e.created_at, h.status, h.note FROM webhook_endpoints AS e \
             LEFT JOIN webhook_hosts AS h ON h.host = e.host \
             WHERE e.client_id = ?1 AND e.livemode = ?2",
        )?
        .query_row((caller.client_id.as_str(), caller.livemode), |row| {
            Ok(EndpointRecord {
                client_id: row.get(0)?,
                url: row.get(1)?,
                created_at: time(row.get(2)?),
                host_status: HostStatus::of(row.get::<_, Option<String>>(3)?.as_deref()),
                host_review_note: row.get(4)?,
            })
        })
        .optional()?)
}

/// Where to send at `now`, and what operators think of the host.
pub(super) fn target(
    main: &Connection,
    sealer: &Sealer,
    caller: &Caller,
    now: UnixMillis,
) -> Result<Option<(Target, HostStatus)>, StoreError> {
    let Some(record) = read(main, caller)? else { return Ok(None) };
    let found = destination(main, sealer, caller.client_id.as_str(), now)?;
    Ok(found.map(|to| (to.into_target(), record.host_status)))
}

pub(super) fn put(
    batch: &mut Batch<'_>,
    sealer: &Arc<Sealer>,
    caller: &Caller,
    wish: &EndpointWish,
    now: UnixMillis,
) -> Result<Option<(EndpointRecord, SigningSecret)>, StoreError> {
    let (main, client_id) = (batch.main, caller.client_id.as_str());
    if keys::in_force(main, caller, now)?.is_none() {
        return Ok(None);
    }
    let current = destination(main, sealer, client_id, now)?.map(|it| it.secret);
    let secret = match wish.secret_after(current.as_ref()) {
        Some(secret) => secret,
        None => provisioned(main, sealer, client_id)?,
    };
    let replaces = current.is_some_and(|current| current.expose() != secret.expose());
    let sealed = sealer.seal(place(client_id), secret.expose().as_bytes())?;
    main.prepare_cached(
        "INSERT INTO webhook_endpoints (client_id, livemode, url, host, created_at, secret) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (client_id) DO UPDATE SET \
         url = excluded.url, host = excluded.host, secret = excluded.secret, \
         previous_secret = iif(?7, secret, previous_secret), \
         previous_until = iif(?7, ?8, previous_until)",
    )?
    .execute((
        client_id,
        caller.livemode,
        &wish.url,
        &wish.host,
        millis(now),
        sealed,
        replaces,
        millis(now.plus(OVERLAP_MS)),
    ))?;
    hold_if_pending(main, client_id)?;
    let event = AuditEvent::of_client(AuditStatus::WebhookEndpointSet, now);
    batch.audit(client_id, event.by(&caller.key_id))?;
    let record = read(main, caller)?;
    let record = record.ok_or_else(|| StoreError::Failed("an endpoint is not stored".into()))?;
    Ok(Some((record, secret)))
}

/// Notes that a client's queued notifications now wait for a review, if they do.
fn hold_if_pending(main: &Connection, client_id: &str) -> Result<(), StoreError> {
    main.prepare_cached(
        "UPDATE webhook_deliveries SET held = 1 WHERE client_id = ?1 AND failed_at IS NULL \
         AND NOT EXISTS (SELECT 1 FROM webhook_endpoints AS e \
         JOIN webhook_hosts AS h ON h.host = e.host WHERE e.client_id = ?1)",
    )?
    .execute([client_id])?;
    Ok(())
}

/// The secret that the client was made with.
pub(super) fn provisioned(
    main: &Connection,
    sealer: &Sealer,
    client_id: &str,
) -> Result<SigningSecret, StoreError> {
    let sealed: Vec<u8> = main
        .prepare_cached("SELECT signing_secret FROM clients WHERE id = ?1")?
        .query_row([client_id], |row| row.get(0))?;
    open(sealer, keys::secret_place(client_id), &sealed)
}

impl EndpointWish {
    /// The secret that is in force after `current`; `None`: the one that the client was made with.
    pub(super) fn secret_after(&self, current: Option<&SigningSecret>) -> Option<SigningSecret> {
        match (&self.secret, current) {
            (Some(brought), _) => Some(brought.clone()),
            (None, Some(_)) => Some(self.fresh.clone()),
            (None, None) => None,
        }
    }
}

/// Where the secrets of a client's endpoint stand.
pub(super) const fn place(client_id: &str) -> Place<'_> {
    Place { purpose: "webhook_endpoints", object: client_id, client: client_id }
}

pub(super) fn open(
    sealer: &Sealer,
    place: Place<'_>,
    sealed: &[u8],
) -> Result<SigningSecret, StoreError> {
    let client_id = place.client;
    let damaged = || StoreError::Damaged(format!("the signing secret of {client_id} is damaged"));
    let plain = sealer.open(place, sealed).map_err(|_| damaged())?;
    let text = std::str::from_utf8(&plain).map_err(|_| damaged())?;
    SigningSecret::new(text).map_err(|_| damaged())
}
