//! Notifications are queued with the settlement, leased by one node at a time, and kept until they
//! are delivered or given up.

use std::collections::BTreeSet;
use std::pin::pin;

use idgate_core::shell::webhook::SigningSecret;
use zeroize::Zeroizing;

use super::*;
use idgate_base::api_key::signing_secret;
use idgate_base::spans::Parent;
use idgate_testkit::patience::in_time;

const HOST: &str = "hooks.example";
/// When a session of [`NOW`] expires, which settles it.
const THEN: UnixMillis = NOW.plus(300_000);
const LEASE_MS: u64 = 60_000;

impl<B: Backend> Fixture<B> {
    /// Sets the endpoint of the live client. Returns it and the secret in force.
    pub(crate) async fn put(
        &self,
        secret: Option<SigningSecret>,
    ) -> (EndpointRecord, SigningSecret) {
        let fresh = SigningSecret::new(&**signing_secret(&mut OsEntropy).unwrap()).unwrap();
        let url = format!("https://{HOST}/");
        let wish = EndpointRequest { url, host: HOST.into(), secret, fresh };
        self.store().put_webhook_endpoint(&self.live, wish, THEN).await.unwrap().unwrap()
    }

    async fn remove(&self, caller: &Caller) -> Removed {
        let fresh = SigningSecret::new(&**signing_secret(&mut OsEntropy).unwrap()).unwrap();
        self.store().remove_webhook_endpoint(caller, fresh, THEN).await.unwrap()
    }

    /// A fixture whose live client has an endpoint on an approved host.
    async fn with_endpoint() -> Self {
        let fixture = Self::new();
        fixture.put(None).await;
        assert_eq!(fixture.review(Review::Approve), 0);
        fixture
    }

    /// How many notifications were given up.
    pub(crate) fn review(&self, review: Review<'_>) -> usize {
        self.operator().review_webhook_host(HOST, review, THEN).unwrap()
    }

    /// A session of the live client that expired.
    async fn settled(&self) -> Session {
        let session = self.session(&self.live).await;
        let expired = session.expired(THEN).unwrap();
        assert_eq!(self.store().commit_own(expired).await.unwrap(), Committed::Yes);
        session
    }

    fn is_due(&self, now: UnixMillis) -> bool {
        !self.store().due_lanes(now).wait().unwrap().is_empty()
    }

    fn lease(&self, count: usize, now: UnixMillis) -> Write<'_, Vec<Leased>> {
        let wanted = Wanted { client_id: self.live.client_id.as_str().to_owned(), count };
        self.store().lease(vec![wanted], now, now.plus(LEASE_MS))
    }

    async fn lease_one(&self, now: UnixMillis) -> Leased {
        let mut leased = self.lease(9, now).await.unwrap();
        assert_eq!(leased.len(), 1);
        leased.remove(0)
    }

    async fn end(&self, leased: &Leased, verdict: DeliveryResult) -> bool {
        self.store().end_lease(leased.seq, leased.lease_until, verdict, THEN).await.unwrap()
    }

    fn dead_letters(&self) -> Vec<DeadLetter> {
        self.store().dead_letters(&self.live, None, 100, THEN).wait().unwrap().letters
    }
}

fn failed(again_at: Option<UnixMillis>) -> DeliveryResult {
    DeliveryResult::Failed { error: "timeout".into(), again_at }
}

pub(super) async fn an_endpoint_belongs_to_its_client_and_keeps_its_secret_until_replaced<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    assert!(fixture.store().webhook_endpoint(&fixture.live).await.unwrap().is_none());
    let (record, provisioned) = fixture.put(None).await;
    assert_eq!((&*record.url, record.host_status), ("https://hooks.example/", HostStatus::Pending));
    assert_eq!(fixture.store().webhook_endpoint(&fixture.live).await.unwrap(), Some(record));
    assert!(fixture.store().webhook_endpoint(&fixture.test).await.unwrap().is_none());
    fixture.review(Review::Approve);
    let secrets = async || {
        fixture.settled().await;
        let leased = fixture.lease_one(THEN).await;
        assert!(fixture.end(&leased, DeliveryResult::Delivered).await);
        let previous = leased.target.previous.as_ref().map(|it| it.expose().to_owned());
        (leased.target.secret.expose().to_owned(), previous)
    };
    assert_eq!(secrets().await, (provisioned.expose().to_owned(), None));
    let (record, again) = fixture.put(Some(provisioned.clone())).await;
    assert_eq!(record.host_status, HostStatus::Approved);
    assert_eq!(again.expose(), provisioned.expose());
    assert_eq!(
        secrets().await,
        (provisioned.expose().to_owned(), None),
        "setting it again keeps it"
    );
    let (_, fresh) = fixture.put(None).await;
    assert_ne!(fresh.expose(), provisioned.expose());
    let both = (fresh.expose().to_owned(), Some(provisioned.expose().to_owned()));
    assert_eq!(secrets().await, both);
}

