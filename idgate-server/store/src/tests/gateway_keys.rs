//! The gateway's signing keys: sealed, and erased when no session needs them any more.

use super::erasure::files_with;
use super::*;
use crate::gateway_keys::place;
use crate::seal::Sealer;

/// Bytes of the sealed private key that signs.
fn needle(fixture: &Fixture) -> Vec<u8> {
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    let sql = "SELECT sealed FROM gateway_keys WHERE retired_at IS NULL";
    let sealed: Vec<u8> = main.query_row(sql, [], |row| row.get(0)).unwrap();
    sealed[..16].to_vec()
}

#[test]
fn a_private_key_is_sealed_and_leaves_every_file_when_it_retires() {
    let fixture = Fixture::new();
    let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
    let sql = "SELECT sealed FROM gateway_keys";
    let sealed: Vec<u8> = main.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(main);
    let needle = needle(&fixture);
    assert!(!files_with(fixture.path(), &needle).is_empty(), "the search finds what is there");
    let key = InstanceKey::load_or_create(&fixture.path().join("instance.key")).unwrap();
    let id = fixture.store().gateway_keys().wait().unwrap().active.id().to_owned();
    let pkcs8 = Sealer::new(&key).unwrap().open(place(&id), &sealed).unwrap();
    // The place of the private number in PKCS #8.
    assert!(files_with(fixture.path(), &pkcs8[36..68]).is_empty());
    fixture.operator().rotate_gateway_key(NOW).unwrap();
    assert!(files_with(fixture.path(), &needle).is_empty());
}

#[tokio::test]
async fn a_retired_key_is_erased_after_its_last_open_session() {
    let fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    let needle = needle(&fixture);
    fixture.operator().rotate_gateway_key(NOW).unwrap();
    assert!(!files_with(fixture.path(), &needle).is_empty());
    assert_eq!(fixture.store().erase_signers(session.expires_at()).await.unwrap(), 1);
    // Truncated after the commit and before the next answer.
    let another = fixture.new_session(&fixture.live, NOW);
    let _ = fixture.store().create_session(&fixture.live, another).await.unwrap();
    assert!(files_with(fixture.path(), &needle).is_empty());
}

#[tokio::test]
async fn a_backup_has_no_retired_signing_key() {
    let fixture = Fixture::new();
    fixture.session(&fixture.live).await;
    let needle = needle(&fixture);
    fixture.operator().rotate_gateway_key(NOW).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    back_up(fixture.path(), &elsewhere.path().join("backup.db")).unwrap();
    assert!(files_with(elsewhere.path(), &needle).is_empty());
    let needle = self::needle(&fixture);
    assert!(!files_with(elsewhere.path(), &needle).is_empty(), "the one that signs is there");
}
