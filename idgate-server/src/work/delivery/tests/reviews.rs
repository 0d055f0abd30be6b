//! Host reviews by operators, and their effect on waiting notifications.

use super::fixture::{Fixture, HOUR, MINUTE};
use idgate_store::{HostStatus, Review};

#[tokio::test]
async fn nothing_is_sent_to_an_unreviewed_host_and_after_72_hours_it_is_given_up() {
    let mut fixture = Fixture::with_endpoint().await;
    fixture.settle().await;
    // Counted from when the session was settled.
    fixture.clock.advance(72 * HOUR - 300_001);
    assert_eq!((fixture.round().await, fixture.tidy().await), (0, 0));
    assert!(fixture.dead_letters().is_empty());
    fixture.clock.advance(1);
    fixture.tidy().await;
    assert_eq!(fixture.dead_letters().len(), 0, "a millisecond early");
    fixture.clock.advance(300_000);
    assert_eq!(fixture.tidy().await, 1);
    let letter = fixture.dead_letters().pop().unwrap();
    assert_eq!((letter.attempts, letter.error_message.as_deref()), (0, Some("host_not_approved")));
    assert!(fixture.receiver.all().is_empty());
    fixture.review(Review::Approve);
    assert_eq!(fixture.round().await, 0, "given up is given up");
    fixture.retry(&letter.id).await.unwrap();
    assert_eq!((fixture.round().await, fixture.waiting()), (1, 0));
}

#[tokio::test]
async fn approval_releases_held_notifications_in_order() {
    let mut fixture = Fixture::with_endpoint().await;
    let mut sessions = Vec::new();
    for _ in 0..20 {
        sessions.push(fixture.settle().await);
    }
    assert_eq!(fixture.round().await, 0);
    fixture.review(Review::Approve);
    while fixture.round().await > 0 {}
    let sent: Vec<String> = fixture.receiver.all().iter().map(|sent| sent.session()).collect();
    assert_eq!(sent, sessions);
    assert_eq!(fixture.waiting(), 0);
}

#[tokio::test]
async fn rejection_gives_up_held_scheduled_and_later_notifications() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("500 Down", "");
    fixture.settle().await;
    fixture.round().await;
    fixture.settle().await;
    assert_eq!(fixture.review(Review::Reject("not yours")), 2);
    let attempts: Vec<u32> = fixture.dead_letters().iter().map(|letter| letter.attempts).collect();
    assert_eq!(attempts, [0, 1]);
    fixture.settle().await;
    let letters = fixture.dead_letters();
    assert_eq!((letters.len(), letters[0].attempts), (3, 0));
    for letter in &letters {
        assert_eq!(letter.error_message.as_deref(), Some("host_rejected"));
    }
    fixture.clock.advance(HOUR);
    assert_eq!((fixture.round().await, fixture.receiver.all().len()), (0, 1));
    let record = fixture.endpoint();
    assert_eq!(record.host_status, HostStatus::Rejected);
    assert_eq!(record.host_review_note.as_deref(), Some("not yours"));
    fixture.review(Review::Approve);
    let record = fixture.endpoint();
    assert_eq!((record.host_status, record.host_review_note), (HostStatus::Approved, None));
}

#[tokio::test]
async fn a_retry_for_a_host_that_is_not_approved_sends_nothing_and_stays() {
    let mut fixture = Fixture::approved().await;
    fixture.settle().await;
    fixture.review(Review::Reject("later"));
    let before = fixture.dead_letters();
    let replay = fixture.retry(&before[0].id).await.unwrap();
    assert_eq!((replay.is_sent, &replay.session_id), (false, &before[0].session_id));
    fixture.clock.advance(MINUTE);
    assert_eq!(fixture.round().await, 0);
    assert_eq!(fixture.dead_letters(), before);
    assert!(fixture.receiver.all().is_empty());
}

#[tokio::test]
async fn a_review_between_retry_and_attempt_counts() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("410 Gone", "");
    fixture.settle().await;
    fixture.round().await;
    let before = fixture.dead_letters();
    assert!(fixture.retry(&before[0].id).await.unwrap().is_sent);
    fixture.review(Review::Reject("no"));
    assert_eq!(fixture.round().await, 0);
    assert_eq!(fixture.dead_letters(), before);
    fixture.review(Review::Approve);
    assert_eq!(fixture.round().await, 0, "the retry came to nothing");
}

