//! The gateway under test: the same table runs against the library and against the server.

use serde_json::Value;

use crate::tamper::Expected;
use crate::tamper::scenario::{Scenario, Trust};
use idgate_testkit::wallet::Body;

/// A gateway under test.
pub trait Gateway {
    /// Sets the trust, creates a session of `request`, and returns its `qr_code_url`.
    fn open(&mut self, trust: &Trust, request: &Value, now_ms: u64) -> String;

    /// Posts the wallet's answer to the session. Returns the `error` code, or `None` for a 200.
    fn post(&mut self, body: &Body, now_ms: u64) -> Option<String>;

    /// The session as the tenant reads it: status, reason, claims.
    fn read(&mut self, now_ms: u64) -> (String, Option<String>, Option<Value>);
}

/// The outcome of an answer.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The `error` code that the wallet got. `None`: a 200.
    pub error: Option<String>,
    /// The session's status.
    pub status: String,
    /// Why it failed.
    pub reason: Option<String>,
    /// The claims that the tenant gets.
    pub claims: Option<Value>,
}

/// Runs one scenario from the session's creation to its result. The session is created
/// [`crate::tamper::scenario::ANSWER_DELAY_MS`] before the wallet answers.
pub fn run(gateway: &mut dyn Gateway, scenario: &Scenario) -> Outcome {
    let uri = gateway.open(&scenario.trust, &scenario.request, scenario.created_ms());
    let body = scenario.answer(&uri);
    let error = gateway.post(&body, scenario.now_ms);
    let (status, reason, claims) = gateway.read(scenario.now_ms);
    Outcome { error, status, reason, claims }
}

impl Outcome {
    /// The difference from the expected outcome.
    pub fn mismatch(&self, expected: Expected) -> Option<String> {
        let is = (self.error.as_deref(), self.status.as_str(), self.reason.as_deref());
        let should = (expected.error(), expected.status(), expected.reason());
        let leaks = self.claims.is_some() && expected != Expected::Verified;
        match (is == should, leaks) {
            (true, false) => None,
            (true, true) => Some("claims of a refused presentation are readable".into()),
            (false, _) => Some(format!("expected {should:?}, got {is:?}")),
        }
    }
}
