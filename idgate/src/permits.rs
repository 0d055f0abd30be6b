//! Permits for fetches: limits in total, for the credentials of one issuer, and for each issuer at
//! one host. A host that does not answer therefore delays only fetches from that host, and an
//! issuer with many such hosts delays only its own credentials.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use idgate_core::{IssuerId, Need};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::Url;

use crate::egress::Room;
use crate::limits::{
    FETCHED_BYTES, FETCHED_BYTES_PER_ISSUER, FETCHES, FETCHES_PER_HOST, FETCHES_PER_ISSUER,
    MAX_IDLE_PARTIES,
};

pub(super) struct Permits {
    in_all: Arc<Semaphore>,
    /// The memory for large bodies.
    room: Room,
    shares: Mutex<HashMap<Share, Arc<Semaphore>>>,
}

/// The issuers that a fetch is for, and its host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Place {
    /// The trust entries whose credentials named the host: one entry, unless several name the same
    /// list.
    issuers: Vec<IssuerId>,
    /// Without its port, because the owner of a host has all of its ports. After a redirect the
    /// fetch continues with the same permit.
    host: String,
}

impl Place {
    pub(super) fn of(need: &Need, issuers: Vec<IssuerId>) -> Self {
        let url = Url::parse(need.uri()).ok();
        // Addresses that cannot be asked anyway share one place.
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default().to_owned();
        Self { issuers, host }
    }
}

/// The fetches that are counted together. A host's fetches are counted separately for each issuer,
/// so that a fetch that waits for its issuer's share does not block other issuers from the host.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Share {
    issuers: Vec<IssuerId>,
    of: Of,
}

/// The kind of a count.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Of {
    /// All fetches of these issuers.
    Issuers,
    /// Their fetches from this host.
    Host(String),
    /// The memory units of their large bodies.
    Bodies,
}

/// Held while a host is asked, or its name looked up.
pub(super) struct PlacePermit {
    _of_its_host: OwnedSemaphorePermit,
    _of_its_issuer: OwnedSemaphorePermit,
    room: Room,
}

impl PlacePermit {
    /// The memory for a large body.
    pub(super) fn room(&self) -> &Room {
        &self.room
    }
}

impl Permits {
    pub(super) fn new() -> Self {
        let (in_all, room) = (Arc::new(Semaphore::new(FETCHES)), Room::of(FETCHED_BYTES));
        Self { in_all, room, shares: Mutex::default() }
    }

    /// How many permits are taken, and how many there are.
    pub(super) fn used(&self) -> (usize, usize) {
        (FETCHES.saturating_sub(self.in_all.available_permits()), FETCHES)
    }

    /// Waits for a permit of the host, then for one of the issuer, and last for one of the total,
    /// so that a fetch that waits for a slow host takes nothing from others. Keep the second
    /// returned value as long as the body.
    pub(super) async fn acquire(
        &self,
        place: Place,
    ) -> Option<(PlacePermit, OwnedSemaphorePermit)> {
        let Place { issuers, host } = place;
        let share = |of| Share { issuers: issuers.clone(), of };
        let of_its_host =
            self.of(share(Of::Host(host)), FETCHES_PER_HOST).acquire_owned().await.ok()?;
        let of_its_issuer =
            self.of(share(Of::Issuers), FETCHES_PER_ISSUER).acquire_owned().await.ok()?;
        let one_of_all = self.in_all.clone().acquire_owned().await.ok()?;
        let own = self.of(share(Of::Bodies), Room::units(FETCHED_BYTES_PER_ISSUER));
        let room = self.room.shared_by(own);
        let permit = PlacePermit { _of_its_host: of_its_host, _of_its_issuer: of_its_issuer, room };
        Some((permit, one_of_all))
    }

