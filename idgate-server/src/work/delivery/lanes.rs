//! How many concurrent exchanges each client may have, so that slow or hostile receivers delay only
//! their own clients.
//!
//! A client starts with one; after a success it may have eight, after a failure two. All clients
//! whose last exchange failed or was slow share one half of the places. The other half stays
//! available to healthy and new clients, however many are unhealthy.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::{
    MAX_REMEMBERED_RECEIVERS, WEBHOOK_PLACES, WEBHOOK_PLACES_PER_HOST, WEBHOOK_PLACES_UNWELL,
};
use idgate_store::{Lane, Leased, Wanted};

/// The state of a client's exchanges.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Health {
    /// No exchange yet.
    #[default]
    New,
    /// The last one was delivered in time.
    Well,
    /// The last one was delivered, but slowly.
    Slow,
    /// The last one failed.
    Failing,
}

impl Health {
    const fn places(self) -> usize {
        match self {
            Self::New => 1,
            Self::Well | Self::Slow => 8,
            Self::Failing => 2,
        }
    }

    /// Whether the client is confined to one half of the places.
    const fn is_unwell(self) -> bool {
        matches!(self, Self::Slow | Self::Failing)
    }
}

/// All exchanges in progress.
#[derive(Clone, Default)]
pub(super) struct Lanes(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    clients: HashMap<String, Client>,
    hosts: HashMap<String, usize>,
}

#[derive(Default)]
struct Client {
    health: Health,
    under_way: usize,
}

/// The place of one exchange; dropping it frees it.
pub(super) struct Place {
    lanes: Lanes,
    client_id: String,
    host: String,
}

impl Lanes {
    /// How many exchanges each client may start now: one for each in turn, then more for those that
    /// may have more.
    pub(super) fn share_out(&self, lanes: Vec<Lane>) -> Vec<Wanted> {
        let mut open = self.open();
        if open.clients.len() > MAX_REMEMBERED_RECEIVERS {
            open.clients.retain(|_, client| client.under_way > 0);
        }
        let mut shares = Shares::of(&open);
        let mut wanted: Vec<usize> = vec![0; lanes.len()];
        for turn in 0..Health::Well.places() {
            for (lane, count) in lanes.iter().zip(&mut wanted) {
                let (health, under_way) = open
                    .clients
                    .get(&lane.client_id)
                    .map_or((Health::New, 0), |client| (client.health, client.under_way));
                let places = if lane.held { 1 } else { health.places() };
                let has_room = *count == turn && under_way.saturating_add(*count) < places;
                if has_room && shares.take(&lane.host, health) {
                    *count = count.saturating_add(1);
                }
            }
        }
        let wanted = lanes.into_iter().zip(wanted).filter(|(_, count)| *count > 0);
        wanted.map(|(lane, count)| Wanted { client_id: lane.client_id, count }).collect()
    }

