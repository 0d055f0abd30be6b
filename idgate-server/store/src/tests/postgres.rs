//! Tests that only concern a store of several nodes.

use idgate_core::Reader;
use idgate_testkit::patience::{eventually, patience};

use super::super::conformance::{Backend, Fixture, NOW, PostgresDatabase, verify};
use super::super::*;
use crate::address::Address;
use crate::seal::InstanceKey;
use idgate_base::clock::{Clock as _, SystemClock};

type Nodes = Fixture<PostgresDatabase>;

#[tokio::test]
async fn results_expire_by_the_databases_clock() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let mut fixture = Nodes::new();
    fixture.store = Some(fixture.backend.open_by_its_clock());
    let now = SystemClock.now();
    for at in [now.minus(31_000), now.plus(60_000)] {
        let session = fixture.session(&fixture.live).await;
        let store = fixture.store();
        assert_eq!(store.commit(verify(&session, at, "{}"), None).await.unwrap(), Committed::Yes);
        for reader in [now.minus(5000), now, now.plus(5000)] {
            let read = fixture.read(&session, reader).unwrap();
            assert!(read.result(Reader::Backend, reader).is_ok());
            assert!(read.result(Reader::Backend, reader.plus(30_001)).is_err());
        }
        assert_eq!(store.purge_results(now.plus(3_600_000)).await.unwrap(), 0, "not due there");
    }
}

#[tokio::test]
async fn a_result_lost_in_a_database_crash_is_reported_as_lost() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let mut fixture = Nodes::new();
    fixture.store = Some(fixture.backend.open_by_its_clock());
    let session = fixture.verified(&fixture.live, SystemClock.now(), "{}").await;
    let (store, id) = (fixture.store(), session.id());
    assert!(!store.has_lost_claims(&fixture.live, id).await.unwrap());
    let slot = format!("SELECT claims_slot FROM sessions WHERE id = '{}'", id.as_str());
    let slot: i16 = fixture.backend.ask(&slot).parse().unwrap();
    // Recovery truncates unlogged tables.
    fixture.backend.run(&format!("TRUNCATE claims_{slot:02}"));
    assert!(store.has_lost_claims(&fixture.live, id).await.unwrap());
    assert!(!store.has_lost_claims(&fixture.test, id).await.unwrap());
    fixture.backend.run("UPDATE sessions SET claims_until = 0");
    assert!(!store.has_lost_claims(&fixture.live, id).await.unwrap(), "its time is over");
}

#[tokio::test]
async fn no_ciphertext_of_a_result_is_in_the_write_ahead_log() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let session = fixture.verified(&fixture.live, NOW, r#"{"given_name":"Ada"}"#).await;
    let id = session.id().as_str();
    let of_session = |column: &str| {
        fixture.backend.ask(&format!("SELECT {column} FROM sessions WHERE id = '{id}'"))
    };
    let slot: i16 = of_session("claims_slot").parse().unwrap();
    let sealed = format!("SELECT encode(sealed, 'hex') FROM claims_{slot:02}");
    let sealed = bytes(&fixture.backend.ask(&sealed));
    let record = bytes(&of_session("encode(record, 'hex')"));
    // In pieces: the header of a log page may fall between two bytes.
    let logs = |bytes: &[u8]| bytes[..64].chunks(16).any(|piece| fixture.backend.logs(piece));
    assert!(logs(&record), "the search finds a record that is logged");
    assert!(!logs(&sealed));
}

#[tokio::test]
async fn a_slot_is_truncated_when_its_last_result_is_due() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    for at in [NOW, NOW.plus(499)] {
        fixture.verified(&fixture.live, at, "{}").await;
    }
    let purged = async |now| fixture.store().purge_results(now).await.unwrap();
    assert_eq!(purged(NOW.plus(30_498)).await, 0);
    assert_eq!(purged(NOW.plus(30_499)).await, 2);
}

#[tokio::test]
async fn a_reader_of_claims_holds_up_an_erasure_until_it_ends() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    let id = session.id().as_str();
    let slot = format!("SELECT claims_slot FROM sessions WHERE id = '{id}'");
    let slot: i16 = fixture.backend.ask(&slot).parse().unwrap();
    let reader = fixture.backend.hold(&format!("SELECT FROM claims_{slot:02}"));
    assert_eq!(fixture.store().purge_results(NOW.plus(30_000)).await.unwrap(), 0);
    assert!(
        fixture
            .read(&session, NOW.plus(30_000))
            .unwrap()
            .result(Reader::Backend, NOW)
            .ok()
            .is_none()
    );
    drop(reader);
    let erased =
        async { while fixture.store().purge_results(NOW.plus(30_000)).await.unwrap() == 0 {} };
    tokio::time::timeout(patience(), erased).await.unwrap();
}

#[tokio::test]
async fn results_held_up_by_a_long_reader_are_erased_soon_after_it_ends() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let session = fixture.verified(&fixture.live, NOW, "{}").await;
    let id = session.id().as_str();
    let slot = format!("SELECT claims_slot FROM sessions WHERE id = '{id}'");
    let slot: i16 = fixture.backend.ask(&slot).parse().unwrap();
    let reader = fixture.backend.hold(&format!("SELECT FROM claims_{slot:02}"));
    let purged = async |now| fixture.store().purge_results(now).await.unwrap();
    assert_eq!(purged(NOW.plus(30_000)).await, 0);
    drop(reader);
    // By now the slot is used for later results.
    let mut later = NOW.plus(50_000);
    let erased = async {
        while purged(later).await == 0 {
            later = later.plus(5_000);
        }
    };
    tokio::time::timeout(patience(), erased).await.unwrap();
}

