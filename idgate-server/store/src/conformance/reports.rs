//! Reports of rejected answers are stored with the rejection, for a day, and no longer than the
//! session.

use super::*;

const DAY: u64 = 24 * 60 * 60 * 1000;
/// When a session of [`NOW`] is rejected.
const THEN: UnixMillis = NOW.plus(300_000);
const REPORT: &[u8] = b"{\"rule\":\"Sentinel-report-R7\"}";

impl<B: Backend> Fixture<B> {
    /// A session of the live client that ended with a report.
    async fn refused(&self) -> Session {
        let session = self.session(&self.live).await;
        let ended = session.expired(THEN).unwrap();
        let committed =
            self.store().commit_refused(Basis::default(), ended, 7, REPORT.to_vec()).await;
        assert_eq!(committed.unwrap(), Committed::Yes);
        session
    }

    fn report(&self, caller: &Caller, session: &Session, now: UnixMillis) -> Option<Vec<u8>> {
        self.store().report(caller, session.id(), now).wait().unwrap()
    }
}

pub(super) async fn a_report_is_kept_for_24_hours_for_its_owner<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let session = fixture.refused().await;
    let last = THEN.plus(DAY - 1);
    assert_eq!(fixture.report(&fixture.live, &session, THEN).as_deref(), Some(REPORT));
    assert_eq!(fixture.report(&fixture.live, &session, last).as_deref(), Some(REPORT));
    assert_eq!(fixture.report(&fixture.live, &session, last.plus(1)), None);
    for stranger in [&fixture.test, &fixture.other_client()] {
        assert_eq!(fixture.report(stranger, &session, THEN), None);
    }
    let operator = fixture.operator();
    let id = session.id().as_str();
    assert_eq!(operator.session_report(id, last).unwrap().as_deref(), Some(REPORT));
    assert_eq!(operator.session_report(id, last.plus(1)).unwrap(), None);
    assert_eq!(operator.session_report("ses_nobodys", THEN).unwrap(), None);
    drop(operator);
    assert!(!fixture.backend.holds(b"Sentinel-report-R7"), "it is sealed");
    fixture.reopen(THEN);
    assert_eq!(fixture.report(&fixture.live, &session, THEN).as_deref(), Some(REPORT));
    let forget = |now| fixture.store().forget_reports(now, 9);
    assert_eq!(forget(last).await.unwrap(), 0);
    assert_eq!(forget(last.plus(1)).await.unwrap(), 1);
    assert_eq!(fixture.report(&fixture.live, &session, THEN), None);
}

pub(super) async fn a_report_is_stored_with_the_rejection_and_removed_with_the_session<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.refused().await;
    let (kept, now) = (fixture.refused().await, THEN);
    assert!(fixture.store().delete_session(&fixture.live, session.id(), now).await.unwrap());
    assert_eq!(fixture.report(&fixture.live, &session, now), None);
    assert!(fixture.report(&fixture.live, &kept, now).is_some());
    // The answer that lost the race leaves no report.
    let settled = fixture.session(&fixture.live).await;
    let ended = || settled.expired(THEN).unwrap();
    assert_eq!(fixture.store().commit(ended(), None).await.unwrap(), Committed::Yes);
    let late = fixture.store().commit_refused(Basis::default(), ended(), 7, REPORT.to_vec()).await;
    assert_eq!(late.unwrap(), Committed::LostRace);
    assert_eq!(fixture.report(&fixture.live, &settled, now), None);
    let events = fixture.events(kept.id()).unwrap();
    assert_eq!(events.last().map(|(_, status)| &**status), Some("EXPIRED"));
}
