//! The same table for the envelope of OpenID4VP 1.0: by value and plain, or encrypted.

use idgate_testkit::mdoc::Cbor;
use idgate_testkit::openid4vp::{Answer, Request};
use idgate_testkit::wallet::Body;
use serde_json::{Map, json};

use super::{Authority, Row, Scenario};

/// The body with [`presented`].
pub fn answer(
    authority: &Authority,
    request: &Request,
    change: fn(&mut Scenario),
    now_ms: u64,
) -> Body {
    presented(authority, request, change, now_ms).body()
}

/// The answer to `request`, changed by a row. The device's proof covers the key that the answer is
/// encrypted to.
pub fn presented(
    authority: &Authority,
    request: &Request,
    change: fn(&mut Scenario),
    now_ms: u64,
) -> Answer {
    let mut scenario = Scenario::answering(authority, request.parties(), now_ms);
    scenario.transcript = request.transcript();
    change(&mut scenario);
    let id = request.query.credentials[0].id.clone();
    Answer::new(request, Map::from_iter([(id, json!([scenario.text()]))]))
}

/// The rows of `draft` that mean the same here, and those of 1.0 alone.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let is_own = |row: &Row| ROWS.iter().any(|own| own.title == row.title);
    super::rows().filter(move |row| !is_own(row)).chain(ROWS)
}

/// HAIP 1.0 5.3.1: one document in a response.
const ROWS: &[Row] = &[
    Row::refused("a document of another type behind it", "malformed_presentation", |s| {
        s.response = |response| beside(response, |documents, other| documents.push(other));
    }),
    Row::refused("a document of another type before it", "malformed_presentation", |s| {
        s.response = |response| beside(response, |documents, other| documents.insert(0, other));
    }),
];

fn beside(response: &mut Cbor, put: fn(&mut Vec<Cbor>, Cbor)) {
    if let Cbor::Array(documents) = response.at("documents") {
        let mut other = documents[0].clone();
        other.set("docType", "another");
        put(documents, other);
    }
}
