//! What operators decide about hosts, and what it does to what waits.

use super::fixture::{Desk, HOUR, MINUTE};
use crate::store::{HostStatus, Review};

#[tokio::test]
async fn nothing_is_sent_to_a_host_that_nobody_reviewed_and_after_72_hours_it_is_given_up() {
    let mut desk = Desk::with_endpoint().await;
    desk.settle().await;
    // From its settlement on.
    desk.clock.advance(72 * HOUR - 300_001);
    assert_eq!((desk.round().await, desk.tidy().await), (0, 0));
    assert!(desk.dead_letters().is_empty());
    desk.clock.advance(1);
    desk.tidy().await;
    assert_eq!(desk.dead_letters().len(), 0, "a millisecond early");
    desk.clock.advance(300_000);
    assert_eq!(desk.tidy().await, 1);
    let letter = desk.dead_letters().pop().unwrap();
    assert_eq!((letter.attempts, letter.error_message.as_deref()), (0, Some("host_not_approved")));
    assert!(desk.receiver.all().is_empty());
    desk.review(Review::Approve);
    assert_eq!(desk.round().await, 0, "given up is given up");
    desk.retry(&letter.id).await.unwrap();
    assert_eq!((desk.round().await, desk.waiting()), (1, 0));
}

#[tokio::test]
async fn approval_releases_what_is_held_in_order() {
    let mut desk = Desk::with_endpoint().await;
    let mut sessions = Vec::new();
    for _ in 0..20 {
        sessions.push(desk.settle().await);
    }
    assert_eq!(desk.round().await, 0);
    desk.review(Review::Approve);
    while desk.round().await > 0 {}
    let sent: Vec<String> = desk.receiver.all().iter().map(|sent| sent.session()).collect();
    assert_eq!(sent, sessions);
    assert_eq!(desk.waiting(), 0);
}

#[tokio::test]
async fn rejection_gives_up_what_is_held_and_scheduled_and_what_comes_later() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("500 Down", "");
    desk.settle().await;
    desk.round().await;
    desk.settle().await;
    assert_eq!(desk.review(Review::Reject("not yours")), 2);
    let attempts: Vec<u32> = desk.dead_letters().iter().map(|letter| letter.attempts).collect();
    assert_eq!(attempts, [0, 1]);
    desk.settle().await;
    let letters = desk.dead_letters();
    assert_eq!((letters.len(), letters[0].attempts), (3, 0));
    for letter in &letters {
        assert_eq!(letter.error_message.as_deref(), Some("host_rejected"));
    }
    desk.clock.advance(HOUR);
    assert_eq!((desk.round().await, desk.receiver.all().len()), (0, 1));
    let record = desk.endpoint();
    assert_eq!(record.host_status, HostStatus::Rejected);
    assert_eq!(record.host_review_note.as_deref(), Some("not yours"));
    desk.review(Review::Approve);
    let record = desk.endpoint();
    assert_eq!((record.host_status, record.host_review_note), (HostStatus::Approved, None));
}

#[tokio::test]
async fn a_retry_for_a_host_that_is_not_approved_sends_nothing_and_stays() {
    let mut desk = Desk::approved().await;
    desk.settle().await;
    desk.review(Review::Reject("later"));
    let before = desk.dead_letters();
    let replay = desk.retry(&before[0].id).await.unwrap();
    assert_eq!((replay.is_sent, &replay.session_id), (false, &before[0].session_id));
    desk.clock.advance(MINUTE);
    assert_eq!(desk.round().await, 0);
    assert_eq!(desk.dead_letters(), before);
    assert!(desk.receiver.all().is_empty());
}

#[tokio::test]
async fn a_verdict_between_retry_and_attempt_counts() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("410 Gone", "");
    desk.settle().await;
    desk.round().await;
    let before = desk.dead_letters();
    assert!(desk.retry(&before[0].id).await.unwrap().is_sent);
    desk.review(Review::Reject("no"));
    assert_eq!(desk.round().await, 0);
    assert_eq!(desk.dead_letters(), before);
    desk.review(Review::Approve);
    assert_eq!(desk.round().await, 0, "the retry came to nothing");
}

