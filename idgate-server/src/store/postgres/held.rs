//! What is read rarely and used by every request: trust, keys, certificates.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;

use super::Shared;
use super::error::{Done, Failure};
use crate::gateway_key::{Certificates, GatewayKeys};

/// The latest of each.
#[derive(Default)]
pub(super) struct All {}

/// What has to be there before the first request: a key that signs.
pub(super) async fn begin(_shared: &Shared, _now: UnixMillis) -> Done<()> {
    Ok(())
}

/// The id of the admin token with this digest unless it is revoked.
pub(super) async fn admin(_shared: &Shared, _digest: &[u8; 32]) -> Done<Option<String>> {
    Err(Failure::failed("to be written"))
}

pub(super) async fn trust(_shared: &Shared) -> Done<Arc<TrustSnapshot>> {
    Err(Failure::failed("to be written"))
}

pub(super) async fn gateway_keys(_shared: &Shared) -> Done<Arc<GatewayKeys>> {
    Err(Failure::failed("to be written"))
}

pub(super) async fn certificates(_shared: &Shared) -> Done<Arc<Certificates>> {
    Err(Failure::failed("to be written"))
}

pub(super) async fn forget_certificates(_shared: &Shared, _now: UnixMillis) -> Done<usize> {
    Err(Failure::failed("to be written"))
}

pub(super) async fn erase_signers(_shared: &Shared, _now: UnixMillis) -> Done<usize> {
    Err(Failure::failed("to be written"))
}
