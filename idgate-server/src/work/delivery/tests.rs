//! Delivery over real sockets from a real database, on a clock that the tests move.

mod fixture;
mod reviews;

use idgate_core::webhook::SCHEDULE_MS;

use self::fixture::{Desk, HOUR, MINUTE};

#[tokio::test]
async fn a_settled_session_is_delivered_once_signed_and_without_claims() {
    let mut desk = Desk::approved().await;
    let session = desk.settle().await;
    assert_eq!(desk.round().await, 1);
    let sent = desk.receiver.only();
    sent.verify(&desk.secret, desk.now());
    let body: serde_json::Value = serde_json::from_str(&sent.body).unwrap();
    let members: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(members, ["clientId", "issuerId", "latencyMs", "sessionId", "status"]);
    assert_eq!(body["sessionId"], session.as_str());
    assert_eq!(body["clientId"], desk.caller.client_id.as_str());
    assert_eq!((&body["status"], &body["issuerId"]), (&"EXPIRED".into(), &"issuer".into()));
    assert_eq!(body["latencyMs"], 300_000);
    assert_eq!(sent.header("webhook-id"), format!("whf_{}", &session[4..]));
    assert_eq!(sent.header("content-type"), "application/json");
    assert_eq!(sent.header("x-webhook-attempt"), "1");
    for absent in ["accept-encoding", "authorization", "cookie"] {
        assert!(!sent.head.to_ascii_lowercase().contains(absent), "{}", sent.head);
    }
    desk.clock.advance(HOUR);
    assert_eq!((desk.round().await, desk.waiting()), (0, 0));
}

#[tokio::test]
async fn what_the_sweeper_expires_is_told() {
    let mut desk = Desk::approved().await;
    let session = desk.open_session().await;
    assert_eq!(desk.sweep().await, 1);
    assert_eq!(desk.round().await, 1);
    assert_eq!(desk.receiver.only().session(), session.id().as_str());
}

#[tokio::test]
async fn without_an_endpoint_nothing_waits() {
    let mut desk = Desk::new().await;
    desk.settle().await;
    assert_eq!((desk.round().await, desk.waiting()), (0, 0));
}

#[tokio::test]
async fn eight_attempts_in_28_hours_and_then_a_dead_letter() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("500 Down", "");
    desk.settle().await;
    let steps = [0, 5_000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
    for (n, step) in steps.into_iter().enumerate() {
        if n > 0 {
            // Up to a fifth sooner, and no sooner than that.
            desk.clock.advance(step - step / 5 - 1);
            assert_eq!(desk.round().await, 0, "step {n} is early");
            desk.clock.advance(2 * (step / 5) + 1);
        }
        assert_eq!(desk.round().await, 1, "step {n} is late");
        let sent = desk.receiver.last();
        assert_eq!(sent.header("x-webhook-attempt"), (n + 1).to_string());
        sent.verify(&desk.secret, desk.now());
    }
    let ids: Vec<String> =
        desk.receiver.all().iter().map(|sent| sent.header("webhook-id")).collect();
    assert_eq!(ids.len(), SCHEDULE_MS.len());
    assert!(ids.iter().all(|id| *id == ids[0]));
    let letter = desk.dead_letters().pop().unwrap();
    assert_eq!((letter.attempts, letter.error_message.as_deref()), (8, Some("http_status_500")));
    assert_eq!((letter.id, letter.failed_at), (ids[0].clone(), desk.now()));
    assert_eq!(letter.payload, desk.receiver.last().body);
    desk.clock.advance(100 * HOUR);
    assert_eq!(desk.round().await, 0);
}

