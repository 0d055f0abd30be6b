//! Sessions: each change applies once, and only to sessions of the caller.

use idgate_core::{Reader, Reason, Transition};

use super::*;
use crate::upkeep::Upkeep;
use idgate_base::clock::VirtualClock;

pub(super) async fn of_64_parallel_commits_exactly_one_applies<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    let mut yes = 0;
    let commits: Vec<_> = (0..64)
        .map(|n| {
            let transition = verify(&session, NOW.plus(n), &format!("{{\"n\":{n}}}"));
            fixture.store().commit(transition, None)
        })
        .collect();
    for commit in commits {
        yes += usize::from(commit.await.unwrap() == Committed::Yes);
    }
    assert_eq!(yes, 1);
    assert_eq!(fixture.store().gauges(NOW).wait().unwrap().claims_rows, 1);
}

pub(super) async fn a_session_round_trips_and_survives_a_restart_with_its_result<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let session = fixture.verified(&fixture.live, NOW, r#"{"given_name":"Ada"}"#).await;
    fixture.reopen(NOW.plus(29_999));
    let read = |now| fixture.read(&session, now).unwrap();
    let found = read(NOW.plus(29_999));
    assert_eq!(found.to_bytes(), session.to_bytes());
    assert_eq!(
        found.result(Reader::Backend, NOW).unwrap().claims_json(),
        r#"{"given_name":"Ada"}"#
    );
    assert!(
        read(NOW.plus(30_000)).result(Reader::Backend, NOW).is_err(),
        "gone when its time is over"
    );
    let wallets = fixture.store().session(session.id()).wait().unwrap().unwrap();
    assert!(wallets.result(Reader::Backend, NOW).is_err(), "the wallet routes never see it");
}

pub(super) async fn status_events_are_numbered_from_one<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    let expired = session.expired(session.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired.clone(), None).await.unwrap(), Committed::Yes);
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::LostRace);
    let events = fixture.events(session.id()).unwrap();
    let expected = [(1, "CREATED"), (2, "PENDING"), (3, "EXPIRED")];
    assert_eq!(events, expected.map(|(seq, status)| (seq, status.to_owned())));
}

pub(super) async fn a_write_on_a_stale_revision_or_a_deleted_session_is_not_applied<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    let mut stale = verify(&session, NOW, "{}");
    stale.from = Revision(stale.from.0 + 7);
    assert_eq!(fixture.store().commit(stale, None).await.unwrap(), Committed::LostRace);
    assert!(fixture.store().delete_session(&fixture.live, session.id(), NOW).await.unwrap());
    let late = verify(&session, NOW, "{}");
    assert_eq!(fixture.store().commit(late, None).await.unwrap(), Committed::LostRace);
    assert!(fixture.store().session(session.id()).wait().unwrap().is_none());
    assert!(fixture.events(session.id()).is_none());
}

pub(super) async fn a_client_cannot_read_another_clients_session<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let other = fixture.other_client();
    let session = fixture.session(&fixture.live).await;
    let store = fixture.store();
    assert!(store.callers_session(&fixture.live, session.id(), NOW).wait().unwrap().is_some());
    assert!(store.callers_session(&other, session.id(), NOW).wait().unwrap().is_none());
    assert!(!store.delete_session(&other, session.id(), NOW).await.unwrap());
    assert!(store.session(session.id()).wait().unwrap().is_some());
}

pub(super) async fn a_session_is_read_with_the_key_of_its_client_and_with_no_other<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let key = fixture.operator().create_client("shop", true, None, NOW).unwrap().api_key;
    let store = fixture.store();
    let caller = store.authenticate(&key.digest(), NOW).await.unwrap().unwrap();
    let own = fixture.verified(&caller, NOW, "{}").await;
    let open = fixture.session(&caller).await;
    let others = fixture.verified(&fixture.live, NOW, "{}").await;
    let read = |id, now| store.authenticate_for(&key.digest(), id, now).wait().unwrap();
    let (again, found) = read(own.id(), NOW).unwrap();
    assert_eq!((&again.client_id, &again.key_id), (&caller.client_id, &caller.key_id));
    assert!(found.unwrap().unwrap().result(Reader::Backend, NOW).is_ok());
    let (_, found) = read(own.id(), NOW.plus(30_000)).unwrap();
    assert!(found.unwrap().unwrap().result(Reader::Backend, NOW).is_err(), "its time is over");
    assert_eq!(read(open.id(), NOW).unwrap().1.unwrap().unwrap().id(), open.id());
    assert!(read(others.id(), NOW).unwrap().1.unwrap().is_none());
    let now = store.in_force(again.since).wait().unwrap();
    assert!(Arc::ptr_eq(&now.trust, &store.trust().wait().unwrap()));
    fixture.backend.damage(Damage::Session(open.id().as_str()));
    let (again, found) = read(open.id(), NOW).unwrap();
    assert_eq!(again.key_id, caller.key_id, "the key is good");
    assert!(matches!(found, Err(StoreError::Damaged(_))));
    assert!(fixture.operator().revoke_client(caller.client_id.as_str(), NOW).unwrap());
    assert!(read(own.id(), NOW).is_none(), "a revoked key reads nothing");
}

