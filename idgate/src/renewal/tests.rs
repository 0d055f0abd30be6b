//! Which sources are fetched ahead, when, and how many. The tests supply time and entropy.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::{EntropyUnavailable, Expected, Issuer, Mode, PresentationStep, Reason, Sent};
use idgate_testkit::issuer::Issued;
use idgate_testkit::keys::Curve;
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{self, ISSUER};
use idgate_testkit::status::{Crl, StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{SAMPLE_NOW_MS, compact_utc, numeric_date};
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use idgate_testkit::x509::{
    CRL_DISTRIBUTION_POINTS, Identity, distribution_points, key_identifier,
};
use serde_json::json;

use super::*;
use crate::loopback::Loopback;
use crate::questions::Questions;

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const MINUTE_MS: u64 = 60 * 1000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// Always the same draw.
struct Drawn(u64);

impl Entropy for Drawn {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        out.copy_from_slice(&self.0.to_be_bytes());
        Ok(())
    }
}

/// The smallest draw: a copy is due an eighth of its validity before its end.
const LATEST: u64 = 0;
/// The largest draw: a copy is due three eighths of its validity before its end, less a
/// millisecond.
const fn earliest(span: u64) -> u64 {
    span / 4 - 1
}

fn pid() -> Issuer {
    Issuer::new(ISSUER).jwk(samples::issuer_key(Curve::P256).public_jwk().to_string())
}

fn trust() -> Trust {
    Trust::new(PROVIDER, [pid()]).unwrap()
}

/// A list that revokes everything except `good`, and is valid for an hour from `at`.
fn list(uri: &str, good: usize, at: UnixMillis) -> StatusJwt {
    let revoked = (0..8).filter(|idx| *idx != good);
    let list = revoked.fold(StatusList::new(1, 8), |list, idx| list.with(idx, 1));
    let at = numeric_date(at.0);
    StatusJwt::new(&list, uri, at).with("ttl", json!(3600)).with("exp", json!(at + 30 * 86_400))
}

fn sign(list: StatusJwt) -> Vec<u8> {
    list.sign(&samples::issuer_key(Curve::P256)).into_bytes()
}

/// A credential at index `idx` of the list at `uri`.
fn listed(idx: u64, uri: &str, at: UnixMillis) -> Issued {
    let credential = samples::identity(&samples::holder_key(Curve::P256), at.0);
    let credential = credential.plain("status", status_claim(idx, uri));
    credential.issue(&samples::issuer_key(Curve::P256))
}

/// Presents `issued` at `at`. Returns whether it had to wait for a fetch, and the reason of a
/// refusal.
async fn presented(
    (fetcher, trust): (&Arc<Fetcher>, &Trust),
    (issued, mode): (&Issued, Mode),
    at: UnixMillis,
) -> (bool, Option<Reason>) {
    let request = AuthorizationRequest {
        client_id: "x509_san_dns:shop.example".into(),
        nonce: "n-0S6_WzA2Mj".into(),
        ..AuthorizationRequest::default()
    };
    let (holder, shown) = (samples::holder_key(Curve::P256), Presentation::whole(issued));
    let text = present(&shown, Some(&KbJwt::new(&holder, &shown, &request, at.0).sign()));
    let (client_id, nonce) = (&*request.client_id, &*request.nonce);
    let expected = Expected::sd_jwt_vc(ISSUER, Sent { client_id, nonce, at }).mode(mode);
    let mut presentation = trust.begin(&text, &expected, at);
    let scope = Questions::scope(&presentation);
    let mut waited = false;
    loop {
        let needs = match presentation.step() {
            PresentationStep::Done(outcome) => {
                return (waited, outcome.err().map(|it| it.reason()));
            }
            PresentationStep::Need(needs) => needs,
        };
        if fetcher.recall_for(&mut presentation, &needs, &scope, at) {
            continue;
        }
        waited = true;
        let asked = Asked::all(&presentation, needs);
        let outcomes = fetcher.fetch(asked, &mut Allowance::of_one_answer()).await;
        fetcher.settle_for(&mut presentation, &outcomes, &scope, at).unwrap();
    }
}

/// The same for the credential at `idx` of the list at `uri`, in live mode.
async fn present_at(
    by: (&Arc<Fetcher>, &Trust),
    (idx, uri): (u64, &str),
    at: UnixMillis,
) -> (bool, Option<Reason>) {
    presented(by, (&listed(idx, uri, at), Mode::Live), at).await
}

