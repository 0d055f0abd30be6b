//! The gateway's signing keys: sealed, and wiped when retired.

use super::erasure::files_with;
use super::*;
use crate::seal::Sealer;
use crate::store::gateway_keys::place;

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
    fixture.operator().rotate_gateway_key(NOW).unwrap();
    assert!(files_with(fixture.path(), needle).is_empty());
}