pub(super) async fn live_and_test_callers_cannot_read_each_others_sessions<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.test).await;
    let live_half = Caller { livemode: true, ..fixture.test.clone() };
    let store = fixture.store();
    assert!(!fixture.test.livemode);
    assert!(store.callers_session(&live_half, session.id(), NOW).wait().unwrap().is_none());
    assert!(!store.delete_session(&live_half, session.id(), NOW).await.unwrap());
    assert!(store.callers_session(&fixture.test, session.id(), NOW).wait().unwrap().is_some());
}

pub(super) async fn due_sessions_are_open_and_past_their_expiry_or_lease<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let session = fixture.session(&fixture.live).await;
    fixture.verified(&fixture.live, NOW, "{}").await;
    let due = |now| fixture.store().due_sessions(now, 10).wait().unwrap();
    assert!(due(session.expires_at().minus(1)).is_empty());
    let found = due(session.expires_at());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].as_ref().unwrap().id(), session.id());
    assert!(fixture.store().due_sessions(session.expires_at(), 0).wait().unwrap().is_empty());
}

pub(super) async fn settled_sessions_are_removed_after_their_time_with_their_events<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let open = fixture.session(&fixture.live).await;
    let mut settled = Vec::new();
    for n in 0..3 {
        settled.push(fixture.verified(&fixture.live, NOW.plus(n), "{}").await);
    }
    let store = fixture.store();
    assert_eq!(store.remove_settled(NOW, 10).await.unwrap(), 0);
    assert_eq!(store.remove_settled(NOW.plus(9), 2).await.unwrap(), 2);
    assert!(store.session(settled[0].id()).wait().unwrap().is_none());
    assert!(fixture.events(settled[0].id()).is_none());
    assert!(store.session(settled[2].id()).wait().unwrap().is_some());
    assert!(store.session(open.id()).wait().unwrap().is_some());
}

pub(super) async fn an_unreadable_session_does_not_delay_other_expiries<B: Backend>() {
    for of_session in [true, false] {
        let mut fixture = Fixture::<B>::new();
        let damaged = fixture.session(&fixture.live).await;
        let mut sound = Vec::new();
        for _ in 0..3 {
            sound.push(fixture.session(&fixture.test).await);
        }
        let (id, client_id) = (damaged.id().as_str(), fixture.live.client_id.as_str());
        let damage = if of_session { Damage::Session(id) } else { Damage::AuditHead(client_id) };
        fixture.backend.damage(damage);
        let store = Arc::new(fixture.store.take().unwrap());
        let clock = Arc::new(VirtualClock::at(damaged.expires_at()));
        let swept = Upkeep::new(store.clone(), clock).expire().await;
        let text = swept.unwrap_err().to_string();
        assert!([id, client_id].iter().any(|name| text.contains(name)), "{text}");
        for session in &sound {
            let stored = store.session(session.id()).wait().unwrap().unwrap();
            assert!(stored.settled_at().is_some(), "{damage:?}");
        }
    }
}

pub(super) async fn concurrent_creations_stay_within_the_open_session_quota<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let change = ClientChange { max_open_sessions: Some(Some(3)), ..ClientChange::default() };
    let client_id = fixture.live.client_id.as_str();
    assert!(fixture.operator().set_client(client_id, &change).unwrap());
    let make = || {
        let new = fixture.new_session(&fixture.live, NOW);
        (new.session.clone(), fixture.store().create_session(&fixture.live, new))
    };
    let mut stored = Vec::new();
    for (session, made) in (0..16).map(|_| make()).collect::<Vec<_>>() {
        let made = made.await.unwrap() == Made::Yes;
        assert_eq!(fixture.read(&session, NOW).is_some(), made);
        stored.extend(made.then_some(session));
    }
    assert_eq!(stored.len(), 3);
    let [settled, deleted, _] = &stored[..] else { panic!("three") };
    let expired = settled.expired(settled.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(expired, None).await.unwrap(), Committed::Yes);
    assert!(fixture.store().delete_session(&fixture.live, deleted.id(), NOW).await.unwrap());
    for room in [Made::Yes, Made::Yes, Made::NoRoom] {
        assert_eq!(make().1.await.unwrap(), room);
    }
}

