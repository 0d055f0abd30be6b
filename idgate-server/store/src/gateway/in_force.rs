//! Trust, signing keys and certificates in force, which every request needs. The cached value is
//! used once its number is known to be the latest.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_core::shell::TrustSnapshot;

use super::{Engine, Store};
use crate::cache::{Cache, Extent, Numbered};
use crate::db::Db;
use crate::env::UseCase;
use crate::failure::Done;
use crate::gateway_key::{Certificates, GatewayKeys};
use crate::shared_reads::SharedReads;
use crate::trust::entries;
use crate::types::{InForce, Read, Write};
use crate::version_numbers::Numbers;
use crate::{certificates, gateway_keys};
use idgate_base::clock::Moment;

/// Trust, keys and certificates. Each is the same `Arc` as long as nothing changes.
impl Store {
    /// All three, each as of `since` or later, so that a change takes effect with the next request.
    pub fn in_force(&self, since: Moment) -> Read<'_, InForce> {
        let numbers = self.numbers(since);
        Box::pin(async move {
            let numbers = numbers.await?;
            let (trust, gateway_keys, certificates) = tokio::try_join!(
                self.trust_of(numbers),
                self.gateway_keys_of(numbers),
                self.certificates_of(numbers),
            )?;
            Ok(InForce { trust, gateway_keys, certificates })
        })
    }

    /// The trust snapshot in force.
    pub fn trust(&self) -> Read<'_, Arc<TrustSnapshot>> {
        let numbers = self.numbers(Moment::now());
        Box::pin(async move { self.trust_of(numbers.await?).await })
    }

    /// The gateway's signing keys in force.
    pub fn gateway_keys(&self) -> Read<'_, Arc<GatewayKeys>> {
        let numbers = self.numbers(Moment::now());
        Box::pin(async move { self.gateway_keys_of(numbers.await?).await })
    }

    /// The certificates that may sign, those of the gateway and of its clients.
    pub fn certificates(&self) -> Read<'_, Arc<Certificates>> {
        let numbers = self.numbers(Moment::now());
        Box::pin(async move { self.certificates_of(numbers.await?).await })
    }

    /// Erases certificates that were replaced so long ago that no session can name them, with their
    /// private keys, from every file. Returns how many certificates were erased.
    pub fn forget_certificates(&self, now: UnixMillis) -> Write<'_, usize> {
        self.erase_soon(now, |now, db, _| Box::pin(certificates::forget(db, *now)))
    }

    /// Erases the private keys of retired signing keys whose last session has ended at `now`.
    /// Returns how many were erased.
    pub fn erase_signers(&self, now: UnixMillis) -> Write<'_, usize> {
        self.erase_soon(now, |now, db, _| Box::pin(gateway_keys::wipe(db, *now)))
    }
}

impl InForce {
    /// The numbers under which it was read.
    pub(crate) fn numbers(&self) -> Numbers {
        Numbers {
            trust: self.trust.number(),
            gateway_keys: self.gateway_keys.number(),
            certificates: self.certificates.number(),
        }
    }
}

impl Store {
    /// The latest trust, keys and certificates that this gateway knows. `None`: it knows of a later
    /// change that it has not loaded.
    pub(super) fn last_in_force(&self) -> Option<InForce> {
        let cache = &self.env.in_force;
        let numbers = cache.noted.last()?;
        Some(InForce {
            trust: cache.trust.at_least(numbers.trust)?,
            gateway_keys: cache.gateway_keys.at_least(numbers.gateway_keys)?,
            certificates: cache.certificates.at_least(numbers.certificates)?,
        })
    }