pub(super) async fn removing_an_endpoint_gives_up_its_notifications_and_its_secret<B: Backend>() {
    let fixture = Fixture::<B>::new();
    assert_eq!(fixture.remove(&fixture.live).await, Removed::NoEndpoint);
    let (_, provisioned) = fixture.put(None).await;
    let held = fixture.settled().await;
    assert_eq!(fixture.remove(&fixture.test).await, Removed::NoEndpoint);
    assert_eq!(fixture.remove(&fixture.live).await, Removed::Yes);
    assert_eq!(fixture.remove(&fixture.live).await, Removed::NoEndpoint);
    assert_eq!(fixture.store().webhook_endpoint(&fixture.live).await.unwrap(), None);
    let letters = fixture.dead_letters();
    let what = |it: &DeadLetter| (it.session_id.clone(), it.error_message.clone());
    let missing = Some("endpoint_missing".to_owned());
    let expected = [(held.id().as_str().to_owned(), missing.clone())];
    assert_eq!(letters.iter().map(what).collect::<Vec<_>>(), expected);
    fixture.settled().await;
    assert!(!fixture.is_due(UnixMillis(u64::MAX)), "without an endpoint nothing waits");
    let (_, fresh) = fixture.put(None).await;
    assert_ne!(fresh.expose(), provisioned.expose());
    fixture.review(Review::Approve);
    let (retrying, under_way) = (fixture.settled().await, fixture.settled().await);
    let [first, second] = fixture.lease(9, THEN).await.unwrap().try_into().unwrap();
    assert!(fixture.end(&first, failed(Some(THEN.plus(5000)))).await);
    let replayed = fixture.store().replay_dead_letter(&fixture.live, &letters[0].id, THEN).await;
    assert!(replayed.unwrap().unwrap().is_sent);
    assert_eq!(fixture.remove(&fixture.live).await, Removed::Yes);
    let given_up: Vec<_> = fixture.dead_letters().into_iter().map(|it| it.session_id).collect();
    assert_eq!(given_up, [retrying.id().as_str(), held.id().as_str()]);
    // The attempt that is under way may finish, and is the last one.
    assert!(fixture.end(&second, failed(Some(THEN.plus(5000)))).await);
    assert!(fixture.lease(9, THEN).await.unwrap().is_empty());
    assert!(!fixture.is_due(UnixMillis(u64::MAX)));
    let last = fixture.dead_letters().remove(0);
    assert_eq!((&*last.session_id, last.attempts), (under_way.id().as_str(), 1));
    assert_eq!(last.error_message, missing);
    fixture.put(None).await;
    fixture.operator().revoke_client(fixture.live.client_id.as_str(), THEN).unwrap();
    assert_eq!(fixture.remove(&fixture.live).await, Removed::KeyGone);
    assert!(fixture.store().webhook_endpoint(&fixture.live).await.unwrap().is_some());
}

pub(super) async fn a_notification_is_due_after_host_approval_and_removed_when_delivered<
    B: Backend,
>() {
    let fixture = Fixture::<B>::new();
    fixture.settled().await;
    assert!(!fixture.is_due(THEN), "without an endpoint nothing waits");
    fixture.put(None).await;
    let session = fixture.settled().await;
    assert!(!fixture.is_due(THEN), "the host was not reviewed");
    assert!(fixture.lease(9, THEN).await.unwrap().is_empty());
    assert_eq!(fixture.review(Review::Approve), 0);
    assert!(!fixture.is_due(THEN.minus(1)));
    let client_id = fixture.live.client_id.as_str().to_owned();
    let lane = Lane { client_id, host: HOST.into(), held: true };
    assert_eq!(fixture.store().due_lanes(THEN).await.unwrap(), [lane]);
    let leased = fixture.lease_one(THEN).await;
    assert!(leased.body.contains(session.id().as_str()) && leased.target.livemode);
    assert_eq!((leased.attempts, leased.is_replay), (0, false));
    assert!(!fixture.is_due(THEN) && fixture.lease(9, THEN).await.unwrap().is_empty());
    assert!(fixture.end(&leased, DeliveryResult::Delivered).await);
    assert!(!fixture.end(&leased, DeliveryResult::Delivered).await);
    let bell = fixture.store().outbox_bell();
    // An earlier ring does not count.
    pin!(bell.notified()).enable();
    let deleted = fixture.settled().await;
    in_time("it rings", bell.notified()).await;
    assert!(fixture.store().delete_session(&fixture.live, deleted.id(), THEN).await.unwrap());
    assert!(!fixture.is_due(THEN.plus(LEASE_MS)), "a deleted session sends no notification");
}

