//! Old entries are removed from the beginning of the audit log, and the rest stays verifiable.

use super::*;

/// The entries of the live client.
pub(crate) fn count<B: Backend>(fixture: &Fixture<B>) -> usize {
    fixture.store().audit_page(&fixture.live, None, 100, NOW).wait().unwrap().entries.len()
}

/// A chain of seven entries with checkpoints at the third and the last.
pub(crate) async fn chain<B: Backend>() -> Fixture<B> {
    let fixture = Fixture::<B>::new();
    fixture.session(&fixture.live).await;
    fixture.session(&fixture.live).await;
    let sign = || fixture.store().sign_checkpoints(NOW, 10, NOW);
    sign().await.unwrap().all().unwrap();
    for _ in 0..4 {
        fixture.session(&fixture.live).await;
    }
    sign().await.unwrap().all().unwrap();
    assert_eq!(count(&fixture), 7);
    fixture
}

pub(crate) async fn remove<B: Backend>(
    fixture: &Fixture<B>,
    limit: usize,
) -> Result<usize, StoreError> {
    let client_id = fixture.live.client_id.as_str().to_owned();
    fixture.store().remove_old_entries(client_id, NOW.plus(1), limit, NOW).await
}

pub(super) async fn old_audit_entries_are_removed_in_batches_and_the_rest_verifies<B: Backend>() {
    let fixture = chain::<B>().await;
    for (limit, left) in [(2, 5), (1, 4), (2, 2), (9, 0)] {
        assert!(remove(&fixture, limit).await.unwrap() > 0);
        assert_eq!(count(&fixture), left);
        let report = fixture.operator().verify_audit(None, &[]).unwrap();
        assert!(report.breaches.is_empty(), "{report:?}");
    }
    fixture.session(&fixture.live).await;
    let signed = fixture.store().sign_checkpoints(NOW, 10, NOW).await.unwrap();
    assert_eq!((signed.signed, signed.altered.len()), (1, 0));
}

pub(super) async fn retention_reaches_every_chain_however_many_there_are<B: Backend>() {
    let fixture = Fixture::<B>::new();
    for _ in 0..7 {
        fixture.operator().create_client("another", true, None, NOW).unwrap();
    }
    let (mut seen, mut last) = (Vec::new(), String::new());
    loop {
        let page = fixture.store().old_chains(last.clone(), NOW.plus(1), 2).await.unwrap();
        assert!(page.len() <= 2);
        let Some(end) = page.last() else { break };
        last.clone_from(end);
        seen.extend(page);
    }
    // Nine clients and the operator.
    assert_eq!(seen.len(), 10);
    assert!(seen.is_sorted());
}

pub(super) async fn an_audit_page_is_intact_while_old_entries_are_removed<B: Backend>() {
    let fixture = Fixture::<B>::new();
    for _ in 0..300 {
        fixture.session(&fixture.live).await;
    }
    let store = fixture.store();
    let removing = async { while remove(&fixture, 1).await.unwrap() > 0 {} };
    let listing = async {
        let mut listed = usize::MAX;
        while listed > 0 {
            let page = store.audit_page(&fixture.live, None, 1000, NOW).await.unwrap();
            assert!(page.entries.iter().all(|entry| entry.chain_intact));
            listed = page.entries.len();
        }
    };
    tokio::join!(removing, listing);
}