fn done(renewed: u64, failed: u64, refused: u64) -> Renewals {
    Renewals { renewed, failed, refused }
}

/// A fetcher that has the list of `source` since `NOW`.
async fn with_one(source: &Loopback, trust: &Trust) -> Arc<Fetcher> {
    let fetcher = Fetcher::reaching(&["127.0.0.0/8"]);
    source.give(&sign(list(&source.url(), 0, NOW)));
    let uri = source.url();
    assert_eq!(present_at((&fetcher, trust), (0, &uri), NOW).await, (true, None));
    fetcher
}

#[tokio::test]
async fn a_list_fetched_ahead_saves_the_next_presentation_a_fetch() {
    let (source, trust) = (Loopback::start().await, trust());
    let (fetcher, uri) = (with_one(&source, &trust).await, source.url());
    let at = NOW.plus(HOUR_MS * 7 / 8);
    let nothing = fetcher.renew_due(&trust, &mut Drawn(LATEST), at.minus(1)).await;
    assert_eq!((nothing, source.connections()), (done(0, 0, 0), 1));
    source.give(&sign(list(&uri, 1, at)));
    assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await, done(1, 0, 0));
    assert_eq!(source.connections(), 2);
    // The first copy has expired by then. The second says the opposite of both.
    let later = NOW.plus(HOUR_MS + MINUTE_MS);
    assert_eq!(present_at((&fetcher, &trust), (1, &uri), later).await, (false, None));
    let revoked = Some(Reason::CredentialRevoked);
    assert_eq!(present_at((&fetcher, &trust), (0, &uri), later).await, (false, revoked));
    assert_eq!(source.connections(), 2);
}

#[tokio::test]
async fn without_renewal_the_presentation_after_the_end_waits() {
    let (source, trust) = (Loopback::start().await, trust());
    let (fetcher, uri) = (with_one(&source, &trust).await, source.url());
    let later = NOW.plus(HOUR_MS + MINUTE_MS);
    assert_eq!(present_at((&fetcher, &trust), (0, &uri), later).await, (true, None));
    assert_eq!(source.connections(), 2);
}

#[tokio::test]
async fn entropy_spreads_renewals_over_a_quarter_of_the_time_that_a_copy_serves() {
    for (draw, before_the_end) in [
        (LATEST, HOUR_MS / 8),
        (HOUR_MS / 8, HOUR_MS / 4),
        (earliest(HOUR_MS), HOUR_MS * 3 / 8 - 1),
        (u64::MAX, HOUR_MS / 8 + u64::MAX % (HOUR_MS / 4)),
    ] {
        let (source, trust) = (Loopback::start().await, trust());
        let fetcher = with_one(&source, &trust).await;
        let due = NOW.plus(HOUR_MS).minus(before_the_end);
        let early = fetcher.renew_due(&trust, &mut Drawn(draw), due.minus(1)).await;
        assert_eq!(early.count(), 0, "{draw}");
        // The time is drawn once for each copy.
        assert_eq!(fetcher.renew_due(&trust, &mut Drawn(7), due).await, done(1, 0, 0), "{draw}");
    }
}

#[tokio::test]
async fn a_list_unused_for_a_day_is_not_fetched_ahead() {
    let (source, trust) = (Loopback::start().await, trust());
    let (fetcher, uri) = (with_one(&source, &trust).await, source.url());
    let (mut at, mut renewed) = (NOW, 0);
    while at < NOW.plus(3 * 24 * HOUR_MS) {
        source.give(&sign(list(&uri, 0, at)));
        let came = fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await;
        assert!(came == done(0, 0, 0) || (came == done(1, 0, 0) && at < NOW.plus(24 * HOUR_MS)));
        renewed += came.count();
        at = at.plus(MINUTE_MS);
    }
    // Every 52.5 minutes, polled at whole minutes.
    assert_eq!(renewed, 24 * 60 / 53);
    // The next presentation waits, and the list is in use again.
    source.give(&sign(list(&uri, 0, at)));
    assert_eq!(present_at((&fetcher, &trust), (0, &uri), at).await, (true, None));
    let due = at.plus(HOUR_MS * 7 / 8);
    assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), due).await, done(1, 0, 0));
}

