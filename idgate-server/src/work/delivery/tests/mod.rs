//! Delivery over real sockets from a real database, on a clock that the tests move.

mod fixture;
mod reviews;

use std::time::Duration;

use idgate_core::shell::webhook::SCHEDULE_MS;

use self::fixture::{Fixture, HOUR, MINUTE};
use super::{GATHERING, POLL, gathering, pause};

#[tokio::test]
async fn a_settled_session_is_delivered_once_signed_and_without_claims() {
    let mut fixture = Fixture::approved().await;
    let session = fixture.settle().await;
    assert_eq!(fixture.round().await, 1);
    let sent = fixture.receiver.only();
    sent.verify(&fixture.secret, fixture.now());
    let body: serde_json::Value = serde_json::from_str(&sent.body).unwrap();
    let members: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(members, ["clientId", "issuerId", "latencyMs", "sessionId", "status"]);
    assert_eq!(body["sessionId"], session.as_str());
    assert_eq!(body["clientId"], fixture.caller.client_id.as_str());
    assert_eq!((&body["status"], &body["issuerId"]), (&"EXPIRED".into(), &"issuer".into()));
    assert_eq!(body["latencyMs"], 300_000);
    assert_eq!(sent.header("webhook-id"), format!("whf_{}", &session[4..]));
    assert_eq!(sent.header("content-type"), "application/json");
    assert_eq!(sent.header("x-webhook-attempt"), "1");
    for absent in ["accept-encoding", "authorization", "cookie"] {
        assert!(!sent.head.to_ascii_lowercase().contains(absent), "{}", sent.head);
    }
    fixture.clock.advance(HOUR);
    assert_eq!((fixture.round().await, fixture.waiting()), (0, 0));
}

#[tokio::test]
async fn a_session_expired_by_the_sweeper_is_notified() {
    let mut fixture = Fixture::approved().await;
    let session = fixture.open_session().await;
    assert_eq!(fixture.sweep().await, 1);
    assert_eq!(fixture.round().await, 1);
    assert_eq!(fixture.receiver.only().session(), session.id().as_str());
}

#[tokio::test]
async fn without_an_endpoint_nothing_is_queued() {
    let mut fixture = Fixture::new().await;
    fixture.settle().await;
    assert_eq!((fixture.round().await, fixture.waiting()), (0, 0));
}

#[tokio::test]
async fn eight_attempts_in_28_hours_and_then_a_dead_letter() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("500 Down", "");
    fixture.settle().await;
    let steps = [0, 5_000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
    for (n, step) in steps.into_iter().enumerate() {
        if n > 0 {
            // Up to a fifth earlier, but no more.
            fixture.clock.advance(step - step / 5 - 1);
            assert_eq!(fixture.round().await, 0, "step {n} is early");
            fixture.clock.advance(2 * (step / 5) + 1);
        }
        assert_eq!(fixture.round().await, 1, "step {n} is late");
        let sent = fixture.receiver.last();
        assert_eq!(sent.header("x-webhook-attempt"), (n + 1).to_string());
        sent.verify(&fixture.secret, fixture.now());
    }
    let ids: Vec<String> =
        fixture.receiver.all().iter().map(|sent| sent.header("webhook-id")).collect();
    assert_eq!(ids.len(), SCHEDULE_MS.len());
    assert!(ids.iter().all(|id| *id == ids[0]));
    let letter = fixture.dead_letters().pop().unwrap();
    assert_eq!((letter.attempts, letter.error_message.as_deref()), (8, Some("http_status_500")));
    assert_eq!((letter.id, letter.failed_at), (ids[0].clone(), fixture.now()));
    assert_eq!(letter.payload, fixture.receiver.last().body);
    fixture.clock.advance(100 * HOUR);
    assert_eq!(fixture.round().await, 0);
}

#[tokio::test]
async fn retry_after_counts_between_one_and_two_steps() {
    for (value, sooner, at) in [("1", 4_999, 5_000), ("7", 6_999, 7_000), ("86400", 9_999, 10_000)]
    {
        let mut fixture = Fixture::approved().await;
        fixture.receiver.answer("503 Later", &format!("Retry-After: {value}\r\n"));
        fixture.settle().await;
        assert_eq!(fixture.round().await, 1);
        let failed = fixture.now();
        fixture.clock.set(failed.plus(sooner));
        assert_eq!(fixture.round().await, 0, "{value}");
        fixture.clock.set(failed.plus(at));
        assert_eq!(fixture.round().await, 1, "{value}");
    }
}

#[tokio::test]
async fn a_410_ends_the_attempts() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("410 Gone", "Retry-After: 1\r\n");
    fixture.settle().await;
    fixture.round().await;
    let letter = fixture.dead_letters().pop().unwrap();
    assert_eq!((letter.attempts, letter.error_message.as_deref()), (1, Some("http_status_410")));
}

