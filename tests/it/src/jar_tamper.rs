//! The tamper table of request mode jar: one change at a time to a good encrypted answer, and the
//! expected outcome. [`rows`] is data; a [`JarGateway`] runs it, in-process or over HTTP.

mod rows;
mod scenario;

use serde_json::Value;

pub use self::rows::rows;
pub use self::scenario::JarScenario;
use crate::tamper::{Gateway, Outcome, Row};
use idgate_testkit::request_object::{JarLink, JarRequest};

/// A gateway whose sessions are in request mode jar.
pub trait JarGateway: Gateway {
    /// The Request Object behind `request_uri`.
    fn fetch(&mut self, request_uri: &str, now_ms: u64) -> String;

    /// The document behind the gateway's DID.
    fn did_document(&mut self) -> Value;
}

/// One change to a good encrypted answer.
pub type JarRow = Row<JarScenario>;

/// The request of a new session, fetched and verified as a strict wallet does.
///
/// # Panics
/// The request is not one that a strict wallet answers.
#[allow(clippy::panic)] // the table runs in tests only
pub fn open(gateway: &mut dyn JarGateway, scenario: &JarScenario) -> JarRequest {
    let made = &scenario.made;
    let uri = gateway.open(&made.trust, &made.request, made.created_ms());
    let link = JarLink::parse(&uri).unwrap_or_else(|refused| panic!("{refused}"));
    let jwt = gateway.fetch(&link.request_uri, made.created_ms());
    let did_document = gateway.did_document();
    JarRequest::verify(&link, &jwt, &did_document, made.created_ms())
        .unwrap_or_else(|refused| panic!("{refused}"))
}

/// Runs one scenario from the session's creation to its result.
pub fn run(gateway: &mut dyn JarGateway, scenario: &JarScenario) -> Outcome {
    let body = scenario.answer(&open(gateway, scenario));
    let now_ms = scenario.made.now_ms;
    let error = gateway.post(&body, now_ms);
    let (status, reason, claims) = gateway.read(now_ms);
    Outcome { error, status, reason, claims }
}
