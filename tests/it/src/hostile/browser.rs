//! A browser's answer as the page's server relays it: an envelope with an encrypted answer.

use std::sync::Arc;

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{ProfileOptions, SpokenProfiles};
use idgate_core::{
    DcApi, DcApiRequests, Mode, NewSession, Profile, Reader, Session, Step, TenantId, Trust,
    UnixMillis, Verifier,
};
use idgate_testkit::keys::Curve;
use idgate_testkit::openid4vp::{Answer, Request};
use idgate_testkit::samples::{self, issue_mdl};
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use super::answer::{Counted, MDL_ISSUER, trust};
use super::{NOW_MS, Parts};

/// The allowed origins of a session's pages.
pub(super) const ORIGINS: [&str; 5] = [
    "https://shop.example",
    "https://shop.example:8443",
    "https://till.shop.example",
    "https://desk.shop.example",
    "https://app.shop.example",
];

/// Any answer that is still verified gives the tenant the same claims. Changed are the envelope and
/// its encrypted content.
pub(super) fn browser_answer_target() -> Parts {
    let page = Page::asking(&["given_name", "family_name"], &["family_name", "age_over_18"]);
    let holder = samples::holder_key(Curve::P256);
    let identity = samples::identity(&holder, NOW_MS).issue(&samples::issuer_key(Curve::P256));
    let wallet = Wallet::new(holder).with(identity).with_mdoc(issue_mdl(NOW_MS).document);
    let request = page.passed_on(ORIGINS[4]);
    let answer = wallet.answer_1_0(&request, NOW_MS).unwrap();
    let data = json!({ "response": answer.jwe().unwrap() });
    let text = json!({ "protocol": PROTOCOL, "data": data.to_string() });
    let object = json!({ "protocol": PROTOCOL, "data": data });
    let payload = Value::from(answer.parameters.clone()).to_string();
    let expected = page.claims(object.to_string().as_bytes());
    assert!(expected.is_some());
    let seeds = [object.to_string(), text.to_string(), payload].map(String::into_bytes);
    let check = move |bytes: &[u8]| {
        for body in [bytes, &sealed(&answer, bytes)] {
            let claims = page.claims(body);
            assert!(claims.is_none() || claims == expected);
        }
    };
    (seeds.to_vec(), Box::new(check))
}

/// The protocol of the page's request, which its answer names.
pub(super) const PROTOCOL: &str = "openid4vp-v1-unsigned";

/// A page's answer with this plaintext, encrypted like `answer`.
pub(super) fn sealed(answer: &Answer, plaintext: &[u8]) -> Vec<u8> {
    let jwe = answer.encryption.as_ref().unwrap().encrypt(plaintext).unwrap().join(".");
    json!({ "protocol": PROTOCOL, "data": { "response": jwe } }).to_string().into_bytes()
}

/// A session for a tenant's pages.
#[derive(Clone)]
pub(super) struct Page {
    verifier: Verifier,
    session: Session,
}

impl Page {
    /// A test-mode session for these claims, which the sample licence needs. A credential without
    /// claims is not requested.
    pub(super) fn asking(pid: &[&str], mdl: &[&str]) -> Self {
        let trust = Arc::new(trust(&issue_mdl(NOW_MS)));
        let mut options = ProfileOptions::new([Profile::V1_0]);
        options.dc_api = DcApi::Unsigned;
        let builder = Verifier::builder(Trust::of_snapshot(PROVIDER, trust.clone()))
            .profiles([idgate_core::Profile::Draft])
            .unsigned("https://gateway.example");
        let verifier = builder.profile_options(options).build().unwrap();
        let mut credentials = json!([
            { "id": "pid", "format": "vc+sd-jwt", "issuer_id": samples::ISSUER, "claims": pid },
            { "id": "mdl", "format": "mso_mdoc", "issuer_id": MDL_ISSUER, "claims": mdl },
        ]);
        credentials.as_array_mut().unwrap().retain(|one| one["claims"] != json!([]));
        let body = json!({ "credentials": credentials }).to_string();
        let request =
            verifier.resolve(body.as_bytes(), Mode::Test, &SpokenProfiles::default()).unwrap();
        let request = request.forced_into(&[], &ORIGINS);
        let (tenant, now) = (TenantId::new("cli_1"), UnixMillis(NOW_MS));
        let entropy = &mut Counted::default();
        let made = verifier
            .create_resolved_session(request, NewSession::test().tenant(tenant), entropy, now)
            .unwrap();
        Self { verifier, session: made.session }
    }

    /// The requests that its page passes on.
    pub(super) fn requests(&self) -> DcApiRequests {
        self.verifier.dc_api_requests(&self.session, UnixMillis(NOW_MS)).unwrap()
    }

    /// The first of them, for a page on that origin.
    pub(super) fn passed_on(&self, origin: &str) -> Request {
        let requests = self.requests();
        let (protocol, data) = requests.iter().next().unwrap();
        assert_eq!(protocol, PROTOCOL);
        Request::of_browser(protocol, &serde_json::from_str(data).unwrap(), origin).unwrap()
    }

    /// The claims of an answer, if it is verified.
    pub(super) fn claims(&self, body: &[u8]) -> Option<String> {
        let now = UnixMillis(NOW_MS);
        let mut verification = self
            .verifier
            .begin(&self.session, idgate_core::Answer::dc_api(body), &mut Counted::default(), now)
            .ok()?;
        match verification.step().ok()? {
            Step::Done(decision) => decision
                .transition
                .session
                .result(Reader::Backend, now)
                .ok()
                .map(|result| result.claims_json().to_owned()),
            // Nothing in it publishes a status.
            step => panic!("{step:?}"),
        }
    }
}
