//! Audit log: one chain per client, appended in the transaction of the change and in commit order.

use idgate_core::shell::Phase;
use serde_json::{Value, json};

use super::*;

const DAY: u64 = 24 * 60 * 60 * 1000;

fn listed<B: Backend>(fixture: &Fixture<B>, caller: &Caller) -> Vec<ListedEntry> {
    fixture.store().audit_page(caller, None, 100, NOW).wait().unwrap().entries
}

/// Newest first.
fn statuses<B: Backend>(fixture: &Fixture<B>, caller: &Caller) -> Vec<String> {
    listed(fixture, caller).into_iter().map(|listed| listed.entry.unwrap().status).collect()
}

/// Walks a client's chain and returns its length.
fn walk<B: Backend>(fixture: &Fixture<B>, client_id: &str) -> u64 {
    let report = fixture.operator().verify_audit(Some(client_id), &[]).unwrap();
    assert!(report.breaches.is_empty(), "{report:?}");
    report.entries
}

pub(super) async fn creation_end_and_deletion_of_a_session_are_audited<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.verified(&fixture.live, NOW.plus(70), r#"{"given_name":"Ada"}"#).await;
    let id = session.id();
    assert!(fixture.store().delete_session(&fixture.live, id, NOW.plus(99)).await.unwrap());
    let entries = listed(&fixture, &fixture.live);
    let shown: Vec<Value> = entries
        .iter()
        .map(|listed| serde_json::to_value(listed.entry.as_ref().unwrap()).unwrap())
        .collect();
    let client_id = fixture.live.client_id.as_str();
    let about = |seq: u64, status: &str, at: UnixMillis| {
        json!({
            "client_id": client_id, "seq": seq, "status": status, "session_id": id.as_str(),
            "occurred_at": at.to_string(),
            "credential_types": ["vc+sd-jwt"], "issuer_ids": ["issuer"],
            "actor": if status == "VERIFIED" { "wallet" } else { &fixture.live.key_id },
        })
    };
    let mut verified = about(3, "VERIFIED", NOW.plus(70));
    verified["latency_ms"] = 70.into();
    let mut deleted = about(4, "DELETED", NOW.plus(99));
    deleted.as_object_mut().unwrap().retain(|name, _| !name.ends_with('s') || name == "status");
    assert_eq!(shown[0], deleted);
    assert_eq!(shown[1], verified);
    assert_eq!(shown[2], about(2, "CREATED", NOW));
    assert_eq!(shown[3]["status"], "API_KEY_CREATED");
    assert!(entries.iter().all(|listed| listed.chain_intact));
    assert!(entries.windows(2).all(|pair| pair[0].prev_hash == pair[1].entry_hash));
}

pub(super) async fn audit_entries_of_expired_and_failed_sessions_have_the_reason<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let expiring = fixture.session(&fixture.live).await;
    let expired = expiring.expired(expiring.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::Yes);
    let refused = fixture.session(&fixture.live).await;
    let mut transition = refused.expired(refused.expires_at()).unwrap();
    let mut record: Value = serde_json::from_slice(&transition.session.to_bytes()).unwrap();
    record["phase"] = json!({"phase": "failed", "at": NOW, "reason": "nonce_mismatch"});
    transition.session = Session::from_bytes(record.to_string().as_bytes()).unwrap();
    assert!(matches!(transition.session.phase(), Phase::Failed { .. }));
    assert_eq!(fixture.store().commit(transition, Some(1)).await.unwrap(), Committed::Yes);
    let ends: Vec<_> = listed(&fixture, &fixture.live)
        .into_iter()
        .filter_map(|listed| listed.entry)
        .filter_map(|entry| Some((entry.status, entry.error_code?, entry.latency_ms?)))
        .collect();
    let want = [("FAILED", "nonce_mismatch", 0), ("EXPIRED", "session_expired", 300_000)];
    assert_eq!(ends, want.map(|(status, code, ms)| (status.to_owned(), code.to_owned(), ms)));
}

pub(super) async fn changes_without_effect_are_not_audited<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    for committed in [Committed::Yes, Committed::LostRace] {
        let verified = verify(&session, NOW, "{}");
        assert_eq!(fixture.store().commit(verified, None).await.unwrap(), committed);
    }
    let other = SessionId::new("ses_none");
    assert!(!fixture.store().delete_session(&fixture.live, &other, NOW).await.unwrap());
    assert_eq!(statuses(&fixture, &fixture.live), ["VERIFIED", "CREATED", "API_KEY_CREATED"]);
}

