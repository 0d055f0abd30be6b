//! Where a client is notified, and with which secrets, for whoever sends and whoever changes it.

use deadpool_postgres::GenericClient;
use idgate_core::time::UnixMillis;
use idgate_core::webhook::SigningSecret;

use super::super::keys::secret_place;
use super::super::sql::millis;
use super::super::webhook_endpoints::{Destination, open, place};
use super::error::Done;
use super::sql::row;
use crate::seal::Sealer;

/// Where to send at `now`; `None`: the client has no endpoint.
pub(super) async fn destination(
    on: &impl GenericClient,
    sealer: &Sealer,
    client_id: &str,
    now: UnixMillis,
) -> Done<Option<Destination>> {
    let found = row(
        on,
        "SELECT url, livemode, secret, \
         CASE WHEN previous_until > $2 THEN previous_secret END \
         FROM webhook_endpoints WHERE client_id = $1",
        &[&client_id, &millis(now)],
    )
    .await?;
    let Some(found) = found else { return Ok(None) };
    let previous = found.try_get::<_, Option<&[u8]>>(3)?;
    Ok(Some(Destination {
        url: found.try_get(0)?,
        livemode: found.try_get(1)?,
        secret: open(sealer, place(client_id), found.try_get(2)?)?,
        previous: previous.map(|it| open(sealer, place(client_id), it)).transpose()?,
    }))
}

/// The secret that the client was made with.
pub(super) async fn provisioned(
    on: &impl GenericClient,
    sealer: &Sealer,
    client_id: &str,
) -> Done<SigningSecret> {
    let sql = "SELECT signing_secret FROM clients WHERE id = $1";
    let sealed = row(on, sql, &[&client_id]).await?;
    let sealed: Vec<u8> = sealed.map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    Ok(open(sealer, secret_place(client_id), &sealed)?)
}
