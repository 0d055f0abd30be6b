//! A damaged row may only affect its own session or client.

use super::*;

#[tokio::test]
async fn a_client_with_an_altered_audit_log_can_be_revoked() {
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
        assert!(text.contains("is revoked"), "{text}");
        let digest = fixture.live_key.digest();
        assert!(fixture.store().authenticate(&digest, NOW).wait().unwrap().is_none(), "{damage}");
        let entries: i64 =
            main.query_row("SELECT count(*) FROM audit_entries", [], |row| row.get(0)).unwrap();
        // Two keys were created, and an issuer was added.
        assert_eq!(entries, 3, "a partial audit entry was stored");
    }
}