pub(super) async fn deleting_a_session_removes_its_notification_in_any_state<B: Backend>() {
    let fixture = Fixture::<B>::with_endpoint().await;
    let (given_up, kept) = (fixture.settled().await, fixture.settled().await);
    for leased in fixture.lease(9, THEN).await.unwrap() {
        assert!(fixture.end(&leased, failed(None)).await);
    }
    let under_way = fixture.settled().await;
    let leased = fixture.lease_one(THEN).await;
    let waiting = fixture.settled().await;
    for deleted in [&given_up, &under_way, &waiting] {
        assert!(fixture.store().delete_session(&fixture.live, deleted.id(), THEN).await.unwrap());
    }
    assert!(!fixture.end(&leased, failed(Some(THEN))).await, "it is not there any more");
    assert!(!fixture.is_due(UnixMillis(u64::MAX)));
    let left: Vec<_> = fixture.dead_letters().into_iter().map(|it| it.session_id).collect();
    assert_eq!(left, [kept.id().as_str()]);
}

pub(super) async fn concurrent_leases_never_share_a_notification<B: Backend>() {
    let fixture = Fixture::<B>::with_endpoint().await;
    for _ in 0..20 {
        fixture.settled().await;
    }
    let leases: Vec<_> = (0..8).map(|_| fixture.lease(5, THEN)).collect();
    let mut ids = BTreeSet::new();
    for lease in leases {
        let leased = lease.await.unwrap();
        assert!(leased.len() <= 5);
        assert!(leased.into_iter().all(|it| ids.insert(it.id)), "in two leases");
    }
    assert_eq!(ids.len(), 20);
}

pub(super) async fn ending_a_lost_lease_changes_nothing<B: Backend>() {
    let fixture = Fixture::<B>::with_endpoint().await;
    fixture.settled().await;
    let lost = fixture.lease_one(THEN).await;
    assert!(!fixture.is_due(lost.lease_until.minus(1)) && fixture.is_due(lost.lease_until));
    let held = fixture.lease_one(lost.lease_until).await;
    assert_eq!(held.id, lost.id);
    for verdict in [DeliveryResult::Delivered, failed(Some(THEN)), failed(None)] {
        assert!(!fixture.end(&lost, verdict).await);
    }
    assert!(fixture.dead_letters().is_empty());
    assert!(fixture.end(&held, DeliveryResult::Delivered).await);
    assert!(!fixture.is_due(held.lease_until));
}

pub(super) async fn a_failed_notification_is_retried_and_finally_a_dead_letter<B: Backend>() {
    let fixture = Fixture::<B>::with_endpoint().await;
    let session = fixture.settled().await;
    let leased = fixture.lease_one(THEN).await;
    let later = THEN.plus(1000);
    assert!(fixture.end(&leased, failed(Some(later))).await);
    assert!(!fixture.is_due(later.minus(1)) && fixture.is_due(later));
    let leased = fixture.lease_one(later).await;
    assert_eq!(leased.attempts, 1);
    assert!(fixture.end(&leased, failed(None)).await);
    assert!(!fixture.is_due(UnixMillis(u64::MAX)));
    let letter = fixture.dead_letters().remove(0);
    assert_eq!((&*letter.id, &*letter.session_id), (&*leased.id, session.id().as_str()));
    assert_eq!((letter.attempts, letter.error_message.as_deref()), (2, Some("timeout")));
    assert_eq!((letter.payload, letter.failed_at), (leased.body, THEN));
    assert_eq!(fixture.store().gauges(THEN).await.unwrap().dead_letters, 1);
}