#[tokio::test]
async fn a_source_that_is_down_is_tried_again_after_pauses_that_double_and_its_copy_serves_on() {
    let (source, trust) = (Loopback::start().await, trust());
    let (fetcher, uri) = (with_one(&source, &trust).await, source.url());
    source.give_with("503 Service Unavailable", "", b"");
    let mut at = NOW.plus(HOUR_MS * 7 / 8);
    assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await, done(0, 1, 0));
    for seconds in [30, 60, 120, 240, 480, 900, 900] {
        let early =
            fetcher.renew_due(&trust, &mut Drawn(LATEST), at.plus(seconds * 1000 - 1)).await;
        assert_eq!(early.count(), 0, "{seconds}");
        at = at.plus(seconds * 1000);
        assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await, done(0, 1, 0));
    }
    // Within the grace period the last good copy serves presentations that wait.
    assert_eq!(present_at((&fetcher, &trust), (0, &uri), at).await, (true, None));
    source.give(&sign(list(&uri, 0, at)));
    let at = at.plus(900 * 1000);
    assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await, done(1, 0, 0));
    assert_eq!(present_at((&fetcher, &trust), (0, &uri), at).await, (false, None));
}

#[tokio::test]
async fn an_unauthentic_list_does_not_replace_the_copy() {
    let (source, trust) = (Loopback::start().await, trust());
    let (fetcher, uri) = (with_one(&source, &trust).await, source.url());
    let forged = list(&uri, 1, NOW).sign(&samples::holder_key(Curve::P256)).into_bytes();
    let elsewhere = sign(list("https://other.example/list", 1, NOW));
    let over = sign(list(&uri, 1, NOW).with("exp", json!(numeric_date(NOW.0) + 60)));
    let due = NOW.plus(HOUR_MS * 7 / 8);
    for (body, seconds) in [(forged, 0), (elsewhere, 30), (b"none".to_vec(), 90), (over, 210)] {
        source.give(&body);
        let at = due.plus(seconds * 1000);
        assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await, done(0, 0, 1));
        assert_eq!(present_at((&fetcher, &trust), (0, &uri), at).await, (false, None));
    }
}

#[tokio::test]
async fn a_copy_that_serves_less_than_a_minute_is_left_to_presentations() {
    for (ttl, renewed) in [(59, 0), (60, 1)] {
        let (source, trust) = (Loopback::start().await, trust());
        let fetcher = Fetcher::reaching(&["127.0.0.0/8"]);
        let uri = source.url();
        source.give(&sign(list(&uri, 0, NOW).with("ttl", json!(ttl))));
        assert_eq!(present_at((&fetcher, &trust), (0, &uri), NOW).await, (true, None));
        let at = NOW.plus(HOUR_MS);
        assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await.count(), renewed);
    }
}

/// An issuer that makes its next list at the end of the previous one has no new list before.
#[tokio::test]
async fn a_list_that_is_replaced_at_its_end_is_fetched_there() {
    let (source, trust) = (Loopback::start().await, trust());
    let fetcher = Fetcher::reaching(&["127.0.0.0/8"]);
    let uri = source.url();
    let end = NOW.plus(HOUR_MS);
    let fixed = |good, at: UnixMillis, end: UnixMillis| {
        sign(list(&uri, good, at).without("ttl").with("exp", json!(numeric_date(end.0))))
    };
    source.give(&fixed(0, NOW, end));
    assert_eq!(present_at((&fetcher, &trust), (0, &uri), NOW).await, (true, None));
    let (mut at, mut asked) = (NOW, 0);
    while at < end {
        let came = fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await;
        asked += came.count();
        at = at.plus(1000);
    }
    // 7/8 of the hour, then 7/8 of the rest, until the rest is less than a minute.
    assert_eq!(asked, 2);
    source.give(&fixed(1, end, end.plus(HOUR_MS)));
    assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), end).await, done(1, 0, 0));
    assert_eq!(present_at((&fetcher, &trust), (1, &uri), end.plus(1000)).await, (false, None));
}

#[tokio::test]
async fn a_changed_trust_fetches_lists_in_use_immediately() {
    let (source, first) = (Loopback::start().await, trust());
    let (fetcher, uri) = (with_one(&source, &first).await, source.url());
    let (second, at) = (trust(), NOW.plus(1000));
    assert_eq!(fetcher.renew_due(&second, &mut Drawn(LATEST), at).await, done(1, 0, 0));
    assert_eq!(present_at((&fetcher, &second), (0, &uri), at).await, (false, None));
    assert_eq!(source.connections(), 2);
}