    /// Counts an exchange that starts.
    pub(super) fn take(&self, leased: &Leased) -> Place {
        let host = host_of(&leased.target.url).to_owned();
        let mut open = self.open();
        let client = open.clients.entry(leased.client_id.clone()).or_default();
        client.under_way = client.under_way.saturating_add(1);
        let at_host = open.hosts.entry(host.clone()).or_default();
        *at_host = at_host.saturating_add(1);
        drop(open);
        Place { lanes: self.clone(), client_id: leased.client_id.clone(), host }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Records how it went.
    pub(super) fn judge(&self, health: Health) {
        if let Some(client) = self.lanes.open().clients.get_mut(&self.client_id) {
            client.health = health;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.lanes.open();
        if let Some(client) = open.clients.get_mut(&self.client_id) {
            client.under_way = client.under_way.saturating_sub(1);
        }
        if let Some(at_host) = open.hosts.get_mut(&self.host) {
            *at_host = at_host.saturating_sub(1);
            if *at_host == 0 {
                open.hosts.remove(&self.host);
            }
        }
    }
}

/// The remaining shared places.
struct Shares {
    left: usize,
    left_unwell: usize,
    hosts: HashMap<String, usize>,
}

impl Shares {
    fn of(open: &Open) -> Self {
        let under_way = |of: &dyn Fn(&&Client) -> bool| {
            open.clients.values().filter(of).map(|c| c.under_way).sum()
        };
        let (all, unwell): (usize, usize) =
            (under_way(&|_| true), under_way(&|client| client.health.is_unwell()));
        Self {
            left: WEBHOOK_PLACES.saturating_sub(all),
            left_unwell: WEBHOOK_PLACES_UNWELL.saturating_sub(unwell),
            hosts: open.hosts.clone(),
        }
    }

    /// Takes a place if there is one.
    fn take(&mut self, host: &str, health: Health) -> bool {
        let at_host = self.hosts.entry(host.to_owned()).or_default();
        let is_unwell = health.is_unwell();
        if self.left == 0
            || *at_host >= WEBHOOK_PLACES_PER_HOST
            || (is_unwell && self.left_unwell == 0)
        {
            return false;
        }
        *at_host = at_host.saturating_add(1);
        self.left = self.left.saturating_sub(1);
        if is_unwell {
            self.left_unwell = self.left_unwell.saturating_sub(1);
        }
        true
    }
}

/// Host and port of a serialized URL.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    match authority.rfind(':').filter(|_| !authority.ends_with(']')) {
        Some(port) => authority.get(..port).unwrap_or(authority),
        None => authority,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use idgate_core::UnixMillis;
    use idgate_core::shell::webhook::SigningSecret;

    use super::*;
    use idgate_store::Target;

    fn lane(client: usize, host: &str) -> Lane {
        Lane { client_id: format!("cli_{client:04}"), host: host.into(), held: false }
    }

    fn leased(client: usize, host: &str) -> Leased {
        let secret = SigningSecret::new("a secret of some length").unwrap();
        let url = format!("https://{host}:8443/hook");
        Leased {
            seq: 1,
            id: "whf_1".into(),
            client_id: format!("cli_{client:04}"),
            body: "{}".into(),
            attempts: 0,
            is_replay: false,
            lease_until: UnixMillis(0),
            parent: None,
            target: Arc::new(Target { url, livemode: true, secret, previous: None }),
        }
    }

    fn counts(lanes: &Lanes, due: Vec<Lane>) -> Vec<usize> {
        lanes.share_out(due).into_iter().map(|wanted| wanted.count).collect()
    }

    #[test]
    fn a_new_client_has_one_place_a_healthy_one_eight_and_a_failing_one_two() {
        let lanes = Lanes::default();
        assert_eq!(counts(&lanes, vec![lane(1, "a.example")]), [1]);
        let place = lanes.take(&leased(1, "a.example"));
        assert!(counts(&lanes, vec![lane(1, "a.example")]).is_empty());
        place.judge(Health::Well);
        assert_eq!(counts(&lanes, vec![lane(1, "a.example")]), [7]);
        place.judge(Health::Slow);
        assert_eq!(counts(&lanes, vec![lane(1, "a.example")]), [7]);
        place.judge(Health::Failing);
        assert_eq!(counts(&lanes, vec![lane(1, "a.example")]), [1]);
        drop(place);
        assert_eq!(counts(&lanes, vec![lane(1, "a.example")]), [2]);
    }

    #[test]
    fn held_notifications_are_sent_one_by_one() {
        let lanes = Lanes::default();
        lanes.take(&leased(1, "a.example")).judge(Health::Well);
        let held = Lane { held: true, ..lane(1, "a.example") };
        assert_eq!(counts(&lanes, vec![held.clone()]), [1]);
        let _under_way = lanes.take(&leased(1, "a.example"));
        assert!(counts(&lanes, vec![held]).is_empty());
    }

    #[test]
    fn slow_and_failing_clients_share_half_of_the_places() {
        let lanes = Lanes::default();
        let mut stuck = Vec::new();
        for client in 0..400 {
            let host = format!("h{client}.example");
            let health = if client % 2 == 0 { Health::Slow } else { Health::Failing };
            lanes.take(&leased(client, &host)).judge(health);
            for wanted in lanes.share_out(vec![lane(client, &host)]) {
                stuck.extend((0..wanted.count).map(|_| lanes.take(&leased(client, &host))));
            }
        }
        assert_eq!(stuck.len(), WEBHOOK_PLACES_UNWELL);
        let well: Vec<Lane> = (1000..1300).map(|client| lane(client, "x.example")).collect();
        let spread = |lanes: Vec<Lane>| {
            lanes.into_iter().enumerate().map(|(n, it)| Lane { host: format!("n{n}"), ..it })
        };
        assert_eq!(
            counts(&lanes, spread(well).collect()),
            [1; WEBHOOK_PLACES - WEBHOOK_PLACES_UNWELL]
        );
    }

    #[test]
    fn a_host_that_many_clients_share_has_a_limit() {
        let lanes = Lanes::default();
        let due = (0..100).map(|client| lane(client, "shared.example")).collect();
        assert_eq!(counts(&lanes, due), [1; WEBHOOK_PLACES_PER_HOST]);
        let places: Vec<Place> = (0..WEBHOOK_PLACES_PER_HOST)
            .map(|client| lanes.take(&leased(client, "shared.example")))
            .collect();
        assert!(counts(&lanes, vec![lane(999, "shared.example")]).is_empty());
        assert_eq!(counts(&lanes, vec![lane(999, "other.example")]), [1]);
        drop(places);
        assert_eq!(counts(&lanes, vec![lane(999, "shared.example")]), [1]);
        assert!(lanes.open().hosts.is_empty());
    }

    #[test]
    fn every_client_gets_one_place_before_any_gets_two() {
        let lanes = Lanes::default();
        for client in 0..300 {
            lanes.take(&leased(client, "a.example")).judge(Health::Well);
        }
        let due = (0..300).map(|client| lane(client, &format!("h{client}"))).collect();
        let counts = counts(&lanes, due);
        assert_eq!((counts.len(), counts.iter().sum::<usize>()), (WEBHOOK_PLACES, WEBHOOK_PLACES));
    }

    #[test]
    fn hosts_are_read_from_urls() {
        for (url, host) in [
            ("https://shop.example/hook", "shop.example"),
            ("https://shop.example:8443/a:b", "shop.example"),
            ("http://127.0.0.1:80/", "127.0.0.1"),
            ("https://[::1]:8443/", "[::1]"),
            ("https://[::1]/", "[::1]"),
            ("https://shop.example?x", "shop.example"),
        ] {
            assert_eq!(host_of(url), host);
        }
    }
}
