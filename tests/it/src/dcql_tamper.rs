//! The tamper table of OpenID4VP 1.0: changes to a credential, to the map that answers a query, and
//! to the envelope. Rows that `draft` has too come from its tables; [`rows`] has the differences.

mod rows;

use idgate_testkit::jwe::Enc;
use idgate_testkit::openid4vp::{
    Answer, Expected as Conformance, Fetched, Format, Keys, Link, Prefix, Request,
};
use idgate_testkit::wallet::Body;
use serde_json::{Map, Value, json};

pub use self::rows::{presentation_rows, rows};
use crate::jar_tamper::{JarGateway, JarScenario};
use crate::tamper::{Expected, Outcome, Scenario};

/// One change to a good answer.
#[derive(Clone, Copy, Debug)]
pub struct DcqlRow {
    /// A description of the change.
    pub title: &'static str,
    /// Makes the change.
    pub change: Change,
    /// The expected outcome.
    pub expected: Expected,
    /// It is at the edge of a time window, so it needs a clock that stands still.
    pub needs_virtual_time: bool,
}

/// A change to the presentation, or to anything else.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// A change to the presentation.
    Made(fn(&mut Scenario)),
    /// A change to anything.
    Any(fn(&mut JarScenario)),
}

impl DcqlRow {
    /// Makes the change.
    pub fn change(&self, scenario: &mut JarScenario) {
        match self.change {
            Change::Made(change) => change(&mut scenario.made),
            Change::Any(change) => change(scenario),
        }
    }
}

/// Runs one scenario from the session's creation to its result.
pub fn run(gateway: &mut dyn JarGateway, scenario: &JarScenario, encrypted: bool) -> Outcome {
    let body = answer(scenario, &open(gateway, scenario, encrypted));
    let now_ms = scenario.made.now_ms;
    let error = gateway.post(&body, now_ms);
    let (status, reason, claims) = gateway.read(now_ms);
    Outcome { error, status, reason, claims }
}

/// The request of a new session.
fn open(gateway: &mut dyn JarGateway, scenario: &JarScenario, encrypted: bool) -> Request {
    let made = &scenario.made;
    let uri = gateway.open(&made.trust, &made.request, made.created_ms());
    let fetched = match Link::read(&uri).0 {
        Link::ByValue(_) => None,
        Link::ByReference { request_uri, .. } => Some(Fetched {
            content_type: "application/oauth-authz-req+jwt".into(),
            jwt: gateway.fetch(&request_uri, made.created_ms()),
            wallet_nonce: None,
        }),
    };
    let expected = Conformance {
        prefix: if encrypted { Prefix::DecentralizedIdentifier } else { Prefix::RedirectUri },
        encrypted,
        formats: vec![Format::SdJwtVc],
        haip: false,
        transaction_data: false,
        anchor: None,
        did_document: encrypted.then(|| gateway.did_document()),
        now_ms: made.created_ms(),
    };
    let (request, findings) =
        Request::read(&uri, fetched.as_ref(), &expected, &mut Keys::default());
    assert!(findings.is_empty(), "{findings}");
    request
}

/// The wallet's presentation with the changes of the scenario, without an envelope.
pub fn presented(scenario: &JarScenario, request: &Request) -> Answer {
    let made = &scenario.made;
    let ids = request.query.credentials.iter().map(|credential| credential.id.clone());
    let presented = |id| (id, json!([made.token(&request.parties())]));
    let mut answer = Answer::new(request, ids.map(presented).collect());
    (made.hooks.parameters)(&mut answer.parameters);
    (scenario.hooks.payload)(&mut answer.parameters);
    answer
}

/// The wallet's answer, with the changes of the scenario.
pub fn answer(scenario: &JarScenario, request: &Request) -> Body {
    let Answer { parameters: payload, encryption, .. } = presented(scenario, request);
    let Some(mut encryption) = encryption else {
        return plain(scenario, &payload);
    };
    encryption.set("enc", scenario.enc.name());
    encryption.enc = scenario.enc;
    let mut plaintext = Value::from(payload.clone()).to_string().into_bytes();
    (scenario.hooks.plaintext)(&mut plaintext);
    scenario.seal(&payload, &plaintext, encryption)
}

fn plain(scenario: &JarScenario, payload: &Map<String, Value>) -> Body {
    let mut body = scenario.encode(payload);
    (scenario.made.hooks.body)(&mut body);
    (scenario.hooks.body)(&mut body);
    body
}

/// An answer that is verified if left unchanged. It is encrypted with the first algorithm that 1.0
/// lists.
pub fn good(now_ms: u64) -> JarScenario {
    JarScenario::good(crate::tamper::Base::Flat, Enc::A256Gcm, now_ms)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tamper::InProcess;
    use crate::tamper::scenario::NOW_MS;

    #[test]
    fn every_row_gives_its_code() {
        for encrypted in [false, true] {
            let mut wrong = Vec::new();
            for row in rows(encrypted) {
                let mut scenario = good(NOW_MS);
                row.change(&mut scenario);
                let outcome = run(&mut InProcess::v1_0(encrypted), &scenario, encrypted);
                if let Some(mismatch) = outcome.mismatch(row.expected) {
                    wrong.push(format!("{}: {mismatch}", row.title));
                }
            }
            assert!(wrong.is_empty(), "{encrypted}, {}:\n{}", wrong.len(), wrong.join("\n"));
        }
    }

    #[test]
    fn titles_are_unique_and_the_rows_of_draft_are_there() {
        for (encrypted, least) in [(false, 170), (true, 230)] {
            let rows = rows(encrypted);
            let titles: BTreeSet<&str> = rows.iter().map(|row| row.title).collect();
            assert_eq!(titles.len(), rows.len());
            assert!(rows.len() >= least, "{} rows", rows.len());
        }
    }
}
