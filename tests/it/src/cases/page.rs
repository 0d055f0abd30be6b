//! A session whose request goes to the browser of a page, and the answer that the page returns.

// The table runs in tests only.
#![allow(clippy::expect_used)]

use idgate_core::session::DcApiProtocol;
use idgate_core::shell::TrustEntry;
use idgate_core::{DcApi, Mode, NewSession, Session, TenantId, UnixMillis, Verifier};
use idgate_testkit::codec::base64url;
use idgate_testkit::iso_mdoc::{IsoMdocRequest, PROTOCOL};
use idgate_testkit::openid4vp::Request;
use serde_json::{Value, json};

use super::verdict;
use super::ways::{self, Way};
use crate::tamper::Counted;
#[cfg(test)]
use crate::tamper::Expected;
use crate::tamper::scenario::NOW_MS;

/// The origin of the page.
pub(super) const SHOP: &str = "https://shop.example";
/// Another allowed origin.
pub(super) const OTHER: &str = "https://other.example";

/// How a session for pages is created.
#[derive(Clone, Copy)]
pub(super) struct Made {
    pub(super) way: Way,
    pub(super) dc_api: DcApi,
    pub(super) livemode: bool,
    pub(super) created_ms: u64,
    /// Whether it also offers ISO/IEC TS 18013-7 Annex C. A signed request of that protocol is for
    /// a single origin.
    pub(super) iso_mdoc: bool,
}

/// The session, and the verifier that created it.
pub(super) struct Page {
    verifier: Verifier,
    session: Session,
    livemode: bool,
}

impl Page {
    /// Creates a session from the tenant's `body` with trust in `entries`.
    pub(super) fn new(entries: &[TrustEntry], made: Made, mut body: Value) -> Self {
        let Made { way, dc_api, livemode, created_ms, iso_mdoc } = made;
        let is_signed = matches!(dc_api, DcApi::Signed | DcApi::Multisigned);
        let origins = if iso_mdoc && is_signed { vec![SHOP] } else { vec![SHOP, OTHER] };
        let (verifier, _) = ways::verifier(entries, way, dc_api);
        if let Some(members) = body.as_object_mut() {
            members.insert("profiles".into(), json!(way.profiles));
            let pages = json!({ "origins": origins, "iso_mdoc": iso_mdoc });
            members.insert("dc_api".into(), pages);
            members.insert("redirect_uri".into(), "https://shop.example/back".into());
        }
        let body = body.to_string();
        let request = idgate_core::Request::from_json(body.as_bytes());
        let request = request.expect("a good request");
        let mode = if livemode { Mode::Live } else { Mode::Test };
        let tenant = TenantId::new("cli_0000000000000000000000");
        let new = NewSession::of(mode).tenant(tenant);
        let (entropy, created) = (&mut Counted::default(), UnixMillis(created_ms));
        let session = verifier.create_session(&request, new, entropy, created);
        let session = session.expect("a session").session;
        Self { verifier, session, livemode }
    }

    /// The request of that protocol as the wallet gets it from a page on `origin`.
    pub(super) fn passed_on(&self, protocol: DcApiProtocol, origin: &str) -> Request {
        let requests = self.verifier.dc_api_requests(&self.session, UnixMillis(NOW_MS));
        let requests = requests.expect("an open session");
        let mut fitting = requests.iter().filter(|(name, _)| *name == protocol.name());
        let (name, data) = fitting.next().expect("the protocol is offered");
        let data = serde_json::from_str(data).expect("JSON");
        Request::of_browser(name, &data, origin).expect("a request of that form")
    }

    /// The request of ISO/IEC TS 18013-7 Annex C from a page on `origin`.
    pub(super) fn iso_mdoc(&self, origin: &str) -> IsoMdocRequest {
        let requests = self.verifier.dc_api_requests(&self.session, UnixMillis(NOW_MS));
        let requests = requests.expect("an open session");
        let mut fitting = requests.iter().filter(|(name, _)| *name == PROTOCOL);
        let (_, data) = fitting.next().expect("the protocol is offered");
        let data = serde_json::from_str(data).expect("JSON");
        IsoMdocRequest::read(&data, origin).expect("a request of that form")
    }

    /// Records input and output for this answer.
    pub(super) fn record(&self, title: &str, trust: &Value, answer: &str) -> Value {
        json!({
            "title": title,
            "trust": trust,
            "livemode": self.livemode,
            "session": base64url(&self.session.to_bytes()),
            "dc_api": true,
            "body": base64url(answer.as_bytes()),
            "now_ms": NOW_MS,
            "expected": verdict::of_relayed(&self.verifier, &self.session, answer),
        })
    }
}

/// Checks that each case has the outcome that its row expects.
#[cfg(test)]
#[track_caller]
pub(super) fn all_hold(cases: &[Value], expected: impl IntoIterator<Item = Expected>) {
    let expected: Vec<_> = expected.into_iter().collect();
    assert_eq!(cases.len(), expected.len());
    let cases = cases.iter().zip(expected);
    let wrong: Vec<_> = cases.filter_map(|(case, expected)| wrong(case, expected)).collect();
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[cfg(test)]
fn wrong(case: &Value, expected: Expected) -> Option<String> {
    let told = &case["expected"];
    let should = match expected {
        Expected::Transport(error) => (None, None, Some(error)),
        _ => (Some(expected.status()), expected.reason(), None),
    };
    let is = (told["status"].as_str(), told["reason"].as_str(), told["error"].as_str());
    (is != should).then(|| format!("{}: {should:?}, not {is:?}", case["title"]))
}