pub(super) async fn parallel_settlements_and_another_process_give_one_consecutive_chain<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    let mut sessions = Vec::new();
    for _ in 0..64 {
        sessions.push(fixture.session(&fixture.live).await);
    }
    let commits: Vec<_> = sessions
        .iter()
        .map(|session| fixture.store().commit(verify(session, NOW, "{}"), None))
        .collect();
    let client_id = fixture.live.client_id.as_str().to_owned();
    let (mut operator, client) = (fixture.operator(), client_id.clone());
    let operator = std::thread::spawn(move || {
        for n in 0..8 {
            operator.create_client("another", true, None, NOW.plus(n)).unwrap();
            operator.create_key(&client, None, None, NOW.plus(n)).unwrap().unwrap();
        }
    });
    for commit in commits {
        assert_eq!(commit.await.unwrap(), Committed::Yes);
    }
    operator.join().unwrap();
    // Nine keys created, 64 sessions created and settled.
    assert_eq!(walk(&fixture, &client_id), 137);
    assert!(fixture.operator().revoke_client(&client_id, NOW).unwrap());
    // The keys are revoked with their client.
    assert_eq!(walk(&fixture, &client_id), 147);
}

pub(super) async fn audit_pages_continue_and_a_cursor_is_valid_for_its_client_for_a_day<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    for _ in 0..3 {
        fixture.verified(&fixture.live, NOW, "{}").await;
    }
    let all: Vec<String> =
        listed(&fixture, &fixture.live).into_iter().map(|listed| listed.entry_hash).collect();
    assert_eq!(all.len(), 7);
    for size in 1..=8 {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = fixture
                .store()
                .audit_page(&fixture.live, cursor.as_deref(), size, NOW)
                .wait()
                .unwrap();
            assert!(page.entries.len() <= size && !page.entries.is_empty());
            assert!(page.entries.iter().all(|listed| listed.chain_intact));
            found.extend(page.entries.into_iter().map(|listed| listed.entry_hash));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, all, "pages of {size}");
    }
    let cursor =
        fixture.store().audit_page(&fixture.live, None, 1, NOW).wait().unwrap().next_cursor;
    let read = |caller: &Caller, now| {
        fixture
            .store()
            .audit_page(caller, cursor.as_deref(), 1, now)
            .wait()
            .map(|page| page.entries.len())
    };
    assert_eq!(read(&fixture.live, NOW.plus(DAY - 1)).unwrap(), 1);
    assert!(matches!(read(&fixture.live, NOW.plus(DAY)), Err(PageError::Cursor)));
    assert!(matches!(read(&fixture.test, NOW), Err(PageError::Cursor)));
}

pub(super) async fn a_checkpoint_is_signed_per_hour_and_per_1000_entries<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let store = fixture.store();
    let signed = || store.unwritten_checkpoints(10_000).wait().unwrap();
    assert!(signed().is_empty());
    let sign = async |before| store.sign_checkpoints(before, 10, NOW).await.unwrap().all().unwrap();
    assert_eq!(sign(NOW.minus(1)).await, 0, "not due yet");
    assert_eq!(sign(NOW).await, 3, "one per chain, the operator's among them");
    assert_eq!(sign(NOW).await, 0, "nothing new");
    store.checkpoints_written(signed()).await.unwrap();
    assert!(signed().is_empty());
    for _ in 0..1000 {
        fixture.session(&fixture.live).await;
    }
    let seqs: Vec<u64> = signed().iter().map(|checkpoint| checkpoint.seq).collect();
    assert_eq!(seqs, [1001]);
    assert!(signed()[0].line.contains("\"signature\":\""));
}

pub(super) async fn an_altered_chain_does_not_delay_checkpoints_of_others<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let altered = fixture.live.client_id.as_str();
    fixture.backend.damage(Damage::AuditHead(altered));
    let signed = fixture.store().sign_checkpoints(NOW, 10, NOW).await.unwrap();
    // The chains of the other client and of the operator.
    assert_eq!((signed.signed, &*signed.altered), (2, &[altered.to_owned()][..]));
    let StoreError::Failed(text) = signed.all().unwrap_err() else { panic!("busy") };
    assert!(text.contains(altered) && text.contains("idgate audit verify"), "{text}");
    let unwritten = fixture.store().unwritten_checkpoints(10).wait().unwrap();
    assert_eq!(unwritten.len(), 2);
    assert!(unwritten.iter().all(|checkpoint| checkpoint.client_id != altered));
}

pub(super) async fn removing_settled_sessions_leaves_the_chain<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.verified(&fixture.live, NOW, "{}").await;
    assert_eq!(fixture.store().remove_settled(NOW.plus(1), 10).await.unwrap(), 1);
    assert_eq!(walk(&fixture, fixture.live.client_id.as_str()), 3);
}
