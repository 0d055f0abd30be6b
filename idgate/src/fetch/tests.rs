//! The forms in which a source is requested, and the budget that the fetches of one answer share.

use idgate_core::{CredentialFormat, IssuerId};
use idgate_testkit::patience::{patience, until};

use super::*;
use crate::loopback::{Loopback, answer, header};

const CWT: &str = "application/statuslist+cwt";
const JWT: &str = "application/statuslist+jwt";

fn list(source: &Loopback, format: CredentialFormat) -> Asked {
    asked(Need::StatusList { uri: source.url(), format })
}

fn crl(source: &Loopback) -> Asked {
    asked(Need::Crl { uri: source.url() })
}

fn asked(need: Need) -> Asked {
    Asked { need, issuers: vec![IssuerId::new("issuer")] }
}

/// An allowance with the time of a test, and that many requests.
fn allowing(requests: usize) -> Allowance {
    Allowance { requests, ..Allowance::of(patience(), patience()) }
}

fn local() -> Arc<Fetcher> {
    Fetcher::reaching(&["127.0.0.0/8"])
}

/// The outcome of each fetch; `None`: no usable body.
async fn bodies(
    fetcher: &Arc<Fetcher>,
    asked: Vec<Asked>,
    allowed: &mut Allowance,
) -> Vec<Option<Vec<u8>>> {
    let outcomes = fetcher.fetch(asked, allowed).await.0.into_iter();
    let body = |(_, came)| match came {
        Delivery::Body(body) => Some(body.as_ref().to_vec()),
        Delivery::Nothing(_) | Delivery::Spent => None,
        Delivery::NotAsked => panic!("it was not asked"),
    };
    outcomes.map(body).collect()
}

fn accepted(source: &Loopback) -> Vec<String> {
    let accept = |head: &String| header(head, "accept").unwrap_or_default().to_owned();
    source.heads().iter().map(accept).collect()
}

/// A host with the list only in the form `has`. It answers `status` to requests for another form.
fn give_only(source: &Loopback, has: &'static str, status: &'static str) {
    source.give_by(move |head| match header(head, "accept") == Some(has) {
        true => answer("200 OK", "", b"a list"),
        false => answer(status, "", b"none"),
    });
}

#[tokio::test]
async fn a_host_of_mdocs_that_has_jwts_alone_is_asked_again_for_one() {
    for status in ["404 Not Found", "406 Not Acceptable", "415 Unsupported Media Type"] {
        let source = Loopback::start().await;
        give_only(&source, JWT, status);
        let mut allowed = allowing(20);
        let came =
            bodies(&local(), vec![list(&source, CredentialFormat::Mdoc)], &mut allowed).await;
        assert_eq!(came, [Some(b"a list".to_vec())], "{status}");
        assert_eq!(accepted(&source), [CWT, JWT]);
        assert_eq!(allowed.requests, 18);
    }
}

#[tokio::test]
async fn a_host_of_mdocs_that_has_cwts_is_asked_once() {
    let source = Loopback::start().await;
    give_only(&source, CWT, "406 Not Acceptable");
    let asked = vec![list(&source, CredentialFormat::Mdoc)];
    assert_eq!(bodies(&local(), asked, &mut allowing(20)).await, [Some(b"a list".to_vec())]);
    assert_eq!(accepted(&source), [CWT]);
}

#[tokio::test]
async fn no_other_status_and_no_other_source_is_asked_again() {
    let source = Loopback::start().await;
    for status in ["400 Bad Request", "403 Forbidden", "410 Gone", "500 Broken", "206 Partial"] {
        give_only(&source, JWT, status);
        let asked = vec![list(&source, CredentialFormat::Mdoc)];
        assert_eq!(bodies(&local(), asked, &mut allowing(20)).await, [None], "{status}");
    }
    assert_eq!(accepted(&source), [CWT; 5]);
    for status in ["404 Not Found", "406 Not Acceptable", "415 Unsupported Media Type"] {
        let source = Loopback::start().await;
        give_only(&source, CWT, status);
        let asked = vec![list(&source, CredentialFormat::SdJwtVc), crl(&source)];
        assert_eq!(bodies(&local(), asked, &mut allowing(20)).await, [None, None]);
        let mut accepted = accepted(&source);
        accepted.sort_unstable();
        assert_eq!(accepted, ["application/pkix-crl", JWT]);
    }
}