#[tokio::test]
async fn retry_after_counts_between_one_and_two_steps() {
    for (value, sooner, at) in [("1", 4_999, 5_000), ("7", 6_999, 7_000), ("86400", 9_999, 10_000)]
    {
        let mut desk = Desk::approved().await;
        desk.receiver.answer("503 Later", &format!("Retry-After: {value}\r\n"));
        desk.settle().await;
        assert_eq!(desk.round().await, 1);
        let failed = desk.now();
        desk.clock.set(failed.plus(sooner));
        assert_eq!(desk.round().await, 0, "{value}");
        desk.clock.set(failed.plus(at));
        assert_eq!(desk.round().await, 1, "{value}");
    }
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_not_asked_again() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("410 Gone", "Retry-After: 1\r\n");
    desk.settle().await;
    desk.round().await;
    let letter = desk.dead_letters().pop().unwrap();
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
        let mut desk = Desk::approved().await;
        let location = desk.receiver.url("/elsewhere");
        desk.receiver.answer(status, &format!("Location: {location}\r\n"));
        desk.settle().await;
        desk.round().await;
        assert_eq!(desk.waiting(), usize::from(!delivered), "{status}");
        assert_eq!(desk.receiver.all().len(), 1, "{status}: followed");
    }
}

#[tokio::test]
async fn a_lease_that_nobody_ends_is_taken_over() {
    let mut desk = Desk::approved().await;
    desk.settle().await;
    // A process that dies in the middle of an exchange.
    desk.receiver.close_gate();
    assert_eq!(desk.start_round().await, 1);
    desk.restart_delivery();
    assert_eq!(desk.start_round().await, 0, "leased");
    desk.receiver.open_gate();
    desk.clock.advance(MINUTE);
    assert_eq!(desk.round().await, 1);
    let sent = desk.receiver.all();
    assert!(!sent.is_empty() && desk.waiting() == 0);
    assert!(sent.iter().all(|it| it.header("webhook-id") == sent[0].header("webhook-id")));
}

#[tokio::test]
async fn the_next_process_takes_over_at_once() {
    let mut desk = Desk::approved().await;
    desk.settle().await;
    desk.receiver.close_gate();
    desk.start_round().await;
    desk.restart_delivery();
    desk.receiver.open_gate();
    assert_eq!(desk.release_leases().await, 1);
    assert_eq!((desk.round().await, desk.waiting()), (1, 0));
}

#[tokio::test]
async fn a_replaced_secret_signs_beside_the_new_one_for_a_day() {
    let mut desk = Desk::approved().await;
    let old = desk.secret.clone();
    let new = desk.put_endpoint(None).await;
    assert_ne!(old.expose(), new.expose());
    for (after, overlaps) in [(0, true), (24 * HOUR - 300_001, true), (300_001, false)] {
        desk.clock.advance(after);
        desk.settle().await;
        desk.round().await;
        let sent = desk.receiver.last();
        sent.verify(&new, desk.now());
        assert_eq!(sent.is_signed_by(&old, desk.now()), overlaps);
        let entries = sent.header("webhook-signature").split(' ').count();
        assert_eq!(entries, 1 + usize::from(overlaps));
    }
}

#[tokio::test]
async fn a_secret_stays_in_force_when_it_is_put_again() {
    let mut desk = Desk::approved().await;
    let first = desk.put_endpoint(Some("the first secret of mine")).await;
    desk.put_endpoint(Some("the first secret of mine")).await;
    desk.settle().await;
    desk.round().await;
    let sent = desk.receiver.last();
    sent.verify(&first, desk.now());
    // The one that was provisioned still overlaps.
    assert!(sent.is_signed_by(&desk.provisioned, desk.now()));
}

#[tokio::test]
async fn retries_use_the_endpoint_of_their_time() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("500 Down", "");
    desk.settle().await;
    desk.round().await;
    desk.receiver.answer("200 OK", "");
    desk.put_endpoint_at("/other").await;
    desk.clock.advance(MINUTE);
    desk.round().await;
    assert!(desk.receiver.last().head.starts_with("POST /other HTTP/1.1\r\n"));
    assert_eq!(desk.waiting(), 0);
}