#[tokio::test]
async fn the_sources_of_an_issuer_that_is_not_trusted_any_more_are_forgotten_and_not_asked() {
    let (source, first) = (Loopback::start().await, trust());
    let fetcher = with_one(&source, &first).await;
    let (stranger, at) = (Trust::new(PROVIDER, []).unwrap(), NOW.plus(1000));
    assert_eq!(fetcher.renew_due(&stranger, &mut Drawn(LATEST), at).await, done(0, 0, 0));
    assert_eq!(source.connections(), 1);
    assert!(!fetcher.remembers_any());
}

#[tokio::test]
async fn a_crl_is_fetched_ahead_as_well() {
    let (source, root) = (Loopback::start().await, Identity::issuer_root(Curve::P256, NOW.0));
    let crl = |made: UnixMillis| {
        let [made, next] = [made, made.plus(HOUR_MS)].map(|at| compact_utc(at.0));
        let (name, identifier) = (root.builder.subject.der(), key_identifier(&root.key));
        Crl::new(&name, &identifier, &made, &next).sign(&root.key)
    };
    let signer = root.issuer_of_sd_jwts(&samples::issuer_key(Curve::P256), NOW.0).builder;
    let points = distribution_points(&[&source.url()]);
    let signer = signer.set(CRL_DISTRIBUTION_POINTS, false, points).sign(&root.key);
    let credential = samples::identity(&samples::holder_key(Curve::P256), NOW.0).x5c(&[signer]);
    let issued = credential.issue(&samples::issuer_key(Curve::P256));
    let trust = Trust::new(PROVIDER, [Issuer::new(ISSUER).x5c_roots(&*root.der)]).unwrap();
    let fetcher = Fetcher::reaching(&["127.0.0.0/8"]);
    let by = (&fetcher, &trust);
    source.give(&crl(NOW));
    assert_eq!(presented(by, (&issued, Mode::Live), NOW).await, (true, None));
    let due = NOW.plus(HOUR_MS * 7 / 8);
    assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), due.minus(1)).await.count(), 0);
    source.give(&crl(due));
    assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), due).await, done(1, 0, 0));
    let later = NOW.plus(HOUR_MS + MINUTE_MS);
    assert_eq!(presented(by, (&issued, Mode::Live), later).await, (false, None));
    assert_eq!(source.connections(), 2);
}

#[tokio::test]
async fn renewals_have_a_budget_of_fetches_a_minute() {
    let trust = trust();
    let fetcher = Fetcher::reaching(&["127.0.0.0/8"]);
    let source = Loopback::start().await;
    let base = source.url();
    source.give_by(move |head| {
        let path = head.split_whitespace().nth(1).unwrap_or_default();
        let uri = base.replace("/list", path);
        crate::loopback::answer("200 OK", "", &sign(list(&uri, 0, NOW)))
    });
    let uris = (0..70).map(|n| source.url().replace("/list", &format!("/{n}")));
    for uri in uris {
        assert_eq!(present_at((&fetcher, &trust), (0, &uri), NOW).await, (true, None));
    }
    let (at, before) = (NOW.plus(HOUR_MS * 7 / 8), source.connections());
    let all = |at: UnixMillis| {
        let (fetcher, trust) = (fetcher.clone(), trust.clone());
        async move {
            let mut total = 0;
            loop {
                let came = fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await;
                assert_eq!((came.failed, came.refused), (0, 0));
                assert!(came.count() <= 4, "at once");
                match came.count() {
                    0 => return total,
                    more => total += more,
                }
            }
        }
    };
    assert_eq!(all(at).await, 60);
    assert_eq!(all(at.plus(MINUTE_MS - 1)).await, 0);
    assert_eq!(all(at.plus(MINUTE_MS)).await, 10);
    assert_eq!(source.connections() - before, 70);
}

#[tokio::test]
async fn one_list_that_several_scopes_keep_costs_one_fetch() {
    let (source, trust) = (Loopback::start().await, trust());
    let (fetcher, uri) = (with_one(&source, &trust).await, source.url());
    let issued = listed(0, &uri, NOW);
    let (test, live) = ((&issued, Mode::Test), (&issued, Mode::Live));
    let by = (&fetcher, &trust);
    assert_eq!(presented(by, test, NOW).await, (true, None), "live sources serve no test");
    let at = NOW.plus(HOUR_MS * 7 / 8);
    source.give(&sign(list(&uri, 0, at)));
    assert_eq!(fetcher.renew_due(&trust, &mut Drawn(LATEST), at).await, done(1, 0, 0));
    let later = NOW.plus(HOUR_MS + MINUTE_MS);
    for shown in [test, live] {
        assert_eq!(presented(by, shown, later).await, (false, None));
    }
    assert_eq!(source.connections(), 3);
}
