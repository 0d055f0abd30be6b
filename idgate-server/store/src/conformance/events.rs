//! The status events of a session, and the watchers that wait for them.

use std::time::Duration;

use super::*;

pub(super) async fn a_page_of_events_follows_an_event_and_says_whether_the_session_settled<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    let page = |caller: &Caller, after, limit| {
        fixture.store().events(caller, session.id(), after, limit).wait().unwrap()
    };
    let open = page(&fixture.live, 0, 10).unwrap();
    assert_eq!((open.events.len(), open.last, open.settled), (2, 2, false));
    let expired = session.expired(session.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::Yes);
    for (after, limit, seqs) in
        [(0, 10, vec![1, 2, 3]), (1, 1, vec![2]), (2, 10, vec![3]), (3, 10, vec![]), (9, 9, vec![])]
    {
        let page = page(&fixture.live, after, limit).unwrap();
        assert_eq!(page.events.iter().map(|event| event.seq).collect::<Vec<_>>(), seqs);
        assert_eq!((page.last, page.settled), (3, true), "after {after}");
    }
    let end = page(&fixture.live, 2, 1).unwrap().events.remove(0);
    assert_eq!((&*end.status, end.reason.as_deref()), ("EXPIRED", Some("session_expired")));
    assert_eq!((end.wallet_error, end.occurred_at), (None, session.expires_at()));
    let live_half = Caller { livemode: false, ..fixture.live.clone() };
    for stranger in [&fixture.test, &fixture.other_client(), &live_half] {
        assert!(page(stranger, 0, 10).is_none());
    }
}

pub(super) async fn a_watch_signals_commits_and_deletions_of_its_session_only<B: Backend>() {
    async fn told(watch: &mut Watch, within: u64) -> bool {
        tokio::time::timeout(Duration::from_millis(within), watch.changed()).await.is_ok()
    }
    let fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    let other = fixture.session(&fixture.live).await;
    let mut watch = fixture.store().watch(session.id());
    let mut bystander = fixture.store().watch(other.id());
    let expired = session.expired(session.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::Yes);
    assert!(told(&mut watch, 5000).await);
    let page = fixture.store().events(&fixture.live, session.id(), 0, 10).await.unwrap();
    assert!(page.unwrap().settled, "a notified watcher finds it");
    assert!(!told(&mut watch, 50).await);
    assert!(fixture.store().delete_session(&fixture.live, session.id(), NOW).await.unwrap());
    assert!(told(&mut watch, 5000).await && !told(&mut bystander, 50).await);
}