#[tokio::test]
async fn a_retry_is_one_attempt_whose_success_removes_the_dead_letter() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("410 Gone", "");
    desk.settle().await;
    desk.round().await;
    let id = desk.dead_letters()[0].id.clone();
    desk.receiver.answer("500 Down", "");
    for failed in [2, 3] {
        desk.clock.advance(MINUTE);
        assert!(desk.retry(&id).await.unwrap().is_sent);
        assert!(desk.retry(&id).await.unwrap().is_sent, "twice is once");
        assert_eq!(desk.round().await, 1);
        let letter = desk.dead_letters().pop().unwrap();
        assert_eq!((letter.attempts, letter.failed_at), (failed, desk.now()));
        assert_eq!(letter.error_message.as_deref(), Some("http_status_500"));
        desk.clock.advance(100 * HOUR);
        assert_eq!(desk.round().await, 0, "no schedule follows");
    }
    desk.receiver.answer("200 OK", "");
    desk.retry(&id).await.unwrap();
    assert_eq!((desk.round().await, desk.waiting()), (1, 0));
    assert_eq!(desk.receiver.last().header("webhook-id"), id);
    assert!(desk.retry(&id).await.is_none());
}

#[tokio::test]
async fn a_retry_survives_a_crash() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("410 Gone", "");
    desk.settle().await;
    desk.round().await;
    desk.retry(&desk.dead_letters()[0].id.clone()).await.unwrap();
    desk.receiver.answer("200 OK", "");
    desk.reopen().await;
    assert_eq!((desk.round().await, desk.waiting()), (1, 0));
}

#[tokio::test]
async fn what_is_not_ones_own_cannot_be_retried() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("410 Gone", "");
    desk.settle().await;
    desk.round().await;
    let id = desk.dead_letters()[0].id.clone();
    let other = desk.other_client();
    assert!(desk.retry_as(&other, &id).await.is_none());
    let mut other_mode = desk.caller.clone();
    other_mode.livemode = !other_mode.livemode;
    assert!(desk.retry_as(&other_mode, &id).await.is_none());
    for unknown in ["", "whf_0000000000000000000000", "' OR 1=1 --"] {
        assert!(desk.retry(unknown).await.is_none(), "{unknown}");
    }
    assert_eq!(desk.round().await, 0);
}

#[tokio::test]
async fn dead_letters_are_kept_for_30_days() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("410 Gone", "");
    desk.settle().await;
    desk.round().await;
    desk.clock.advance(30 * 24 * HOUR - 1);
    assert_eq!((desk.tidy().await, desk.waiting()), (0, 1));
    desk.clock.advance(1);
    assert_eq!((desk.tidy().await, desk.waiting()), (1, 0));
}

#[tokio::test]
async fn dead_letters_come_in_pages_newest_first() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("410 Gone", "");
    let mut sessions = Vec::new();
    for _ in 0..5 {
        sessions.insert(0, desk.settle().await);
        desk.round().await;
        desk.clock.advance(1);
    }
    let mut cursor = None;
    let mut seen = Vec::new();
    for (count, more) in [(2, true), (2, true), (1, false)] {
        let page = desk.page(cursor.as_deref(), 2).unwrap();
        assert_eq!((page.letters.len(), page.next_cursor.is_some()), (count, more));
        seen.extend(page.letters.into_iter().map(|letter| letter.session_id));
        cursor = page.next_cursor;
    }
    assert_eq!(seen, sessions);
    assert!(desk.page(Some("nonsense"), 2).is_err());
    let cursor = desk.page(None, 2).unwrap().next_cursor;
    let other = desk.other_client();
    assert!(desk.page_as(&other, cursor.as_deref(), 2).is_err(), "another client's cursor");
    desk.clock.advance(24 * HOUR);
    assert!(desk.page(cursor.as_deref(), 2).is_err(), "a day old");
}

#[tokio::test]
async fn a_deleted_session_notifies_nobody() {
    let mut desk = Desk::approved().await;
    let waiting = desk.settle().await;
    desk.delete(&waiting).await;
    assert_eq!((desk.round().await, desk.waiting()), (0, 0));
    desk.receiver.answer("410 Gone", "");
    let dead = desk.settle().await;
    desk.round().await;
    desk.delete(&dead).await;
    assert_eq!(desk.waiting(), 0);
}

#[tokio::test]
async fn http_is_not_used_once_it_is_not_allowed() {
    let mut desk = Desk::approved().await;
    desk.settle().await;
    desk.forbid_http();
    desk.round().await;
    assert!(desk.receiver.all().is_empty());
    assert_eq!(desk.waiting(), 1);
}