#[tokio::test]
async fn a_change_on_one_node_is_signalled_on_another() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let other = fixture.backend.open(NOW);
    let session = fixture.session(&fixture.live).await;
    let mut watch = other.watch(session.id());
    let expired = session.expired(session.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::Yes);
    let told = tokio::time::timeout(patience(), watch.changed()).await;
    assert!(told.is_ok());
    let page = other.events(&fixture.live, session.id(), 0, 10).await.unwrap().unwrap();
    assert!(page.settled);
}

#[tokio::test]
async fn of_answers_on_three_nodes_only_one_is_accepted() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let nodes = [fixture.backend.open(NOW), fixture.backend.open(NOW), fixture.backend.open(NOW)];
    for _ in 0..8 {
        let session = fixture.session(&fixture.live).await;
        let answers: Vec<_> = (0..64)
            .map(|n| nodes[n % 3].commit(verify(&session, NOW, &format!("{{\"n\":{n}}}")), None))
            .collect();
        let mut taken = 0;
        for answer in answers {
            taken += usize::from(answer.await.unwrap() == Committed::Yes);
        }
        assert_eq!(taken, 1);
    }
    let report = fixture.operator().verify_audit(None, &[]).unwrap();
    assert!(report.breaches.is_empty(), "{report:?}");
}

#[tokio::test]
async fn sessions_that_a_running_node_is_verifying_are_not_abandoned() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Nodes::new();
    let session = fixture.session(&fixture.live).await;
    let hold = super::super::conformance::hold(&session, NOW.plus(60_000));
    assert_eq!(fixture.store().commit(hold, None).await.unwrap(), Committed::Yes);
    let other = fixture.backend.open(NOW);
    assert!(other.abandoned_sessions().await.unwrap().is_empty());
    fixture.backend.run("UPDATE sessions SET node_id = 'one that is gone'");
    assert_eq!(other.abandoned_sessions().await.unwrap().len(), 1);
}

#[test]
fn another_instance_key_is_refused() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let database = PostgresDatabase::new();
    drop(database.open(NOW));
    let error = database.open_with(&InstanceKey::generate().unwrap(), false).err().unwrap();
    assert!(error.to_string().contains("IDGATE_INSTANCE_KEY"), "{error}");
}

#[test]
fn an_older_schema_needs_migration_and_a_much_newer_one_is_refused() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let database = PostgresDatabase::new();
    let open = |migrates| database.open_with(&database.key, migrates);
    database.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    let error = open(false).err().unwrap().to_string();
    assert!(error.contains("idgate migrate") && error.contains("schema 0"), "{error}");
    drop(open(true).unwrap());
    drop(open(false).unwrap());
    let own: i64 = database.ask("SELECT max(number) FROM schema_migrations").parse().unwrap();
    let newer = |number: i64| {
        database.run(&format!("INSERT INTO schema_migrations VALUES ({number}, 'newer')"));
    };
    newer(own + 1);
    drop(open(false).unwrap());
    newer(own + 2);
    for migrates in [false, true] {
        let error = open(migrates).err().unwrap().to_string();
        assert!(error.contains(&format!("schema {}", own + 2)), "{error}");
        assert!(error.contains("newer than this program"), "{error}");
    }
    database.run("UPDATE schema_migrations SET checksum = 'x'");
    assert!(open(false).err().unwrap().to_string().contains("schema change 1"));
}

#[test]
fn a_missing_database_is_unavailable() {
    let address = Address::parse("postgres://idgate@127.0.0.1:1/idgate").unwrap();
    let key = InstanceKey::generate().unwrap();
    let options = PostgresOptions {
        address: &address,
        instance_key: &key,
        environment: crate::environment::Environment::Development,
        quotas: crate::quotas::Quotas::default(),
        migrates: false,
    };
    let error = Store::connect(options, NOW).err().unwrap();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
}

/// A transaction that creates a session keeps its client from being removed, and then waits for its
/// chain.
#[tokio::test]
async fn a_client_can_be_revoked_while_a_session_is_being_created() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Fixture::<PostgresDatabase>::new();
    let client_id = fixture.live.client_id.as_str();
    let sql = format!("SELECT FROM clients WHERE id = '{client_id}' FOR KEY SHARE");
    let _making = fixture.backend.hold(&sql);
    assert!(fixture.operator().revoke_client(client_id, NOW).unwrap());
}

/// A transaction that changes trust waits for others before it takes any lock that they may need.
#[tokio::test]
async fn trust_changes_lock_in_one_order() {
    if !PostgresDatabase::is_there() {
        return;
    }
    let fixture = Fixture::<PostgresDatabase>::new();
    let changing = fixture.backend.hold("UPDATE trust_version SET version = version + 1");
    std::thread::scope(|scope| {
        let list = FetchedList { url: "https://a".into(), token: vec![0], accept_rollback: false };
        let backend = &fixture.backend;
        let refreshing = scope.spawn(move || backend.operator().refresh_list(&list, NOW));
        let removing = scope.spawn(|| backend.operator().remove_trust("issuer", NOW));
        eventually("both wait", || backend.waiting() == 2);
        // The rows that they are about to change are not locked.
        backend.run("SELECT FROM trust_entries FOR UPDATE NOWAIT");
        let lists = "LOCK TABLE trusted_lists, trusted_list_marks IN EXCLUSIVE MODE NOWAIT";
        backend.run(&format!("BEGIN; {lists}; COMMIT"));
        drop(changing);
        assert_eq!(refreshing.join().unwrap().unwrap(), Refreshed::Unwanted);
        assert!(removing.join().unwrap().unwrap());
    });
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}
