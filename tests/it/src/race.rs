//! Of any number of concurrent answers exactly one settles the session (decisions 6).

use std::sync::Barrier;
use std::thread;

use idgate_testkit::wallet::Body;
use serde_json::{Value, json};

use crate::disk;
use crate::http::Http;
use crate::tenant::{Created, Gateway, answer_request, form, request_for, sample_wallet};

const SESSIONS: usize = 200;
const POSTS: usize = 64;

#[test]
fn of_64_concurrent_answers_exactly_one_settles_the_session() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let wallet = sample_wallet();
    let mut wallets: Vec<Http> = (0..POSTS).map(|_| gateway.http()).collect();
    for _ in 0..SESSIONS {
        let created = tenant.create(&request_for(&["given_name"]));
        let body = form(&wallet, &created);
        let answers = post_at_once(&mut wallets, &created, &body);
        let count = |wanted| answers.iter().filter(|answer| *answer == wanted).count();
        let counts = (count("200 ok"), count("409 session_not_pending"));
        assert_eq!(counts, (1, POSTS - 1), "{answers:?}");
        let session = tenant.read(&created.id);
        assert_eq!(session["status"], "VERIFIED");
        assert_eq!(session["claims"], json!({ "pid": { "given_name": "Erika" } }));
    }
    let events = disk::events_with(&gateway.installation.data_dir(), "VERIFIED");
    assert_eq!(events, SESSIONS, "a session was VERIFIED more than once");
}

/// The same answer from every wallet concurrently. Returns the outcome for each.
fn post_at_once(wallets: &mut [Http], created: &Created, body: &Body) -> Vec<String> {
    let start = Barrier::new(wallets.len());
    thread::scope(|scope| {
        let posting: Vec<_> = wallets
            .iter_mut()
            .map(|http| {
                scope.spawn(|| {
                    start.wait();
                    post(http, created, body)
                })
            })
            .collect();
        posting.into_iter().map(|post| post.join().unwrap()).collect()
    })
}

#[test]
fn a_session_deleted_during_verification_stays_deleted() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let wallet = sample_wallet();
    for _ in 0..50 {
        let created = tenant.create(&request_for(&["given_name"]));
        let body = form(&wallet, &created);
        let start = Barrier::new(2);
        let posted = thread::scope(|scope| {
            let posting = scope.spawn(|| {
                let mut http = gateway.http();
                start.wait();
                post(&mut http, &created, &body)
            });
            start.wait();
            tenant.delete(&created.id).expect_status(204);
            posting.join().unwrap()
        });
        assert!(["200 ok", "409 session_not_pending"].contains(&posted.as_str()), "{posted}");
        tenant.get(&created.id).expect_error(404, "not_found");
    }
}

/// Status and outcome in short.
fn post(http: &mut Http, created: &Created, body: &Body) -> String {
    match http.try_send(&answer_request(&created.id, body)) {
        Ok(response) => {
            let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
            let outcome = body["error"].as_str().or(body["status"].as_str()).unwrap_or_default();
            format!("{} {outcome}", response.status)
        }
        Err(error) => error.to_string(),
    }
}