#[tokio::test]
async fn redirects_and_second_attempts_share_the_time_of_the_answer() {
    let (source, silent) = (Loopback::start().await, Loopback::start().await);
    silent.close_gate();
    let moved = format!("Location: {}\r\n", silent.url());
    let (redirected, refused) = (moved.clone(), "406 Not Acceptable");
    for hop in [false, true] {
        let moved = redirected.clone();
        source.give_by(move |head| match hop || header(head, "accept") == Some(JWT) {
            true => answer("302 Found", &moved, b""),
            false => answer(refused, "", b""),
        });
        let mut allowed = Allowance::of(patience(), std::time::Duration::from_millis(200));
        let asked = vec![list(&source, CredentialFormat::Mdoc)];
        assert_eq!(bodies(&local(), asked, &mut allowed).await, [None]);
        assert!(allowed.sources.is_zero(), "nothing is left for a later round");
    }
}

#[tokio::test]
async fn redirects_and_second_attempts_count_as_requests_of_the_answer() {
    let [source, good, moved, deep] = [(); 4].map(|()| Loopback::start());
    let (source, good, moved, deep) = tokio::join!(source, good, moved, deep);
    let to = |next: &Loopback| format!("Location: {}\r\n", next.url());
    source.give_with("302 Found", &to(&moved), b"");
    moved.give_with("302 Found", &to(&deep), b"");
    for all in [&good, &deep] {
        all.give(b"a list");
    }
    let fetcher = local();
    // Each source has its own first request, however many redirects the other one has.
    let asked = || vec![crl(&source), crl(&good)];
    let mut allowed = allowing(3);
    assert_eq!(bodies(&fetcher, asked(), &mut allowed).await, [None, Some(b"a list".to_vec())]);
    assert_eq!((source.connections(), moved.connections(), deep.connections()), (1, 1, 0));
    assert_eq!(allowed.requests, 0);
    // A later round of the same answer has no request left.
    assert_eq!(bodies(&fetcher, asked(), &mut allowed).await, [None, None]);
    assert_eq!((source.connections(), good.connections()), (1, 1));
    let mut enough = allowing(4);
    let list_each = Some(b"a list".to_vec());
    assert_eq!(bodies(&fetcher, asked(), &mut enough).await, [list_each.clone(), list_each]);
    assert_eq!(enough.requests, 0);
    give_only(&source, JWT, "404 Not Found");
    let asked = vec![list(&source, CredentialFormat::Mdoc)];
    assert_eq!(bodies(&fetcher, asked, &mut allowing(1)).await, [None]);
    assert_eq!(accepted(&source).last().map(String::as_str), Some(CWT));
}

#[test]
fn an_answer_has_as_many_requests_as_it_may_name_sources() {
    assert_eq!(Allowance::of_one_answer().requests, 20);
}

/// An answer that joins another answer's fetch does not pay for its requests.
#[tokio::test]
async fn an_answer_without_requests_left_takes_none_from_others_that_wait_for_the_same_source() {
    let (source, moved) = (Loopback::start().await, Loopback::start().await);
    source.give_with("302 Found", &format!("Location: {}\r\n", moved.url()), b"");
    moved.give(b"a list");
    source.close_gate();
    let fetcher = local();
    let mut fetching = Vec::new();
    for (already, requests) in [1, 20].into_iter().enumerate() {
        let (fetcher, asked) = (fetcher.clone(), vec![crl(&source)]);
        let waiting = fetcher.clone();
        fetching.push(tokio::spawn(async move {
            bodies(&fetcher, asked, &mut allowing(requests)).await
        }));
        until("it waits", async || waiting.waiting() == already + 1).await;
    }
    until("the source is asked", async || source.connections() == 1).await;
    source.open_gate();
    let mut came = Vec::new();
    for fetch in fetching {
        came.extend(fetch.await.unwrap());
    }
    assert_eq!(came, [None, Some(b"a list".to_vec())]);
    assert_eq!((source.connections(), moved.connections()), (2, 1));
}
