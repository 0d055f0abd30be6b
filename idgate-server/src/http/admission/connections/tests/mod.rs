//! Which connections are admitted, displaced and counted where.

use std::pin::pin;

use futures_util::FutureExt as _;

use super::*;
use idgate_base::clock::VirtualClock;

fn connections(most: usize, per_peer: usize) -> Arc<Connections> {
    Arc::new(Connections::new(most, per_peer))
}

fn from(connections: &Arc<Connections>, peer: &str) -> Result<Slot, Full> {
    connections.admit(peer.parse().unwrap(), false)
}

#[test]
fn the_longest_silent_stranger_is_displaced_and_a_connection_with_a_key_is_not() {
    let all = connections(8, 100);
    let tenant = from(&all, "192.0.2.1").unwrap();
    tenant.know(None);
    let strangers: Vec<Slot> =
        (0..6).map(|n| from(&all, &format!("198.51.100.{n}")).unwrap()).collect();
    let first_speaks = strangers[0].busy();
    let newcomer = from(&all, "192.0.2.2").unwrap();
    assert!(!strangers[0].is_displaced() && strangers[1].is_displaced());
    drop(first_speaks);
    let another = from(&all, "192.0.2.3").unwrap();
    assert!(strangers[2].is_displaced() && !strangers[0].is_displaced());
    newcomer.know(None);
    // Its place among the strangers is free again.
    let third = from(&all, "192.0.2.4").unwrap();
    assert!(!strangers[3].is_displaced());
    assert!(![&tenant, &newcomer, &another, &third].iter().any(|slot| slot.is_displaced()));
    assert_eq!(all.open().displaced(Standing::Stranger), 2);
}

#[test]
fn busy_strangers_leave_a_quarter_of_the_places_to_others() {
    let all = connections(16, 100);
    let strangers: Vec<Slot> = (0..12).map(|_| from(&all, "192.0.2.1").unwrap()).collect();
    let busy: Vec<Busy> = strangers.iter().map(Slot::busy).collect();
    let newcomers: Vec<Slot> = (0..4).map(|_| from(&all, "192.0.2.2").unwrap()).collect();
    assert!(newcomers.iter().all(|slot| slot.newcomer));
    // Two at a time are on probation; each is displaced by the next.
    let displaced: Vec<bool> = newcomers.iter().map(Slot::is_displaced).collect();
    assert_eq!(displaced, [true, true, false, false]);
    // The one with a key frees a place for another newcomer, and newcomers cannot displace it.
    newcomers[2].know(Some(&TenantId::new("cli_a")));
    let later: Vec<Slot> = (0..10).map(|_| from(&all, "192.0.2.3").unwrap()).collect();
    assert!(!newcomers[2].is_displaced() && newcomers[3].is_displaced());
    assert_eq!(later.iter().filter(|slot| !slot.is_displaced()).count(), 2);
    let proxy = || all.admit([10, 0, 0, 1].into(), true);
    // One place is free; then newcomers are displaced, and finally the silent tenant.
    let proxies: Vec<Slot> = (0..4).map(|_| proxy().unwrap()).collect();
    let proxies_speak: Vec<Busy> = proxies.iter().map(Slot::busy).collect();
    assert!(newcomers[2].is_displaced() && later.iter().all(Slot::is_displaced));
    assert_eq!(proxy().err(), Some(Full::All));
    assert_eq!(from(&all, "192.0.2.2").err(), Some(Full::All));
    drop((busy, proxies_speak));
    assert!(!from(&all, "192.0.2.2").unwrap().newcomer);
}

#[test]
fn busy_newcomers_leave_the_remaining_places_to_others() {
    let all = connections(16, 100);
    let strangers: Vec<Slot> = (0..12).map(|_| from(&all, "192.0.2.1").unwrap()).collect();
    let _busy: Vec<Busy> = strangers.iter().map(Slot::busy).collect();
    let newcomers: Vec<Slot> = (0..2).map(|_| from(&all, "192.0.2.1").unwrap()).collect();
    let _also: Vec<Busy> = newcomers.iter().map(Slot::busy).collect();
    assert_eq!(from(&all, "192.0.2.2").err(), Some(Full::All));
    assert!(all.admit([10, 0, 0, 1].into(), true).is_ok());
}

#[tokio::test]
async fn a_newcomer_without_a_key_is_closed_unless_there_is_room_by_then() {
    const MOMENT: Duration = Duration::from_secs(2);
    let clock = VirtualClock::default();
    let all = connections(16, 100);
    let mut strangers: Vec<Slot> = (0..12).map(|_| from(&all, "192.0.2.1").unwrap()).collect();
    let busy: Vec<Busy> = strangers.iter().map(Slot::busy).collect();
    let (with_key, without) = (from(&all, "192.0.2.2").unwrap(), from(&all, "192.0.2.3").unwrap());
    with_key.know(Some(&TenantId::new("cli_a")));
    assert!(!with_key.is_on_probation() && without.is_on_probation());
    // Whether it is closed when its probation is over.
    let goes = async |slot: &Slot| {
        let mut failed = pin!(slot.probation_failed(&clock, MOMENT));
        assert!(failed.as_mut().now_or_never().is_none());
        clock.advance(2000);
        failed.now_or_never().is_some()
    };
    assert!(goes(&without).await);
    assert!(!goes(&with_key).await);
    drop(busy);
    strangers.pop();
    assert!(!goes(&without).await);
}

#[test]
fn a_client_has_a_share_of_the_reserved_places() {
    let all = connections(32, 100);
    let (a, b) = (TenantId::new("cli_a"), TenantId::new("cli_b"));
    let know = |client: &TenantId| {
        let slot = from(&all, "192.0.2.1").unwrap();
        slot.know(Some(client));
        slot
    };
    let open: Vec<Slot> = [&a, &a, &a, &b].into_iter().map(know).collect();
    let count = |standing| all.open().count(standing);
    assert_eq!((count(Standing::Known), count(Standing::Stranger)), (3, 1));
    drop(open);
    assert!(all.open().is_empty());
}

#[test]
fn networks_are_nested() {
    let all = connections(10_000, 2);
    let mut open = Vec::new();
    let mut admit = |peer: String| {
        let slot = from(&all, &peer).ok()?;
        open.push(slot);
        Some(())
    };
    let of_one_64 = (0..9).filter_map(|n| admit(format!("2001:db8:1:100::{n:x}"))).count();
    let of_one_56 = (1..200).filter_map(|n| admit(format!("2001:db8:1:1{n:02x}::1"))).count();
    let of_one_48 = (2..200).filter_map(|n| admit(format!("2001:db8:1:{n:02x}00::1"))).count();
    assert_eq!((of_one_64, of_one_64 + of_one_56), (2, 8));
    assert_eq!(of_one_64 + of_one_56 + of_one_48, 32);
    assert!(admit("2001:db8:2::1".into()).is_some());
    drop(open);
    assert!(all.open().is_empty());
}