#[tokio::test]
async fn any_2xx_is_success_and_nothing_else() {
    for (status, delivered) in [
        ("200 OK", true),
        ("201 Created", true),
        ("204 No Content", true),
        ("299 Fine", true),
        ("300 Choices", false),
        ("301 Moved", false),
        ("302 Found", false),
        ("303 See", false),
        ("307 Temporary", false),
        ("308 Permanent", false),
        ("400 Bad", false),
        ("404 Not Found", false),
        ("429 Slowly", false),
        ("503 Down", false),
    ] {
        let mut fixture = Fixture::approved().await;
        let location = fixture.receiver.url("/elsewhere");
        fixture.receiver.answer(status, &format!("Location: {location}\r\n"));
        fixture.settle().await;
        fixture.round().await;
        assert_eq!(fixture.waiting(), usize::from(!delivered), "{status}");
        assert_eq!(fixture.receiver.all().len(), 1, "{status}: followed");
    }
}

#[tokio::test]
async fn an_abandoned_lease_is_taken_over() {
    let mut fixture = Fixture::approved().await;
    fixture.settle().await;
    // A process that dies in the middle of an exchange.
    fixture.receiver.close_gate();
    assert_eq!(fixture.start_round().await, 1);
    fixture.restart_delivery();
    assert_eq!(fixture.start_round().await, 0, "leased");
    fixture.receiver.open_gate();
    fixture.clock.advance(MINUTE);
    assert_eq!(fixture.round().await, 1);
    let sent = fixture.receiver.all();
    assert!(!sent.is_empty() && fixture.waiting() == 0);
    assert!(sent.iter().all(|it| it.header("webhook-id") == sent[0].header("webhook-id")));
}

#[tokio::test]
async fn the_next_process_takes_over_immediately() {
    let mut fixture = Fixture::approved().await;
    fixture.settle().await;
    fixture.receiver.close_gate();
    fixture.start_round().await;
    fixture.restart_delivery();
    fixture.receiver.open_gate();
    assert_eq!(fixture.release_leases().await, 1);
    assert_eq!((fixture.round().await, fixture.waiting()), (1, 0));
}

#[tokio::test]
async fn a_replaced_secret_also_signs_for_a_day() {
    let mut fixture = Fixture::approved().await;
    let old = fixture.secret.clone();
    let new = fixture.put_endpoint(None).await;
    assert_ne!(old.expose(), new.expose());
    for (after, overlaps) in [(0, true), (24 * HOUR - 300_001, true), (300_001, false)] {
        fixture.clock.advance(after);
        fixture.settle().await;
        fixture.round().await;
        let sent = fixture.receiver.last();
        sent.verify(&new, fixture.now());
        assert_eq!(sent.is_signed_by(&old, fixture.now()), overlaps);
        let entries = sent.header("webhook-signature").split(' ').count();
        assert_eq!(entries, 1 + usize::from(overlaps));
    }
}

#[tokio::test]
async fn putting_the_same_secret_again_keeps_it_in_force() {
    let mut fixture = Fixture::approved().await;
    let first = fixture.put_endpoint(Some("the first secret of mine")).await;
    fixture.put_endpoint(Some("the first secret of mine")).await;
    fixture.settle().await;
    fixture.round().await;
    let sent = fixture.receiver.last();
    sent.verify(&first, fixture.now());
    // The provisioned secret still overlaps.
    assert!(sent.is_signed_by(&fixture.provisioned, fixture.now()));
}

#[tokio::test]
async fn retries_use_the_current_endpoint() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("500 Down", "");
    fixture.settle().await;
    fixture.round().await;
    fixture.receiver.answer("200 OK", "");
    fixture.put_endpoint_at("/other").await;
    fixture.clock.advance(MINUTE);
    fixture.round().await;
    assert!(fixture.receiver.last().head.starts_with("POST /other HTTP/1.1\r\n"));
    assert_eq!(fixture.waiting(), 0);
}

#[tokio::test]
async fn a_retry_is_one_attempt_whose_success_removes_the_dead_letter() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("410 Gone", "");
    fixture.settle().await;
    fixture.round().await;
    let id = fixture.dead_letters()[0].id.clone();
    fixture.receiver.answer("500 Down", "");
    for failed in [2, 3] {
        fixture.clock.advance(MINUTE);
        assert!(fixture.retry(&id).await.unwrap().is_sent);
        assert!(fixture.retry(&id).await.unwrap().is_sent, "twice is once");
        assert_eq!(fixture.round().await, 1);
        let letter = fixture.dead_letters().pop().unwrap();
        assert_eq!((letter.attempts, letter.failed_at), (failed, fixture.now()));
        assert_eq!(letter.error_message.as_deref(), Some("http_status_500"));
        fixture.clock.advance(100 * HOUR);
        assert_eq!(fixture.round().await, 0, "no schedule follows");
    }
    fixture.receiver.answer("200 OK", "");
    fixture.retry(&id).await.unwrap();
    assert_eq!((fixture.round().await, fixture.waiting()), (1, 0));
    assert_eq!(fixture.receiver.last().header("webhook-id"), id);
    assert!(fixture.retry(&id).await.is_none());
}

