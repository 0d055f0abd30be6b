//! Who may fetch now: so many in all, and so many from one host, so that one that does not answer
//! holds up nobody who asks another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Fetches of the whole process at a time, each with a body of at most 10 MiB.
pub(super) const IN_ALL: usize = 64;
/// Fetches from one host at a time. Lists are cached and asked once for all who wait, so that few
/// are enough; eight silent hosts are needed to be in everybody's way.
pub(super) const PER_HOST: usize = 8;
/// Hosts that are remembered without being asked.
const IDLE_HOSTS: usize = 64;

pub(super) struct Permits {
    in_all: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// Held while a host is asked.
pub(super) struct HostPermit {
    _one_of_its_host: OwnedSemaphorePermit,
}

impl Permits {
    pub(super) fn new() -> Self {
        Self { in_all: Arc::new(Semaphore::new(IN_ALL)), hosts: Mutex::default() }
    }

    /// Waits for one of the host, and only then for one of all: who waits for a slow host takes
    /// nothing from the others. The second is to be kept as long as the body is.
    pub(super) async fn acquire(&self, host: &str) -> Option<(HostPermit, OwnedSemaphorePermit)> {
        let one_of_its_host = self.of(host).acquire_owned().await.ok()?;
        let one_of_all = self.in_all.clone().acquire_owned().await.ok()?;
        Some((HostPermit { _one_of_its_host: one_of_its_host }, one_of_all))
    }

    fn of(&self, host: &str) -> Arc<Semaphore> {
        // A panic elsewhere leaves the map whole: every change is one call.
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() > IDLE_HOSTS {
            // Whoever holds a permit, or waits for one, holds the semaphore.
            hosts.retain(|_, permits| Arc::strong_count(permits) > 1);
        }
        hosts.entry(host.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(PER_HOST))).clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn a_host_without_permits_left_takes_none_from_others() {
        let permits = Arc::new(Permits::new());
        let mut held = Vec::new();
        for _ in 0..PER_HOST {
            held.push(permits.acquire("silent.example").await.unwrap());
        }
        let waiting: Vec<_> = (0..IN_ALL)
            .map(|_| {
                let permits = permits.clone();
                tokio::spawn(async move { permits.acquire("silent.example").await })
            })
            .collect();
        assert!(timeout(SHORT, permits.acquire("silent.example")).await.is_err());
        for host in ["a.example", "b.example"] {
            held.push(timeout(SHORT, permits.acquire(host)).await.unwrap().unwrap());
        }
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn a_host_is_forgotten_when_nobody_asks_it() {
        let permits = Permits::new();
        let held = permits.acquire("held.example").await.unwrap();
        for number in 0..3 * IDLE_HOSTS {
            drop(permits.acquire(&format!("{number}.example")).await.unwrap());
        }
        assert!(permits.hosts.lock().unwrap().len() <= IDLE_HOSTS + 1);
        assert!(permits.hosts.lock().unwrap().contains_key("held.example"));
        drop(held);
    }
}
