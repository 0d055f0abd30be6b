//! Trust, signing keys and certificates in force, which every request needs.

use std::sync::Arc;

use idgate_core::time::UnixMillis;
use idgate_core::trust::TrustSnapshot;

use super::{Engine, Store};
use crate::gateway_key::{Certificates, GatewayKeys};
use crate::types::{InForce, Read, Write};
use crate::{certificates, gateway_keys};
use idgate_base::clock::Moment;

/// Trust, keys and certificates. Each is the same `Arc` while nothing changed.
impl Store {
    /// All three, each in a state of `since` or later, so that a change is in force with the next request.
    pub fn in_force(&self, since: Moment) -> Read<'_, InForce> {
        match &self.engine {
            Engine::Sqlite(store) => store.in_force(since),
            Engine::Postgres(store) => store.in_force(since),
        }
    }

    /// The trust snapshot in force.
    pub fn trust(&self) -> Read<'_, Arc<TrustSnapshot>> {
        match &self.engine {
            Engine::Sqlite(store) => store.trust(),
            Engine::Postgres(store) => store.trust(),
        }
    }

    /// The gateway's signing keys in force.
    pub fn gateway_keys(&self) -> Read<'_, Arc<GatewayKeys>> {
        match &self.engine {
            Engine::Sqlite(store) => store.gateway_keys(),
            Engine::Postgres(store) => store.gateway_keys(),
        }
    }

    /// The certificates that may sign, of the gateway and of its clients.
    pub fn certificates(&self) -> Read<'_, Arc<Certificates>> {
        match &self.engine {
            Engine::Sqlite(store) => store.certificates(),
            Engine::Postgres(store) => store.certificates(),
        }
    }

    /// Erases certificates that were replaced so long ago that no session can name them, and their
    /// private keys, from every file. Says how many certificates those were.
    pub fn forget_certificates(&self, now: UnixMillis) -> Write<'_, usize> {
        self.erase_soon(now, |now, db, _| Box::pin(certificates::forget(db, *now)))
    }

    /// Erases the private halves of retired signing keys whose last session is over at `now`, and says
    /// how many there were.
    pub fn erase_signers(&self, now: UnixMillis) -> Write<'_, usize> {
        self.erase_soon(now, |now, db, _| Box::pin(gateway_keys::wipe(db, *now)))
    }
}
