//! What is read rarely and used by every request: trust, keys, certificates. Each has a number in the
//! database that grows with every change; it is asked for each time, so that a change is in force on
//! every node with its next read, and what belongs to it is read again only when it is another.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;
use tokio_postgres::IsolationLevel;

use super::error::Done;
use super::sql::row;
use super::{Shared, certificates, gateway_keys, trust};
use crate::gateway_key::{Certificates, GatewayKeys};
use crate::store::held::Latest;

/// The latest of each.
#[derive(Default)]
pub(super) struct All {
    trust: Latest<TrustSnapshot>,
    gateway_keys: Latest<GatewayKeys>,
    certificates: Latest<Certificates>,
}

/// What has to be there before the first request: a key that signs.
pub(super) async fn begin(shared: &Shared, now: UnixMillis) -> Done<()> {
    gateway_keys::ensure(&shared.pool, &shared.sealer, now).await
}

/// The id of the admin token with this digest unless it is revoked.
pub(super) async fn admin(shared: &Shared, digest: &[u8; 32]) -> Done<Option<String>> {
    let client = shared.pool.client().await?;
    let sql = "SELECT id FROM admin_tokens WHERE digest = $1 AND revoked_at IS NULL";
    let found = row(&client, sql, &[&digest.as_slice()]).await?;
    Ok(found.map(|row| row.try_get(0)).transpose()?)
}

pub(super) async fn trust(shared: &Shared) -> Done<Arc<TrustSnapshot>> {
    let mut client = shared.pool.client().await?;
    let number = trust::version(&client).await?;
    if let Some(held) = shared.held.trust.at_least(number) {
        return Ok(held);
    }
    let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let moment = moment.read_only(true).start().await?;
    let snapshot = trust::snapshot(&moment, shared.pinned_live).await?;
    Ok(shared.held.trust.keep(snapshot))
}

pub(super) async fn gateway_keys(shared: &Shared) -> Done<Arc<GatewayKeys>> {
    let mut client = shared.pool.client().await?;
    let number = gateway_keys::number(&client).await?;
    if let Some(held) = shared.held.gateway_keys.at_least(number) {
        return Ok(held);
    }
    let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let moment = moment.read_only(true).start().await?;
    let keys = gateway_keys::read(&moment, &shared.sealer).await?;
    Ok(shared.held.gateway_keys.keep(keys))
}

pub(super) async fn certificates(shared: &Shared) -> Done<Arc<Certificates>> {
    let mut client = shared.pool.client().await?;
    let number = certificates::version(&client).await?;
    if let Some(held) = shared.held.certificates.at_least(number) {
        return Ok(held);
    }
    let moment = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let moment = moment.read_only(true).start().await?;
    let certificates = certificates::read(&moment, &shared.sealer).await?;
    Ok(shared.held.certificates.keep(certificates))
}

/// Says how many certificates were removed.
pub(super) async fn forget_certificates(shared: &Shared, now: UnixMillis) -> Done<usize> {
    shared.pool.transact(&now, |now, tx| Box::pin(certificates::forget(tx, *now))).await
}

/// Says how many private halves were wiped.
pub(super) async fn erase_signers(shared: &Shared, now: UnixMillis) -> Done<usize> {
    let wiped = gateway_keys::wipe(&shared.pool.client().await?, now).await?;
    Ok(usize::try_from(wiped).unwrap_or(usize::MAX))
}