pub(super) async fn a_dead_letter_is_retried_once_and_only_by_its_client<B: Backend>() {
    let fixture = Fixture::<B>::with_endpoint().await;
    let session = fixture.settled().await;
    let leased = fixture.lease_one(THEN).await;
    assert!(fixture.end(&leased, failed(None)).await);
    let retry = |caller: &Caller| fixture.store().replay_dead_letter(caller, &leased.id, THEN);
    for stranger in [&fixture.test, &fixture.other_client()] {
        assert_eq!(retry(stranger).await.unwrap(), None);
    }
    let (id, session_id) = (leased.id.clone(), session.id().as_str().to_owned());
    let replay = Replay { id, session_id, is_sent: true };
    for verdict in [failed(None), DeliveryResult::Delivered] {
        for _ in 0..2 {
            assert_eq!(retry(&fixture.live).await.unwrap().as_ref(), Some(&replay));
        }
        assert_eq!(fixture.dead_letters().len(), 1, "until it is delivered");
        let again = fixture.lease_one(THEN).await;
        assert!(again.is_replay && again.id == leased.id);
        assert!(fixture.end(&again, verdict).await);
        assert!(!fixture.is_due(UnixMillis(u64::MAX)));
    }
    assert!(fixture.dead_letters().is_empty());
    assert_eq!(retry(&fixture.live).await.unwrap(), None);
}

pub(super) async fn held_notifications_are_given_up_by_rejection_or_a_long_wait<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.put(None).await;
    fixture.settled().await;
    fixture.settled().await;
    let give_up = |before| fixture.store().give_up_unreviewed(before, 1, THEN);
    assert_eq!(give_up(THEN.minus(1)).await.unwrap(), 0);
    assert_eq!(give_up(THEN).await.unwrap(), 1);
    assert_eq!(fixture.review(Review::Reject("no")), 1);
    fixture.settled().await;
    let reasons: Vec<_> = fixture.dead_letters().into_iter().map(|it| it.error_message).collect();
    let expected = ["host_rejected", "host_rejected", "host_not_approved"];
    assert_eq!(reasons, expected.map(|reason| Some(reason.to_owned())));
    assert_eq!(give_up(THEN).await.unwrap(), 0);
    let id = fixture.dead_letters().remove(0).id;
    let retried = fixture.store().replay_dead_letter(&fixture.live, &id, THEN).await.unwrap();
    assert!(!retried.unwrap().is_sent && !fixture.is_due(THEN));
}

pub(super) async fn resetting_a_review_holds_notifications_again<B: Backend>() {
    let fixture = Fixture::<B>::with_endpoint().await;
    let session = fixture.settled().await;
    assert_eq!(fixture.review(Review::Reset), 0);
    let record = fixture.store().webhook_endpoint(&fixture.live).await.unwrap().unwrap();
    assert_eq!(record.host_status, HostStatus::Pending);
    assert!(!fixture.is_due(THEN) && fixture.lease(9, THEN).await.unwrap().is_empty());
    assert!(fixture.dead_letters().is_empty());
    fixture.review(Review::Approve);
    let lanes = fixture.store().due_lanes(THEN).await.unwrap();
    assert!(lanes[0].held, "it goes in order");
    assert!(fixture.lease_one(THEN).await.body.contains(session.id().as_str()));
    fixture.review(Review::Reject("no"));
    assert_eq!(fixture.review(Review::Reset), 0);
    let record = fixture.store().webhook_endpoint(&fixture.live).await.unwrap().unwrap();
    assert_eq!((record.host_status, record.host_review_note), (HostStatus::Pending, None));
}

pub(super) async fn the_next_start_takes_over_leased_notifications<B: Backend>() {
    let mut fixture = Fixture::<B>::with_endpoint().await;
    fixture.settled().await;
    let lost = fixture.lease_one(THEN).await;
    fixture.reopen(THEN);
    assert!(!fixture.is_due(THEN));
    assert_eq!(fixture.store().release_leases(THEN).await.unwrap(), 1);
    let held = fixture.lease_one(THEN.plus(1)).await;
    assert_eq!((&held.id, held.attempts), (&lost.id, 0));
    assert!(!fixture.end(&lost, DeliveryResult::Delivered).await);
    assert!(fixture.end(&held, DeliveryResult::Delivered).await);
}

