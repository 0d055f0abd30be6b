//! Webhook endpoints of clients, and their secrets. A replaced secret signs for one more day.

use idgate_core::UnixMillis;
use idgate_core::shell::webhook::SigningSecret;

use super::db::{Db, Row, sql};
use super::failure::{Done, Failure};
use super::keys;
use super::sql::millis;
use super::types::{Caller, EndpointRecord, EndpointRequest, HostStatus, StoreError, Target};
use crate::audit_chain::{AuditEvent, AuditStatus};
use crate::seal::{Place, Sealer};

/// How long a replaced secret signs alongside the new one (decisions 11).
pub(super) const OVERLAP_MS: u64 = 24 * 60 * 60 * 1000;

/// Where one client's notifications go at present.
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

/// The destination at `now`. `None`: the client has no endpoint.
pub(super) async fn destination(
    db: &Db<'_>,
    sealer: &Sealer,
    client_id: &str,
    now: UnixMillis,
) -> Done<Option<Destination>> {
    let sql = sql("SELECT url, livemode, secret, \
                   CASE WHEN previous_until > $2 THEN previous_secret END \
                   FROM webhook_endpoints WHERE client_id = $1");
    let read = |row: &Row<'_>| {
        let (secret, previous): (Vec<u8>, Option<Vec<u8>>) = (row.get(2)?, row.get(3)?);
        Ok(Destination {
            url: row.get(0)?,
            livemode: row.get(1)?,
            secret: open(sealer, place(client_id), &secret)?,
            previous: previous.map(|it| open(sealer, place(client_id), &it)).transpose()?,
        })
    };
    db.one(sql, &[&client_id, &millis(now)], read).await
}

/// The endpoint of a client in its mode, in the form that the client reads.
pub(super) async fn read(db: &Db<'_>, caller: &Caller) -> Done<Option<EndpointRecord>> {
    let sql = sql("SELECT e.client_id, e.url, e.created_at, h.status, h.note \
                   FROM webhook_endpoints AS e LEFT JOIN webhook_hosts AS h ON h.host = e.host \
                   WHERE e.client_id = $1 AND e.livemode = $2");
    let read = |row: &Row<'_>| {
        Ok(EndpointRecord {
            client_id: row.get(0)?,
            url: row.get(1)?,
            created_at: row.time(2)?,
            host_status: HostStatus::of(row.get::<Option<String>>(3)?.as_deref()),
            host_review_note: row.get(4)?,
        })
    };
    db.one(sql, &[&caller.client_id.as_str(), &caller.livemode], read).await
}

/// The destination at `now`, and the operators' verdict on its host.
pub(super) async fn target(
    db: &Db<'_>,
    sealer: &Sealer,
    caller: &Caller,
    now: UnixMillis,
) -> Done<Option<(Target, HostStatus)>> {
    let Some(record) = read(db, caller).await? else { return Ok(None) };
    let found = destination(db, sealer, caller.client_id.as_str(), now).await?;
    Ok(found.map(|to| (to.into_target(), record.host_status)))
}

/// Stores the endpoint that a client requests, with the client's secret or a new one.
pub(super) async fn put(
    db: &Db<'_>,
    sealer: &Sealer,
    caller: &Caller,
    wish: &EndpointRequest,
    now: UnixMillis,
) -> Done<(EndpointRecord, SigningSecret)> {
    let client_id = caller.client_id.as_str();
    let current = destination(db, sealer, client_id, now).await?.map(|it| it.secret);
    let secret = match wish.secret_after(current.as_ref()) {
        Some(secret) => secret,
        None => provisioned(db, sealer, client_id).await?,
    };
    let replaces = current.is_some_and(|current| current.expose() != secret.expose());
    let sealed = sealer.seal(place(client_id), secret.expose().as_bytes())?;
    let sql = sql(
        "INSERT INTO webhook_endpoints AS e (client_id, livemode, url, host, created_at, secret) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (client_id) DO UPDATE SET \
         url = excluded.url, host = excluded.host, secret = excluded.secret, \
         previous_secret = CASE WHEN $7 THEN e.secret ELSE e.previous_secret END, \
         previous_until = CASE WHEN $7 THEN $8 ELSE e.previous_until END",
    );
    let (created, until) = (millis(now), millis(now.plus(OVERLAP_MS)));
    db.run(
        sql,
        &[
            &client_id,
            &caller.livemode,
            &wish.url,
            &wish.host,
            &created,
            &sealed,
            &replaces,
            &until,
        ],
    )
    .await?;
    hold_if_pending(db, client_id).await?;
    let record = read(db, caller).await?;
    let record = record.ok_or_else(|| Failure::failed("an endpoint is not stored"))?;
    Ok((record, secret))
}

/// Notes that a client's queued notifications now wait for a review, if they do.
async fn hold_if_pending(db: &Db<'_>, client_id: &str) -> Done<()> {
    let sql = sql("UPDATE webhook_deliveries SET held = true WHERE client_id = $1 \
                   AND failed_at IS NULL AND NOT EXISTS (SELECT 1 FROM webhook_endpoints AS e \
                   JOIN webhook_hosts AS h ON h.host = e.host WHERE e.client_id = $1)");
    db.run(sql, &[&client_id]).await.map(drop)
}

/// The audit entry for the change.
pub(super) fn set_event(caller: &Caller, now: UnixMillis) -> AuditEvent {
    AuditEvent::of_client(AuditStatus::WebhookEndpointSet, now).by(&caller.key_id)
}

/// The secret that the client was created with.
pub(super) async fn provisioned(
    db: &Db<'_>,
    sealer: &Sealer,
    client_id: &str,
) -> Done<SigningSecret> {
    let sql = sql("SELECT signing_secret FROM clients WHERE id = $1");
    let sealed = db.one(sql, &[&client_id], |row| row.get::<Vec<u8>>(0)).await?;
    Ok(open(sealer, keys::secret_place(client_id), &sealed.unwrap_or_default())?)
}

impl EndpointRequest {
    /// The secret that is in force after `current`. `None`: the one that the client was created
    /// with.
    pub(super) fn secret_after(&self, current: Option<&SigningSecret>) -> Option<SigningSecret> {
        match (&self.secret, current) {
            (Some(brought), _) => Some(brought.clone()),
            (None, Some(_)) => Some(self.fresh.clone()),
            (None, None) => None,
        }
    }
}

/// The seal's place of the secrets of a client's endpoint.
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
