//! Requests with made-up names wait in one lane, and do not delay others.

use std::sync::mpsc;
use std::thread::available_parallelism;

use super::*;
use crate::lanes::LaneKey;

/// More than may wait in all lanes together.
const MADE_UP: u64 = 20_000;

/// Keeps every thread for short reads busy until the returned value is dropped.
fn occupy(store: &Store) -> Vec<mpsc::Sender<()>> {
    let threads = available_parallelism().map_or(1, usize::from).max(2);
    let (began, begins) = mpsc::channel();
    let mut held = Vec::new();
    for _ in 0..threads {
        let (release, released) = mpsc::channel::<()>();
        let began = began.clone();
        let read = store.sqlite().readers.read(LaneKey::GATEWAY, move |_| {
            began.send(()).unwrap();
            let _ = released.recv();
            Ok(())
        });
        // The read has a waiting caller; otherwise it would be skipped.
        std::thread::spawn(move || read.wait());
        held.push(release);
    }
    (0..threads).for_each(|_| begins.recv().unwrap());
    held
}

#[tokio::test]
async fn unknown_names_wait_in_one_lane_and_known_ones_in_their_own() {
    let mut fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    // Names that were known before a restart are known after it.
    fixture.reopen(NOW);
    let store = fixture.store();
    let held = occupy(store);
    let (mut keys, mut sessions) = (Vec::new(), Vec::new());
    for n in 0..MADE_UP {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&n.to_be_bytes());
        keys.push(store.authenticate(&digest, NOW));
        sessions.push(store.session(&SessionId::new(format!("ses_{n}"))));
    }
    let known = store.authenticate(&fixture.live_key.digest(), NOW);
    let wallet = store.session(session.id());
    drop(held);
    assert!(known.await.unwrap().is_some());
    assert!(wallet.await.unwrap().is_some());
    let mut waited = 0;
    for key in keys {
        waited += usize::from(matches!(key.await, Ok(None)));
    }
    for session in sessions {
        waited += usize::from(matches!(session.await, Ok(None)));
    }
    assert_eq!(waited, 512, "the others got a busy error");
}

#[tokio::test]
async fn a_new_key_is_a_known_name_and_a_revoked_one_is_not() {
    let fixture = Fixture::new();
    let store = fixture.store();
    let digest = fixture.live_key.digest();
    assert_ne!(store.sqlite().known_keys.lane(digest), LaneKey::STRANGERS);
    let id = fixture.live.key_id.clone();
    store.revoke_api_key(&fixture.live, &id, NOW).await.unwrap();
    assert!(store.authenticate(&digest, NOW).await.unwrap().is_none());
    assert_eq!(store.sqlite().known_keys.lane(digest), LaneKey::STRANGERS);
}
