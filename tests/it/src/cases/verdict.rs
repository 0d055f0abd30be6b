//! The outcome of an answer, in the form of a case.

use idgate_core::error::NotAnAnswer;
use idgate_core::shell::OfferId;
use idgate_core::{Answer, Reader, Session, UnixMillis, Verification, Verifier};
use idgate_testkit::wallet::Body;
use serde_json::{Value, json};

use crate::tamper::scenario::NOW_MS;
use crate::tamper::{Counted, decide};

const NOW: UnixMillis = UnixMillis(NOW_MS);

/// The outcome of an answer that a wallet posted to that offer.
pub(super) fn of_posted(
    verifier: &Verifier,
    session: &Session,
    offer: Option<&OfferId>,
    body: &Body,
) -> Value {
    twice(|| {
        let response = Answer {
            to: offer.map_or(session.id().as_str(), OfferId::as_str),
            content_type: Some(&body.content_type),
            body: &body.bytes,
        };
        verifier.begin(session, response, &mut Counted::default(), NOW)
    })
}

/// The outcome of an answer that a page got from its browser.
pub(super) fn of_relayed(verifier: &Verifier, session: &Session, answer: &str) -> Value {
    twice(|| {
        verifier.begin(session, Answer::dc_api(answer.as_bytes()), &mut Counted::default(), NOW)
    })
}

/// The second time the signer is remembered.
fn twice<'v>(begin: impl Fn() -> Result<Verification<'v>, NotAnAnswer>) -> Value {
    let verdict = judge(begin());
    assert_eq!(judge(begin()), verdict, "with a known signer");
    verdict
}

fn judge(begun: Result<Verification<'_>, NotAnAnswer>) -> Value {
    let decision = match begun.and_then(|verification| decide(verification, NOW_MS)) {
        Ok(decision) => decision,
        Err(error) => return json!({ "error": error.code().as_str() }),
    };
    let settled = decision.transition.session;
    let claims =
        settled.result(Reader::Backend, NOW).ok().map(|result| result.claims_json().to_owned());
    let claims: Option<Value> = claims.and_then(|claims| serde_json::from_str(&claims).ok());
    json!({
        "status": settled.status_at(NOW).as_str(),
        "reason": settled.reason_at(NOW).map(|reason| reason.as_str()),
        "claims": claims,
    })
}
