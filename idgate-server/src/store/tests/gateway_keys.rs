//! The gateway's signing keys: made once, rotated beside a running server, wiped when retired.

use super::erasure::files_with;
use super::*;
use crate::seal::Sealer;
use crate::store::OperatorStore;
use crate::store::gateway_keys::place;

fn operator(fixture: &Fixture) -> OperatorStore {
    OperatorStore::open_existing(fixture.path(), None).unwrap()
}

#[test]
fn the_first_start_makes_a_key_and_later_ones_keep_it() {
    let mut fixture = Fixture::new();
    let first = fixture.store().gateway_keys().wait().unwrap();
    assert!(Arc::ptr_eq(&first, &fixture.store().gateway_keys().wait().unwrap()));
    fixture.close();
    fixture.reopen(NOW);
    let again = fixture.store().gateway_keys().wait().unwrap();
    assert_eq!((again.active.id(), again.version), (first.active.id(), 1));
    assert!(again.retired.is_empty());
}

#[tokio::test]
async fn a_rotation_is_in_force_at_once_and_the_old_key_outlives_its_sessions() {
    let fixture = Fixture::new();
    let old = fixture.store().gateway_keys().wait().unwrap();
    let session = fixture.session(&fixture.live).await;
    let mut operator = operator(&fixture);
    operator.rotate_gateway_key(NOW.plus(10)).unwrap();
    let keys = fixture.store().gateway_keys().wait().unwrap();
    assert_ne!(keys.active.id(), old.active.id());
    let ids = |now| -> Vec<String> { keys.published(now).into_iter().map(|key| key.id).collect() };
    let both = [keys.active.id(), old.active.id()];
    assert_eq!(ids(session.expires_at().minus(1)), both);
    assert_eq!(ids(session.expires_at()), both[..1]);
    let [new, retired] = &operator.gateway_keys().unwrap()[..] else { panic!("two keys") };
    assert_eq!((&*new.id, new.retired_at), (keys.active.id(), None));
    assert_eq!(retired.published_until, Some(session.expires_at()));
}

#[test]
fn a_key_that_signed_for_no_open_session_is_published_no_longer() {
    let fixture = Fixture::new();
    let old = fixture.store().gateway_keys().wait().unwrap();
    operator(&fixture).rotate_gateway_key(NOW).unwrap();
    let keys = fixture.store().gateway_keys().wait().unwrap();
    assert_eq!(keys.published(NOW).len(), 1);
    assert!(keys.find(old.active.id()).is_some());
}

#[test]
fn a_private_key_is_sealed_and_leaves_every_file_when_it_retires() {
    let fixture = Fixture::new();
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    let sql = "SELECT sealed FROM gateway_keys";
    let sealed: Vec<u8> = main.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(main);
    let needle = &sealed[..16];
    assert!(!files_with(fixture.path(), needle).is_empty(), "the search finds what is there");
    let key = InstanceKey::load_or_create(&fixture.path().join("instance.key")).unwrap();
    let id = fixture.store().gateway_keys().wait().unwrap().active.id().to_owned();
    let pkcs8 = Sealer::new(&key).unwrap().open(place(&id), &sealed).unwrap();
    // Where PKCS #8 has the private number.
    assert!(files_with(fixture.path(), &pkcs8[36..68]).is_empty());
    operator(&fixture).rotate_gateway_key(NOW).unwrap();
    assert!(files_with(fixture.path(), needle).is_empty());
}