    fn trust_of(&self, numbers: Numbers) -> Read<'_, Arc<TrustSnapshot>> {
        self.current(&self.env.in_force.trust, numbers.trust, |(), db, env| {
            Box::pin(latest(
                db,
                &env.in_force.trust,
                |numbers| numbers.trust,
                async || entries::snapshot(db, env.pinned_live).await,
            ))
        })
    }

    fn gateway_keys_of(&self, numbers: Numbers) -> Read<'_, Arc<GatewayKeys>> {
        self.current(&self.env.in_force.gateway_keys, numbers.gateway_keys, |(), db, env| {
            let number = |numbers: Numbers| numbers.gateway_keys;
            Box::pin(latest(db, &env.in_force.gateway_keys, number, async || {
                gateway_keys::read(db, &env.sealer).await
            }))
        })
    }

    fn certificates_of(&self, numbers: Numbers) -> Read<'_, Arc<Certificates>> {
        self.current(&self.env.in_force.certificates, numbers.certificates, |(), db, env| {
            let number = |numbers: Numbers| numbers.certificates;
            Box::pin(latest(db, &env.in_force.certificates, number, async || {
                certificates::read(db, &env.sealer).await
            }))
        })
    }

    /// The cached value if its number is `wanted` or later. Otherwise `load` reads it.
    fn current<T: Numbered + Send + Sync + 'static>(
        &self,
        cache: &Cache<T>,
        wanted: u64,
        load: UseCase<(), Arc<T>>,
    ) -> Read<'_, Arc<T>> {
        match cache.at_least(wanted) {
            Some(held) => Box::pin(async move { Ok(held) }),
            None => self.share(&cache.loads, Extent::Moment, load),
        }
    }

    /// The numbers as of `since` or later.
    fn numbers(&self, since: Moment) -> Read<'_, Numbers> {
        let cache = &self.env.in_force;
        match cache.noted.since(since) {
            Some(numbers) => Box::pin(async move { Ok(numbers) }),
            None => self.share(&cache.numbers, Extent::Row, |(), db, env| {
                Box::pin(async move {
                    let before = Moment::now();
                    Ok(env.in_force.noted.note(before, Numbers::read(db).await?))
                })
            }),
        }
    }

    /// One read, shared by all requests that ask before it begins.
    fn share<T: Clone + Send + 'static>(
        &self,
        reads: &Arc<SharedReads<T>>,
        extent: Extent,
        work: UseCase<(), T>,
    ) -> Read<'static, T> {
        match &self.engine {
            Engine::Sqlite(store) => store.share(reads, extent, work),
            Engine::Postgres(store) => store.share(reads, extent, work),
        }
    }
}

/// The cached value if it is the latest at this moment. Otherwise `load` reads it. The number is
/// read again, because a request that joined later may know a later one.
async fn latest<T: Numbered>(
    db: &Db<'_>,
    cache: &Cache<T>,
    number: fn(Numbers) -> u64,
    load: impl AsyncFnOnce() -> Done<T>,
) -> Done<Arc<T>> {
    match cache.at_least(number(Numbers::read(db).await?)) {
        Some(held) => Ok(held),
        None => Ok(cache.keep(load().await?)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::conformance::{Backend as _, Fixture, NOW, PostgresDatabase};
    use idgate_base::clock::Moment;

    #[tokio::test]
    async fn numbers_read_with_a_key_or_a_session_serve_its_request() {
        if !PostgresDatabase::is_there() {
            return;
        }
        let fixture = Fixture::<PostgresDatabase>::new();
        let key = fixture.operator().create_client("shop", true, None, NOW).unwrap().api_key;
        let (store, digest) = (fixture.store(), key.digest());
        let is_known = |since| store.env.in_force.noted.since(since).is_some();
        let caller = store.authenticate(&digest, NOW).await.unwrap().unwrap();
        assert!(is_known(caller.since), "nothing has to be asked for");
        let session = fixture.session(&caller).await;
        let found = store.authenticate_for(&digest, session.id(), NOW).await.unwrap();
        assert!(is_known(found.unwrap().0.since));
        let before = Moment::now();
        assert!(!is_known(before), "an earlier read does not serve it");
        assert!(store.session(session.id()).await.unwrap().is_some());
        assert!(is_known(before));
    }
}
