//! Logs once a day which certificates of the gateway and its clients expire soon.

use std::sync::Arc;
use std::time::Duration;

use idgate_core::UnixMillis;
use tokio::sync::watch;

use super::ticks;
use idgate_base::clock::Clock;
use idgate_store::Store;
use idgate_store::gateway_key::{CertifiedKey, RENEW_BEFORE_MS, Registration};

const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// Watches the certificates of one gateway.
#[derive(Clone)]
pub struct CertificateWatch {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
}

impl CertificateWatch {
    /// Watches the certificates in `store`, using `clock`.
    pub fn new(store: Arc<Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Runs until `stop` says so or its sender is gone.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        ticks::repeat(EVERY, stop, || self.look()).await;
    }

    async fn look(&self) {
        let now = self.clock.now();
        match self.store.certificates().await {
            Ok(certificates) => {
                certificates.keys.iter().for_each(|key| tell(key, now));
                certificates.registrations.iter().for_each(|one| tell_registration(one, now));
            }
            Err(error) => tracing::error!(%error, "cannot read the certificates"),
        }
    }
}

fn tell(key: &CertifiedKey, now: UnixMillis) {
    let until = key.certificate.valid_until;
    if !is_due(key, now) {
        return;
    }
    let whose = if key.client_id.is_empty() { "gateway" } else { &key.client_id };
    if key.certificate.is_valid_at(now) {
        tracing::warn!(%until, whose, "a certificate expires soon; renew it with `idgate keys csr`");
    } else {
        tracing::error!(
            %until,
            whose,
            "a certificate has expired, and sessions that need it are refused; renew it with \
             `idgate keys csr`"
        );
    }
}

fn tell_registration(registration: &Registration, now: UnixMillis) {
    let whose = registration.whose();
    let end = registration.certificate.expires_at;
    let Some(until) = end.filter(|until| until.since(now) < RENEW_BEFORE_MS) else { return };
    if registration.certificate.is_valid_at(now) {
        tracing::warn!(%until, %whose, "a registration certificate expires soon; renew it");
    } else {
        tracing::error!(%until, %whose, "a registration certificate has expired and is not sent");
    }
}

fn is_due(key: &CertifiedKey, now: UnixMillis) -> bool {
    key.replaced_at.is_none() && key.certificate.valid_until.since(now) < RENEW_BEFORE_MS
}