#[tokio::test]
async fn a_retry_survives_a_crash() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("410 Gone", "");
    fixture.settle().await;
    fixture.round().await;
    fixture.retry(&fixture.dead_letters()[0].id.clone()).await.unwrap();
    fixture.receiver.answer("200 OK", "");
    fixture.reopen().await;
    assert_eq!((fixture.round().await, fixture.waiting()), (1, 0));
}

#[tokio::test]
async fn deliveries_of_another_client_cannot_be_retried() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("410 Gone", "");
    fixture.settle().await;
    fixture.round().await;
    let id = fixture.dead_letters()[0].id.clone();
    let other = fixture.other_client();
    assert!(fixture.retry_as(&other, &id).await.is_none());
    let mut other_mode = fixture.caller.clone();
    other_mode.livemode = !other_mode.livemode;
    assert!(fixture.retry_as(&other_mode, &id).await.is_none());
    for unknown in ["", "whf_0000000000000000000000", "' OR 1=1 --"] {
        assert!(fixture.retry(unknown).await.is_none(), "{unknown}");
    }
    assert_eq!(fixture.round().await, 0);
}

#[tokio::test]
async fn dead_letters_are_kept_for_30_days() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("410 Gone", "");
    fixture.settle().await;
    fixture.round().await;
    fixture.clock.advance(30 * 24 * HOUR - 1);
    assert_eq!((fixture.tidy().await, fixture.waiting()), (0, 1));
    fixture.clock.advance(1);
    assert_eq!((fixture.tidy().await, fixture.waiting()), (1, 0));
}

#[tokio::test]
async fn dead_letters_come_in_pages_newest_first() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("410 Gone", "");
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.insert(0, fixture.settle().await);
        fixture.round().await;
        fixture.clock.advance(1);
    }
    let mut cursor = None;
    let mut seen = Vec::new();
    for (count, more) in [(2, true), (2, true), (1, false)] {
        let page = fixture.page(cursor.as_deref(), 2).unwrap();
        assert_eq!((page.letters.len(), page.next_cursor.is_some()), (count, more));
        seen.extend(page.letters.into_iter().map(|letter| letter.session_id));
        cursor = page.next_cursor;
    }
    assert_eq!(seen, sessions);
    assert!(fixture.page(Some("nonsense"), 2).is_err());
    let cursor = fixture.page(None, 2).unwrap().next_cursor;
    let other = fixture.other_client();
    assert!(fixture.page_as(&other, cursor.as_deref(), 2).is_err(), "another client's cursor");
    fixture.clock.advance(24 * HOUR);
    assert!(fixture.page(cursor.as_deref(), 2).is_err(), "a day old");
}

#[tokio::test]
async fn a_deleted_session_is_not_notified() {
    let mut fixture = Fixture::approved().await;
    let waiting = fixture.settle().await;
    fixture.delete(&waiting).await;
    assert_eq!((fixture.round().await, fixture.waiting()), (0, 0));
    fixture.receiver.answer("410 Gone", "");
    let dead = fixture.settle().await;
    fixture.round().await;
    fixture.delete(&dead).await;
    assert_eq!(fixture.waiting(), 0);
}

#[tokio::test]
async fn http_is_not_used_once_it_is_no_longer_allowed() {
    let mut fixture = Fixture::approved().await;
    fixture.settle().await;
    fixture.forbid_http();
    fixture.round().await;
    assert!(fixture.receiver.all().is_empty());
    assert_eq!(fixture.waiting(), 1);
}

#[test]
fn searching_for_due_notifications_takes_a_tenth_of_a_core_at_most() {
    assert_eq!(gathering(Duration::ZERO), GATHERING);
    assert_eq!(gathering(Duration::from_millis(1)), GATHERING);
    assert_eq!(gathering(Duration::from_millis(4)), Duration::from_millis(36));
    assert_eq!(gathering(Duration::from_secs(60)), POLL);
    // Even when exchanges end one after the other. If searches are quick, there is no pause.
    assert_eq!(pause(Duration::from_millis(1)), Duration::ZERO);
    assert_eq!(pause(Duration::from_millis(4)), Duration::from_millis(36));
}
