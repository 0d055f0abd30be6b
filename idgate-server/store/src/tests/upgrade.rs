//! Opens a directory that the first version created.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::seal::first::FirstSealer;
use crate::seal::{InstanceKey, Sealer};
use crate::sqlite::directory;
use crate::sqlite::examine::examine;
use crate::sqlite::files::main_path;
use crate::sqlite::schema::{MIGRATIONS, migrate};
use crate::{Health, new_secrets};

/// How many migrations the first version had.
const FIRST_VERSION: usize = 2;

/// A fixture with a main database of the first version, and a PENDING session of the live client.
async fn first_version() -> (Fixture, Session) {
    let mut fixture = Fixture::new();
    let session = fixture.session(&fixture.live).await;
    fixture.close();
    let path = main_path(fixture.path());
    for name in ["idgate.db", "idgate.db-wal", "idgate.db-shm", "claims.db"] {
        let _ = std::fs::remove_file(fixture.path().join(name));
    }
    let mut main = rusqlite::Connection::open(&path).unwrap();
    let key = directory::existing_key(fixture.path(), None).unwrap().unwrap();
    migrate(&mut main, &MIGRATIONS[..FIRST_VERSION], &path, &key).unwrap();
    let (old, new) = (FirstSealer::new(&key).unwrap(), Sealer::new(&key).unwrap());
    let check = old.seal("instance", "key_check", b"idgate");
    main.execute("INSERT INTO instance VALUES ('key_check', ?1)", [check]).unwrap();
    let (client, sealed) = new_secrets::client(true, &new).unwrap();
    main.execute(
        "INSERT INTO clients (id, name, livemode, signing_secret, created_at) VALUES (?1, 'old', 1, ?2, ?3)",
        (&client.client_id, sealed, millis(NOW)),
    )
    .unwrap();
    let key = (&client.key_id, &client.client_id, client.api_key.digest(), client.api_key.hint());
    main.execute(
        "INSERT INTO api_keys (id, client_id, digest, hint, livemode, created_at) \
         VALUES (?1, ?2, ?3, ?4, 1, 1)",
        key,
    )
    .unwrap();
    // The session's client, and its secret as it was sealed then.
    let client_id = fixture.live.client_id.as_str();
    let secret = old.seal("clients", client_id, client.signing_secret.as_bytes());
    main.pragma_update(None, "foreign_keys", false).unwrap();
    let change = "UPDATE clients SET id = ?1, signing_secret = ?2";
    assert_eq!(main.execute(change, (client_id, secret)).unwrap(), 1);
    main.execute("UPDATE api_keys SET client_id = ?1", [client_id]).unwrap();
    main.pragma_update(None, "foreign_keys", true).unwrap();
    let record = old.seal("sessions", session.id().as_str(), &session.to_bytes());
    let values = (session.id().as_str(), client_id, millis(session.expires_at()), record);
    main.execute(
        "INSERT INTO sessions (id, client_id, livemode, status, revision, created_at, expires_at, \
         formats, issuer_ids, record) VALUES (?1, ?2, 1, 'PENDING', 1, 1, ?3, '[]', '[]', ?4)",
        values,
    )
    .unwrap();
    let event = "INSERT INTO session_events VALUES (?1, ?2, ?3, ?4, ?5)";
    let id = session.id().as_str();
    main.execute(event, (id, 1, "CREATED", None::<&str>, 10)).unwrap();
    main.execute(event, (id, 2, "PENDING", Some("it's \"so\", they say"), 20)).unwrap();
    fixture.live_key = client.api_key;
    (fixture, session)
}