#[tokio::test]
async fn a_delivery_that_fails_while_its_host_is_rejected_is_given_up_immediately() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.close_gate();
    fixture.settle().await;
    assert_eq!(fixture.start_round().await, 1);
    assert_eq!(fixture.review(Review::Reject("no")), 0, "it is under way");
    fixture.receiver.answer("500 Down", "");
    fixture.receiver.open_gate();
    assert_eq!((fixture.round().await, fixture.round().await), (0, 0));
    let letter = fixture.dead_letters().pop().unwrap();
    assert_eq!((letter.attempts, letter.error_message.as_deref()), (1, Some("host_rejected")));
}

#[tokio::test]
async fn a_retry_in_progress_finishes_when_another_is_forgotten() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("410 Gone", "");
    for _ in 0..2 {
        fixture.settle().await;
        fixture.round().await;
    }
    let [waiting, under_way] = fixture.dead_letters().try_into().unwrap();
    fixture.receiver.answer("200 OK", "");
    fixture.receiver.close_gate();
    fixture.retry(&under_way.id).await.unwrap();
    assert_eq!(fixture.start_round().await, 1);
    fixture.retry(&waiting.id).await.unwrap();
    fixture.put_endpoint_host("other.example").await;
    assert_eq!(fixture.start_round().await, 0);
    fixture.receiver.open_gate();
    assert_eq!(fixture.round().await, 0);
    assert_eq!(fixture.dead_letters(), [waiting]);
}

#[tokio::test]
async fn a_crash_keeps_the_order_of_released_notifications() {
    let mut fixture = Fixture::with_endpoint().await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(fixture.settle().await);
    }
    fixture.clock.advance(HOUR);
    fixture.review(Review::Approve);
    fixture.receiver.close_gate();
    assert_eq!(fixture.start_round().await, 1);
    fixture.restart_delivery();
    assert_eq!(fixture.release_leases().await, 1);
    fixture.receiver.open_gate();
    while fixture.round().await > 0 {}
    let mut sent: Vec<String> = fixture.receiver.all().iter().map(|sent| sent.session()).collect();
    sent.dedup();
    assert_eq!(sent, sessions);
}

#[tokio::test]
async fn a_review_may_come_before_any_endpoint() {
    let mut fixture = Fixture::new().await;
    fixture.review(Review::Approve);
    fixture.put_endpoint(None).await;
    assert_eq!(fixture.endpoint().host_status, HostStatus::Approved);
    fixture.settle().await;
    assert_eq!(fixture.round().await, 1);
    let hosts = fixture.operator().webhook_hosts().unwrap();
    assert_eq!((hosts.len(), hosts[0].host.as_str()), (1, "127.0.0.1"));
    assert_eq!(hosts[0].clients, [fixture.caller.client_id.as_str()]);
}

#[tokio::test]
async fn another_host_waits_for_its_own_review() {
    let mut fixture = Fixture::approved().await;
    fixture.receiver.answer("500 Down", "");
    fixture.settle().await;
    fixture.round().await;
    fixture.put_endpoint_host("other.example").await;
    assert_eq!(fixture.endpoint().host_status, HostStatus::Pending);
    fixture.clock.advance(HOUR);
    assert_eq!((fixture.round().await, fixture.waiting()), (0, 1));
    assert!(fixture.dead_letters().is_empty());
}

#[tokio::test]
async fn a_revoked_client_is_not_notified() {
    let mut fixture = Fixture::approved().await;
    fixture.settle().await;
    let open = fixture.open_session().await;
    fixture.operator().revoke_client(fixture.caller.client_id.as_str(), fixture.now()).unwrap();
    fixture.expire(open).await;
    assert_eq!(fixture.round().await, 0);
    let letters = fixture.dead_letters();
    assert_eq!(letters.len(), 1, "settled before the revocation");
    assert_eq!(letters[0].error_message.as_deref(), Some("endpoint_missing"));
    assert!(fixture.receiver.all().is_empty());
}