pub(super) async fn pending_notifications_have_pages_and_their_next_attempt<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.put(None).await;
    let (first, second) = (fixture.settled().await, fixture.settled().await);
    let store = fixture.store();
    let page = async |caller: &Caller, cursor: Option<&str>, limit| {
        store.pending_notifications(caller, cursor, limit, THEN).await.unwrap()
    };
    let newest = page(&fixture.live, None, 1).await;
    let Pending { session_id, status, attempts, next_attempt_at, .. } = &newest.notifications[0];
    assert_eq!((&**session_id, &**status, *attempts), (second.id().as_str(), "EXPIRED", 0));
    assert_eq!(*next_attempt_at, None, "it is held");
    let cursor = newest.next_cursor.unwrap();
    let others = store.pending_notifications(&fixture.test, Some(&cursor), 1, THEN).await;
    assert!(matches!(others, Err(PageError::Cursor)));
    let failures = store.dead_letters(&fixture.live, Some(&cursor), 1, THEN).await;
    assert!(matches!(failures, Err(PageError::Cursor)), "a cursor is for its own list");
    let last = page(&fixture.live, Some(&cursor), 1).await;
    assert_eq!(last.notifications[0].session_id, first.id().as_str());
    assert!(last.next_cursor.is_none());
    assert!(page(&fixture.test, None, 9).await.notifications.is_empty());
    fixture.review(Review::Approve);
    let due = page(&fixture.live, None, 9).await.notifications;
    assert!(due.iter().all(|it| it.next_attempt_at == Some(THEN)), "{due:?}");
    let leased = fixture.lease(1, THEN).await.unwrap().remove(0);
    let under_way = page(&fixture.live, None, 9).await.notifications;
    assert!(under_way.iter().all(|it| it.next_attempt_at == Some(THEN)), "{under_way:?}");
    assert!(fixture.end(&leased, failed(Some(THEN.plus(5000)))).await);
    let again = page(&fixture.live, None, 9).await.notifications;
    let again = again.iter().find(|it| it.id == leased.id).unwrap();
    assert_eq!((again.attempts, again.next_attempt_at), (1, Some(THEN.plus(5000))));
    let other = fixture.lease(1, THEN).await.unwrap().remove(0);
    assert!(fixture.end(&other, failed(None)).await);
    assert_eq!(page(&fixture.live, None, 9).await.notifications.len(), 1, "no dead letters");
}

pub(super) async fn dead_letters_have_pages_and_are_removed_in_time<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.put(None).await;
    fixture.review(Review::Reject("no"));
    let mut settled = Vec::new();
    for _ in 0..5 {
        settled.insert(0, fixture.settled().await.id().as_str().to_owned());
    }
    let store = fixture.store();
    let (mut listed, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let page = store.dead_letters(&fixture.live, cursor.as_deref(), 2, THEN).await.unwrap();
        assert!(page.letters.len() <= 2 && !page.letters.is_empty());
        listed.extend(page.letters.into_iter().map(|letter| letter.session_id));
        if let Some(cursor) = &page.next_cursor {
            let others = store.dead_letters(&fixture.test, Some(cursor), 2, THEN).await;
            assert!(matches!(others, Err(PageError::Cursor)));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(listed, settled, "the newest first");
    assert!(store.dead_letters(&fixture.test, None, 9, THEN).await.unwrap().letters.is_empty());
    for (before, limit, removed) in [(THEN.minus(1), 9, 0), (THEN, 2, 2), (THEN, 9, 3)] {
        assert_eq!(store.remove_dead_letters(before, limit).await.unwrap(), removed);
    }
    assert!(fixture.dead_letters().is_empty());
}

pub(super) async fn session_and_notification_know_the_creating_span<B: Backend>() {
    let fixture = Fixture::<B>::new();
    fixture.put(None).await;
    fixture.review(Review::Approve);
    let parent = Parent { trace_id: [0xa1; 16], span_id: [0xb2; 8], sampled: true };
    let mut sessions = Vec::new();
    for (n, parent) in (0u8..).zip([Some(parent), None]) {
        let transition = fixture.new_session(&fixture.live, NOW);
        let session = transition.session.clone();
        let beside = Beside { page: None, parent };
        let made = match parent {
            Some(_) => fixture.store().create_session_with(&fixture.live, transition, beside).await,
            None => {
                let answer = Zeroizing::new(b"{}".to_vec());
                let once = Once { key: [n; 32], body: [7; 32], answer, beside };
                let made = fixture.store().create_session_once(&fixture.live, transition, once);
                assert!(matches!(made.await.unwrap(), MadeOnce::Yes));
                Ok(Made::Yes)
            }
        };
        assert_eq!(made.unwrap(), Made::Yes);
        assert_eq!(fixture.store().parent_span(session.id()).await.unwrap(), parent);
        sessions.push(session);
    }
    assert_eq!(fixture.store().parent_span(&SessionId::new("ses_none")).await.unwrap(), None);
    for session in &sessions {
        let transition = verify(session, NOW, "{}");
        assert_eq!(fixture.store().commit(transition, Some(7)).await.unwrap(), Committed::Yes);
    }
    let leased = fixture.lease(9, THEN).await.unwrap();
    let parents: Vec<_> = leased.iter().map(|leased| leased.parent).collect();
    assert_eq!(parents, [Some(parent), None]);
}