#[tokio::test]
async fn doctor_passes_a_directory_of_the_first_version_and_changes_nothing() {
    let (fixture, _) = first_version().await;
    let path = main_path(fixture.path());
    for (path, mode) in [(fixture.path(), 0o700), (&*path, 0o600)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let before = std::fs::read(&path).unwrap();
    let found = examine(fixture.path(), None, NOW, true).findings;
    let bad: Vec<_> = found.iter().filter(|finding| finding.health == Health::Bad).collect();
    assert!(bad.is_empty(), "{bad:?}");
    let schema = found.iter().find(|finding| finding.check == "schema").unwrap();
    assert_eq!(schema.health, Health::Warning);
    assert!(schema.message.contains("`idgate serve` makes a copy"), "{schema:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // Another key is detected all the same.
    let other = InstanceKey::parse("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").unwrap();
    let found = examine(fixture.path(), Some(&other), NOW, false).findings;
    let key = found.iter().find(|finding| finding.check == "instance_key").unwrap();
    assert_eq!(key.health, Health::Bad);
}

#[tokio::test]
async fn events_and_dead_letters_survive_an_upgrade() {
    let (mut fixture, session) = first_version().await;
    let path = main_path(fixture.path());
    let mut main = rusqlite::Connection::open(&path).unwrap();
    let key = directory::existing_key(fixture.path(), None).unwrap().unwrap();
    migrate(&mut main, &MIGRATIONS[..8], &path, &key).unwrap();
    main.execute(
        "INSERT INTO webhook_deliveries SELECT 7, 'whf_old', ?1, id, 1, '{}', 30, 0, 11, NULL, \
         NULL, 'http_500', 40, 3 FROM clients",
        [session.id().as_str()],
    )
    .unwrap();
    drop(main);
    fixture.reopen(NOW);
    let store = fixture.store();
    let caller = store.authenticate(&fixture.live_key.digest(), NOW).wait().unwrap().unwrap();
    let page = store.events(&caller, session.id(), 0, 10).wait().unwrap().unwrap();
    let events: Vec<_> = page
        .events
        .iter()
        .map(|event| (event.seq, &*event.status, event.reason.as_deref(), event.occurred_at.0))
        .collect();
    let reason = Some("it's \"so\", they say");
    assert_eq!(events, [(1, "CREATED", None, 10), (2, "PENDING", reason, 20)]);
    assert_eq!((page.last, page.settled), (2, false));
    let letters = store.dead_letters(&caller, None, 10, NOW).wait().unwrap().letters;
    assert_eq!(letters.len(), 1);
    assert_eq!((&*letters[0].id, letters[0].attempts), ("whf_old", 11));
    assert!(store.replay_dead_letter(&caller, "whf_old", NOW).await.unwrap().is_some());
}

#[tokio::test]
async fn no_command_changes_the_schema_under_a_running_server() {
    let (fixture, _) = first_version().await;
    let serving = directory::lock(fixture.path()).unwrap();
    let Err(StoreError::Failed(text)) = OperatorStore::open(fixture.path(), None) else {
        panic!("opened");
    };
    assert!(text.contains("another server runs"), "{text}");
    assert!(!fixture.path().join("idgate.db.before-3").exists());
    drop(serving);
    OperatorStore::open(fixture.path(), None).unwrap();
}

#[tokio::test]
async fn a_directory_of_the_first_version_can_be_copied_and_works() {
    let (mut fixture, session) = first_version().await;
    fixture.reopen(NOW);
    let store = fixture.store();
    let caller = store.authenticate(&fixture.live_key.digest(), NOW).wait().unwrap().unwrap();
    let open = store.callers_session(&caller, session.id(), NOW).wait();
    assert_eq!(open.unwrap().unwrap().status_at(NOW), Status::Pending);
    // Its chain begins with the first change after the upgrade.
    assert!(store.delete_session(&caller, session.id(), NOW).await.unwrap());
    let page = store.audit_page(&caller, None, 10, NOW).wait().unwrap();
    assert_eq!(page.entries.len(), 1);
    assert!(page.entries[0].chain_intact);
    let copy = fixture.path().join("idgate.db.before-3");
    let copy = rusqlite::Connection::open(copy).unwrap();
    let last: i64 =
        copy.query_row("SELECT max(number) FROM schema_migrations", [], |row| row.get(0)).unwrap();
    assert_eq!(last, 2);
    let report = fixture.operator().verify_audit(None, &[]).unwrap();
    assert!(report.breaches.is_empty(), "{report:?}");
}

#[tokio::test]
async fn a_registration_without_intended_use_becomes_the_default() {
    let (mut fixture, _) = first_version().await;
    let path = main_path(fixture.path());
    let mut main = rusqlite::Connection::open(&path).unwrap();
    let key = directory::existing_key(fixture.path(), None).unwrap().unwrap();
    migrate(&mut main, &MIGRATIONS[..26], &path, &key).unwrap();
    let client = fixture.live.client_id.as_str().to_owned();
    // {"typ":"rc-wrp+jwt"} and {"sub":"VATUT-123","credentials":[]}
    let jwt = "eyJ0eXAiOiJyYy13cnArand0In0.eyJzdWIiOiJWQVRVVC0xMjMiLCJjcmVkZW50aWFscyI6W119.c2ln";
    let insert = "INSERT INTO registrations (client_id, jwt, strict, added_at) VALUES (?1, ?2, 1, 5) \
                  ON CONFLICT (client_id) DO UPDATE SET jwt = excluded.jwt, strict = \
                  excluded.strict, added_at = excluded.added_at";
    main.execute(insert, (&client, jwt)).unwrap();
    drop(main);
    fixture.reopen(NOW);
    let of_store = |fixture: &Fixture| {
        let certificates = fixture.store().certificates().wait().unwrap();
        let own = certificates.registration(&client, None).unwrap();
        (own.intended_use.clone(), own.strict, own.certificate.subject.clone())
    };
    assert_eq!(of_store(&fixture), ("default".into(), true, "VATUT-123".into()));
    let certificate = idgate_core::RegistrationCertificate::parse(jwt).unwrap();
    let new = crate::NewRegistration {
        client_id: &client,
        intended_use: Some("age"),
        as_default: true,
        certificate: &certificate,
        strict: false,
    };
    fixture.operator().keep_registration(&new, NOW).unwrap();
    let main = rusqlite::Connection::open(&path).unwrap();
    let rows = |main: &rusqlite::Connection| -> (String, bool, i64) {
        let sql = "SELECT client_id, strict, count(*) FROM registrations";
        main.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
    };
    assert_eq!(rows(&main), (client.clone(), false, 1), "one of each client, its default");
    main.execute(insert, (&client, jwt)).unwrap();
    main.execute("UPDATE certificates_version SET version = version + 1", []).unwrap();
    assert_eq!(of_store(&fixture), ("age".into(), true, "VATUT-123".into()));
}
