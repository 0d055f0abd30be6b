//! What one damaged row may stop: its own session or client, and nobody else's.

use std::sync::Arc;

use super::*;
use crate::clock::VirtualClock;
use crate::work::sweeper::Sweeper;

#[tokio::test]
async fn a_client_is_revoked_even_when_its_audit_log_takes_no_entry() {
    for damage in [
        "UPDATE audit_heads SET mac = zeroblob(32)",
        "UPDATE audit_total SET entries = entries + 1",
        "UPDATE audit_entries SET seq = seq + 1",
    ] {
        let fixture = Fixture::new();
        let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
        main.execute(damage, []).unwrap();
        let client_id = fixture.live.client_id.as_str();
        let revoked = fixture.operator().revoke_client(client_id, NOW);
        let StoreError::Failed(text) = revoked.unwrap_err() else { panic!("busy") };
        assert!(text.contains("is stopped"), "{text}");
        let digest = fixture.live_key.digest();
        assert!(fixture.store().authenticate(&digest, NOW).wait().unwrap().is_none(), "{damage}");
        let entries: i64 =
            main.query_row("SELECT count(*) FROM audit_entries", [], |row| row.get(0)).unwrap();
        // Two keys were made, and an issuer was added.
        assert_eq!(entries, 3, "half an entry is not an entry");
    }
}

#[tokio::test]
async fn what_cannot_be_expired_holds_up_no_other_session() {
    for damage in [
        "UPDATE sessions SET record = x'00' WHERE id = ?1",
        "UPDATE audit_heads SET mac = x'00' \
         WHERE client_id = (SELECT client_id FROM sessions WHERE id = ?1)",
    ] {
        let mut fixture = Fixture::new();
        let damaged = fixture.session(&fixture.live).await;
        let mut sound = Vec::new();
        for _ in 0..3 {
            sound.push(fixture.session(&fixture.test).await);
        }
        let main = rusqlite::Connection::open(fixture.path().join("idgate.db")).unwrap();
        assert_eq!(main.execute(damage, [damaged.id().as_str()]).unwrap(), 1);
        let store = Arc::new(fixture.store.take().unwrap());
        let clock = Arc::new(VirtualClock::at(damaged.expires_at()));
        let swept = Sweeper::new(store.clone(), clock).expire().await;
        let text = swept.unwrap_err().to_string();
        let names = [damaged.id().as_str(), fixture.live.client_id.as_str()];
        assert!(names.iter().any(|name| text.contains(name)), "{text}");
        for session in &sound {
            let stored = store.session(session.id()).wait().unwrap().unwrap();
            assert!(stored.settled_at().is_some(), "{damage}");
        }
    }
}
