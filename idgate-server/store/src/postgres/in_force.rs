//! Trust, keys and certificates as they are now: what is held, once its number is known to be the latest.

use std::future::Future;
use std::sync::Arc;

use idgate_core::trust::TrustSnapshot;
use tokio::sync::oneshot;

use super::error::{Done, panicked};
use super::gateway::PostgresStore;
use super::shared::Shared;
use crate::cache::Numbered;
use crate::gateway_key::{Certificates, GatewayKeys};
use crate::postgres::cache;
use crate::postgres::cache::{All, Kept};
use crate::types::{InForce, Read, StoreError};
use crate::version_numbers::Numbers;
use idgate_base::clock::Moment;

impl PostgresStore {
    /// All three as they were at `since` or later, after one look at their numbers at most.
    pub(crate) fn in_force(&self, since: Moment) -> Read<'_, InForce> {
        let noted = self.shared.cache.noted.since(since);
        let (trust, keys) = (self.trust_of(noted), self.gateway_keys_of(noted));
        let certificates = self.certificates_of(noted);
        Box::pin(async move {
            let (trust, gateway_keys, certificates) = tokio::try_join!(trust, keys, certificates)?;
            Ok(InForce { trust, gateway_keys, certificates })
        })
    }

    pub(crate) fn trust(&self) -> Read<'_, Arc<TrustSnapshot>> {
        self.trust_of(None)
    }

    pub(crate) fn gateway_keys(&self) -> Read<'_, Arc<GatewayKeys>> {
        self.gateway_keys_of(None)
    }

    pub(crate) fn certificates(&self) -> Read<'_, Arc<Certificates>> {
        self.certificates_of(None)
    }

    fn trust_of(&self, noted: Option<Numbers>) -> Read<'_, Arc<TrustSnapshot>> {
        self.latest(noted, |all| &all.trust, |numbers| numbers.trust, cache::read_trust)
    }

    fn gateway_keys_of(&self, noted: Option<Numbers>) -> Read<'_, Arc<GatewayKeys>> {
        let number = |numbers: Numbers| numbers.gateway_keys;
        self.latest(noted, |all| &all.gateway_keys, number, cache::read_gateway_keys)
    }

    fn certificates_of(&self, noted: Option<Numbers>) -> Read<'_, Arc<Certificates>> {
        let number = |numbers: Numbers| numbers.certificates;
        self.latest(noted, |all| &all.certificates, number, cache::read_certificates)
    }

    /// What is held of one of them, once it is known to be the latest, or what `read` reads.
    fn latest<T, F>(
        &self,
        noted: Option<Numbers>,
        of: fn(&All) -> &Kept<T>,
        number: fn(Numbers) -> u64,
        read: fn(Arc<Shared>) -> F,
    ) -> Read<'_, Arc<T>>
    where
        T: Numbered + Send + Sync + 'static,
        F: Future<Output = Done<T>> + Send + 'static,
    {
        let asked = noted.ok_or_else(|| self.numbers());
        Box::pin(async move {
            let number = number(match asked {
                Ok(noted) => noted,
                Err(asked) => asked.await.unwrap_or_else(|_| Err(panicked()))?,
            });
            if let Some(held) = of(&self.shared.cache).latest.at_least(number) {
                return Ok(held);
            }
            let reading = self.run_read(move |shared| async move {
                let kept = of(&shared.cache);
                let _reading = kept.reading.lock().await;
                match kept.latest.at_least(number) {
                    Some(held) => Ok(held),
                    None => Ok(kept.latest.keep(read(shared.clone()).await?)),
                }
            });
            reading.await
        })
    }

    /// Asks for the numbers, with all who ask before the statement begins.
    fn numbers(&self) -> oneshot::Receiver<Result<Numbers, StoreError>> {
        let (asker, asked) = oneshot::channel();
        if self.shared.cache.numbers.join(asker) {
            drop(self.threads.spawn(cache::answer(self.shared.clone())));
        }
        asked
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::conformance::{Backend as _, Fixture, NOW, PostgresDatabase};
    use idgate_base::clock::Moment;

    #[tokio::test]
    async fn what_comes_with_a_key_or_a_session_serves_its_request() {
        if !PostgresDatabase::is_there() {
            return;
        }
        let fixture = Fixture::<PostgresDatabase>::new();
        let key = fixture.operator().create_client("shop", true, None, NOW).unwrap().api_key;
        let (store, digest) = (fixture.store(), key.digest());
        let is_known = |since| store.postgres().shared.cache.noted.since(since).is_some();
        let caller = store.authenticate(&digest, NOW).await.unwrap().unwrap();
        assert!(is_known(caller.since), "nothing has to be asked for");
        let session = fixture.session(&caller).await;
        let found = store.authenticate_for(&digest, session.id(), NOW).await.unwrap();
        assert!(is_known(found.unwrap().0.since));
        let before = Moment::now();
        assert!(!is_known(before), "what was read before does not serve it");
        assert!(store.session(session.id()).await.unwrap().is_some());
        assert!(is_known(before));
    }
}