#[tokio::test]
async fn what_fails_while_its_host_is_rejected_is_given_up_at_once() {
    let mut desk = Desk::approved().await;
    desk.receiver.close_gate();
    desk.settle().await;
    assert_eq!(desk.start_round().await, 1);
    assert_eq!(desk.review(Review::Reject("no")), 0, "it is under way");
    desk.receiver.answer("500 Down", "");
    desk.receiver.open_gate();
    assert_eq!((desk.round().await, desk.round().await), (0, 0));
    let letter = desk.dead_letters().pop().unwrap();
    assert_eq!((letter.attempts, letter.error_message.as_deref()), (1, Some("host_rejected")));
}

#[tokio::test]
async fn a_retry_under_way_ends_as_it_will_when_another_is_forgotten() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("410 Gone", "");
    for _ in 0..2 {
        desk.settle().await;
        desk.round().await;
    }
    let [waiting, under_way] = desk.dead_letters().try_into().unwrap();
    desk.receiver.answer("200 OK", "");
    desk.receiver.close_gate();
    desk.retry(&under_way.id).await.unwrap();
    assert_eq!(desk.start_round().await, 1);
    desk.retry(&waiting.id).await.unwrap();
    desk.put_endpoint_host("other.example").await;
    assert_eq!(desk.start_round().await, 0);
    desk.receiver.open_gate();
    assert_eq!(desk.round().await, 0);
    assert_eq!(desk.dead_letters(), [waiting]);
}

#[tokio::test]
async fn a_crash_in_between_keeps_the_order_of_what_is_released() {
    let mut desk = Desk::with_endpoint().await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(desk.settle().await);
    }
    desk.clock.advance(HOUR);
    desk.review(Review::Approve);
    desk.receiver.close_gate();
    assert_eq!(desk.start_round().await, 1);
    desk.restart_delivery();
    assert_eq!(desk.release_leases().await, 1);
    desk.receiver.open_gate();
    while desk.round().await > 0 {}
    let mut sent: Vec<String> = desk.receiver.all().iter().map(|sent| sent.session()).collect();
    sent.dedup();
    assert_eq!(sent, sessions);
}

#[tokio::test]
async fn a_review_may_come_before_any_endpoint() {
    let mut desk = Desk::new().await;
    desk.review(Review::Approve);
    desk.put_endpoint(None).await;
    assert_eq!(desk.endpoint().host_status, HostStatus::Approved);
    desk.settle().await;
    assert_eq!(desk.round().await, 1);
    let hosts = desk.operator().webhook_hosts().unwrap();
    assert_eq!((hosts.len(), hosts[0].host.as_str()), (1, "127.0.0.1"));
    assert_eq!(hosts[0].clients, [desk.caller.client_id.as_str()]);
}

#[tokio::test]
async fn another_host_waits_for_its_own_review() {
    let mut desk = Desk::approved().await;
    desk.receiver.answer("500 Down", "");
    desk.settle().await;
    desk.round().await;
    desk.put_endpoint_host("other.example").await;
    assert_eq!(desk.endpoint().host_status, HostStatus::Pending);
    desk.clock.advance(HOUR);
    assert_eq!((desk.round().await, desk.waiting()), (0, 1));
    assert!(desk.dead_letters().is_empty());
}

#[tokio::test]
async fn a_revoked_client_is_not_notified() {
    let mut desk = Desk::approved().await;
    desk.settle().await;
    let open = desk.open_session().await;
    desk.operator().revoke_client(desk.caller.client_id.as_str(), desk.now()).unwrap();
    desk.expire(open).await;
    assert_eq!(desk.round().await, 0);
    let letters = desk.dead_letters();
    assert_eq!(letters.len(), 1, "settled before the revocation");
    assert_eq!(letters[0].error_message.as_deref(), Some("endpoint_missing"));
    assert!(desk.receiver.all().is_empty());
}