pub(super) async fn sessions_that_an_ended_process_was_verifying_are_abandoned<B: Backend>() {
    let mut fixture = Fixture::<B>::new();
    let (held, open) = (fixture.session(&fixture.live).await, fixture.session(&fixture.test).await);
    fixture.verified(&fixture.live, NOW, "{}").await;
    let hold = hold(&held, NOW.plus(60_000));
    assert_eq!(fixture.store().commit(hold, None).await.unwrap(), Committed::Yes);
    fixture.close();
    fixture.reopen(NOW.plus(1));
    let store = fixture.store();
    let abandoned = store.abandoned_sessions().await.unwrap();
    let [Ok(found)] = &abandoned[..] else { panic!("{abandoned:?}") };
    assert_eq!((found.id(), found.status_at(NOW)), (held.id(), Status::Verifying));
    let released = found.released(NOW.plus(1)).unwrap();
    assert_eq!(store.commit_own(released).await.unwrap(), Committed::Yes);
    assert!(store.abandoned_sessions().await.unwrap().is_empty());
    for session in [&held, &open] {
        let stored = store.session(session.id()).await.unwrap().unwrap();
        assert_eq!(stored.status_at(NOW), Status::Pending);
    }
}

/// The transition of `session` to VERIFYING that an answer makes when its status is fetched.
pub(crate) fn hold(session: &Session, lease_until: UnixMillis) -> Transition {
    let mut transition = session.expired(session.expires_at()).unwrap();
    let mut record: serde_json::Value = serde_json::from_slice(&session.to_bytes()).unwrap();
    record["phase"] = serde_json::json!({"phase": "verifying", "lease_until": lease_until});
    record["revision"] = transition.session.revision().0.into();
    transition.session = Session::from_bytes(record.to_string().as_bytes()).unwrap();
    transition.effects.clear();
    transition
}

pub(super) async fn an_operator_lists_the_newest_sessions_of_all_clients_first<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let first = fixture.session(&fixture.live).await;
    let later = fixture.new_session(&fixture.test, NOW.plus(1));
    let second = later.session.clone();
    assert_eq!(fixture.store().create_session(&fixture.test, later).await.unwrap(), Made::Yes);
    let ended = first.expired(first.expires_at()).unwrap();
    assert_eq!(fixture.store().commit(ended, None).await.unwrap(), Committed::Yes);
    let operator = fixture.operator();
    let lines = operator.list_sessions(9).unwrap();
    let [newest, oldest] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&*newest.id, &*newest.status), (second.id().as_str(), "PENDING"));
    assert_eq!(
        (newest.created_at, newest.client_id.as_str()),
        (NOW.plus(1), fixture.test.client_id.as_str())
    );
    assert_eq!((&*oldest.id, &*oldest.status), (first.id().as_str(), "EXPIRED"));
    assert_eq!(oldest.reason.as_deref(), Some("session_expired"));
    assert_eq!(
        (&oldest.formats[..], &oldest.issuer_ids[..]),
        (&["vc+sd-jwt".to_owned()][..], &["issuer".to_owned()][..])
    );
    assert_eq!(operator.list_sessions(1).unwrap(), lines[..1]);
    assert_eq!(oldest.wallet_error, None);
    let (line, events) = operator.session(first.id().as_str()).unwrap().unwrap();
    assert_eq!(line, *oldest);
    assert_eq!(events.last().map(|event| &*event.status), Some("EXPIRED"));
    assert_eq!(operator.session("ses_none").unwrap(), None);
}

pub(super) async fn open_sessions_of_a_revoked_client_are_not_found_and_end<B: Backend>() {
    let fixture = Fixture::<B>::new();
    let [open, other] =
        [fixture.session(&fixture.live).await, fixture.session(&fixture.live).await];
    let settled = fixture.verified(&fixture.live, NOW, "{}").await;
    let of_test = fixture.session(&fixture.test).await;
    let store = fixture.store();
    assert!(store.sessions_of_revoked(10).await.unwrap().is_empty());
    let client = fixture.live.client_id.as_str();
    assert!(fixture.operator().revoke_client(client, NOW).unwrap());
    // Rejected immediately: reads, holds and verdicts.
    for session in [&open, &settled] {
        assert!(store.session(session.id()).await.unwrap().is_none());
    }
    let late = [hold(&open, NOW), verify(&open, NOW, "{}"), open.cancelled(NOW).unwrap()];
    for late in late {
        assert_eq!(store.commit(late, None).await.unwrap(), Committed::LostRace);
    }
    assert!(store.session(of_test.id()).await.unwrap().is_some());
    // Ended one batch at a time.
    assert_eq!(store.sessions_of_revoked(1).await.unwrap().len(), 1);
    let ending = store.sessions_of_revoked(10).await.unwrap();
    let mut ids = Vec::new();
    for session in ending {
        let session = session.unwrap();
        let end = session.client_revoked(NOW).unwrap();
        assert_eq!(end.session.reason_at(NOW), Some(Reason::ClientRevoked));
        assert_eq!(store.commit_own(end).await.unwrap(), Committed::Yes);
        ids.push(session.id().clone());
    }
    ids.sort_by(|one, next| one.as_str().cmp(next.as_str()));
    let mut both = [open.id().clone(), other.id().clone()];
    both.sort_by(|one, next| one.as_str().cmp(next.as_str()));
    assert_eq!(ids, both);
    assert!(store.sessions_of_revoked(10).await.unwrap().is_empty());
    assert!(store.session(of_test.id()).await.unwrap().is_some());
}
