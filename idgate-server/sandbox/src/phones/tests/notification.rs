//! The notification endpoint, and withdrawn samples.

use super::*;

fn issued(desk: &Desk) -> (Made, String, String) {
    let own = key("holder");
    let made = desk.offer(Sample::Pid);
    let token = desk.redeem(&made, &[]).text("access_token");
    let proof = desk.proof(&own).sign(&own);
    let reply = desk.credential(&token, &request(Sample::Pid, &[proof]));
    let id = reply.text("notification_id");
    (made, token, id)
}

fn notify(desk: &Desk, token: &str, body: &Value) -> Reply {
    let bearer = format!("Bearer {token}");
    desk.post("/vci/notification", &[("authorization", &bearer)], body)
}

#[test]
fn an_accepted_credential_is_stored_and_the_call_may_be_repeated() {
    let desk = Desk::new();
    let (made, token, id) = issued(&desk);
    for _ in 0..2 {
        let body = json!({ "notification_id": id, "event": "credential_accepted" });
        let reply = notify(&desk, &token, &body);
        assert_eq!((reply.status, reply.response.body().len()), (204, 0));
        assert_eq!(desk.state_of(&made), (Progress::Stored, None));
    }
}

#[test]
fn a_refused_request_does_not_affect_a_wallet_that_has_its_samples() {
    let desk = Desk::new();
    let (made, token, id) = issued(&desk);
    let wrong = json!({ "notification_id": id, "event": "credential_eaten" });
    assert_eq!(notify(&desk, &token, &wrong).status, 400);
    assert_eq!(desk.state_of(&made), (Progress::Issued, Some("event is unknown")));
    let stored = json!({ "notification_id": id, "event": "credential_accepted" });
    assert_eq!(notify(&desk, &token, &stored).status, 204);
    assert_eq!(notify(&desk, &token, &wrong).status, 400);
    assert_eq!(desk.state_of(&made).0, Progress::Stored);
}

#[test]
fn a_credential_that_the_wallet_gave_up_is_failed_with_the_reason() {
    for event in ["credential_failure", "credential_deleted"] {
        let desk = Desk::new();
        let (made, token, id) = issued(&desk);
        let body =
            json!({ "notification_id": id, "event": event, "event_description": "a secret" });
        assert_eq!(notify(&desk, &token, &body).status, 204);
        let (progress, rule) = desk.state_of(&made);
        assert_eq!(progress, Progress::Failed);
        assert!(rule.unwrap().starts_with("the wallet says that"), "{rule:?}");
    }
}

#[test]
fn an_unknown_id_is_invalid_notification_id_and_a_malformed_one_invalid_notification_request() {
    let desk = Desk::new();
    let (made, token, id) = issued(&desk);
    let (_, other, _) = issued(&desk);
    let accepted = |id: &str| json!({ "notification_id": id, "event": "credential_accepted" });
    assert_eq!(notify(&desk, &token, &accepted("x")).outcome(), (400, "invalid_notification_id"));
    let reply = notify(&desk, &other, &accepted(&id));
    assert_eq!(reply.outcome(), (400, "invalid_notification_id"), "of another token");
    for body in [
        json!({ "event": "credential_accepted" }),
        json!({ "notification_id": id }),
        json!({ "notification_id": id, "event": "other" }),
        json!([]),
    ] {
        let reply = notify(&desk, &token, &body);
        assert_eq!(reply.outcome(), (400, "invalid_notification_request"), "{body}");
    }
    assert_eq!(notify(&desk, "unknown", &accepted(&id)).outcome(), (401, "invalid_token"));
    assert_eq!(desk.issued(&made), 1);
}

#[test]
fn a_withdrawal_changes_the_published_lists_and_no_others_sample() {
    let desk = Desk::new();
    let (made, _, _) = issued(&desk);
    let (other, _, _) = issued(&desk);
    let list = || {
        let token = String::from_utf8(desk.phones.published("status.jwt").unwrap().1).unwrap();
        let claims = idgate_testkit::jws::payload(&token).unwrap();
        // Verifiers do not cache such a list.
        assert!(claims["exp"].is_null() && claims["ttl"].is_null(), "{claims}");
        claims["status_list"]["lst"].clone()
    };
    let before = list();
    assert_eq!(desk.phones.withdraw(&made.id), Ok(Some(1)));
    assert_eq!(desk.phones.withdraw("nonsense"), Ok(None));
    assert_ne!(list(), before);
    let line = |made: &Made| {
        let all = desk.phones.offers();
        let line = all.iter().find(|line| line.id == made.id).unwrap();
        (line.issued, line.withdrawn)
    };
    assert_eq!((line(&made), line(&other)), ((1, 1), (1, 0)));
}
