//! Faults are reported to the caller that they affect, and leave nothing behind.

use super::*;

pub(super) async fn a_rejected_write_changes_nothing_and_can_be_repeated<B: Backend>() {
    let fixture = Fixture::<B>::new();
    for mood in [Mood::Busy, Mood::Broken] {
        let is_told = |error| match mood {
            Mood::Busy => matches!(error, StoreError::Busy),
            _ => matches!(error, StoreError::Failed(_)),
        };
        let session = fixture.session(&fixture.live).await;
        let new = fixture.new_session(&fixture.live, NOW);
        let verified = || verify(&session, NOW, "{}");
        let store = fixture.store();
        fixture.set_mood(mood);
        assert!(is_told(store.commit(verified(), None).await.unwrap_err()));
        assert!(is_told(store.commit_own(verified()).await.unwrap_err()));
        assert!(is_told(store.create_session(&fixture.live, new.clone()).await.unwrap_err()));
        let deleted = store.delete_session(&fixture.live, session.id(), NOW).await;
        assert!(is_told(deleted.unwrap_err()));
        fixture.set_mood(Mood::Well);
        assert_eq!(fixture.read(&session, NOW).unwrap().status_at(NOW), Status::Pending);
        assert!(fixture.read(&new.session, NOW).is_none());
        assert_eq!(store.commit(verified(), None).await.unwrap(), Committed::Yes);
        assert_eq!(store.create_session(&fixture.live, new).await.unwrap(), Made::Yes);
    }
    let report = fixture.operator().verify_audit(None, &[]).unwrap();
    assert!(report.breaches.is_empty(), "{report:?}");
}

pub(super) async fn a_write_that_panics_fails_alone<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    fixture.set_mood(Mood::Startled);
    let store = Arc::new(fixture.store.take().unwrap());
    assert_eq!(store.purge_results(NOW).await.unwrap(), 0, "the gateway's own work goes on");
    let (of_task, verified) = (store.clone(), verify(&session, NOW, "{}"));
    let task = tokio::spawn(async move { of_task.commit(verified, None).await });
    assert!(task.await.unwrap_err().is_panic());
    let verified = verify(&session, NOW, "{}");
    assert_eq!(store.commit(verified, None).await.unwrap(), Committed::Yes);
}

pub(super) async fn a_read_that_fails_or_panics_fails_alone<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    let (caller, id) = (fixture.live.clone(), session.id().clone());
    let store = Arc::new(fixture.store.take().unwrap());
    store.set_mood(Mood::Broken);
    assert!(store.session(&id).await.is_err());
    assert!(store.callers_session(&caller, &id, NOW).await.is_err());
    assert!(store.events(&caller, &id, 0, 1).await.is_err());
    assert!(store.due_sessions(session.expires_at(), 1).await.is_err());
    store.set_mood(Mood::Panicking);
    let (of_task, sought) = (store.clone(), id.clone());
    let task = tokio::spawn(async move { of_task.session(&sought).await.map(drop) });
    assert!(task.await.unwrap_err().is_panic());
    store.set_mood(Mood::Well);
    assert!(store.session(&id).await.unwrap().is_some());
}