    fn of(&self, share: Share, permits: usize) -> Arc<Semaphore> {
        // Every change of the map is one call, so a panic elsewhere leaves it consistent.
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.len() > MAX_IDLE_PARTIES {
            // Every holder of a permit, and every waiter, holds the semaphore.
            shares.retain(|_, permits| Arc::strong_count(permits) > 1);
        }
        shares.entry(share).or_insert_with(|| Arc::new(Semaphore::new(permits))).clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use idgate_core::CredentialFormat;
    use tokio::time::timeout;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    fn place(issuer: &str, host: &str) -> Place {
        Place { issuers: vec![IssuerId::new(issuer)], host: host.into() }
    }

    async fn at_once(
        permits: &Permits,
        place: Place,
    ) -> Option<(PlacePermit, OwnedSemaphorePermit)> {
        timeout(SHORT, permits.acquire(place)).await.ok().flatten()
    }

    #[tokio::test]
    async fn a_host_without_permits_left_takes_none_from_others() {
        let permits = Arc::new(Permits::new());
        let silent = place("issuer", "silent.example");
        let mut held = Vec::new();
        for _ in 0..FETCHES_PER_HOST {
            held.push(at_once(&permits, silent.clone()).await.unwrap());
        }
        let waiting: Vec<_> = (0..FETCHES)
            .map(|_| {
                let (permits, silent) = (permits.clone(), silent.clone());
                tokio::spawn(async move { permits.acquire(silent).await })
            })
            .collect();
        assert!(at_once(&permits, silent).await.is_none());
        for host in ["a.example", "b.example"] {
            held.push(at_once(&permits, place("issuer", host)).await.unwrap());
        }
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn an_issuer_has_half_of_all_whatever_hosts_it_names() {
        let permits = Permits::new();
        let mut held = Vec::new();
        for host in 0..FETCHES_PER_ISSUER {
            held.push(at_once(&permits, place("one", &format!("{host}.example"))).await.unwrap());
        }
        assert!(at_once(&permits, place("one", "more.example")).await.is_none());
        for _ in 0..FETCHES_PER_HOST {
            held.push(at_once(&permits, place("other", "1.example")).await.unwrap());
        }
    }

    #[tokio::test]
    async fn an_issuer_has_half_of_the_room_for_large_bodies_whatever_else_is_asked_for() {
        let permits = Permits::new();
        let (one, _one) = at_once(&permits, place("one", "a.example")).await.unwrap();
        let (again, _again) = at_once(&permits, place("one", "b.example")).await.unwrap();
        let (other, _other) = at_once(&permits, place("other", "a.example")).await.unwrap();
        let held = one.room().take(FETCHED_BYTES_PER_ISSUER).unwrap();
        assert!(again.room().take(1).is_err());
        let others = other.room().take(FETCHED_BYTES_PER_ISSUER).unwrap();
        drop((held, others));
        assert!(again.room().take(FETCHED_BYTES_PER_ISSUER).is_ok());
    }

    #[tokio::test]
    async fn one_host_on_many_ports_has_one_share() {
        let permits = Permits::new();
        let at = |port: usize| {
            let uri = format!("https://Lists.example:{port}/{port}");
            let need = Need::StatusList { uri, format: CredentialFormat::SdJwtVc };
            Place::of(&need, vec![IssuerId::new("issuer")])
        };
        let mut held = Vec::new();
        for port in 1..=FETCHES_PER_HOST {
            held.push(at_once(&permits, at(port)).await.unwrap());
        }
        assert!(at_once(&permits, at(443)).await.is_none());
        held.pop();
        assert!(at_once(&permits, at(443)).await.is_some());
    }

    #[tokio::test]
    async fn the_counter_of_an_idle_host_is_dropped() {
        let permits = Permits::new();
        let held = permits.acquire(place("issuer", "held.example")).await.unwrap();
        for number in 0..3 * MAX_IDLE_PARTIES {
            let place = place("issuer", &format!("{number}.example"));
            drop(permits.acquire(place).await.unwrap());
        }
        let shares = permits.shares.lock().unwrap();
        assert!(shares.len() <= MAX_IDLE_PARTIES + 3, "{}", shares.len());
        assert!(shares.keys().any(|share| share.of == Of::Host("held.example".into())));
        drop(held);
    }
}
