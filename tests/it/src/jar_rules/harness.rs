//! A gateway with both sample issuers, and a wallet with both sample credentials.

use std::sync::Arc;

use idgate_core::crypto::{Es256Key, RequestSigner, SoftwareSigner, aws_lc_rs};
use idgate_core::error::NotAnAnswer;
use idgate_core::shell::discovery::{PublishedKey, did_document_json, did_web};
use idgate_core::shell::{Jwk, TrustEntry, TrustSnapshot, TrustedKey, roots_from_file};
use idgate_core::verify::WalletReply;
use idgate_core::{
    Answer, Asked, IssuerId, NewSession, Reader, Request, RequestObject, Session, Step, TenantId,
    Trust, UnixMillis, Verifier,
};
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::samples;
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Value, json};

use crate::tamper::Counted;

pub(super) const BASE_URL: &str = "https://gateway.example:8443";
pub(super) const CREATED: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
pub(super) const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS + 5_000);

pub(super) struct Gateway {
    pub(super) verifier: Verifier,
    entropy: Counted,
}

pub(super) fn signer(key_id: &str) -> Arc<SoftwareSigner> {
    let key = Es256Key::from_scalar(&[9; 32]).unwrap();
    Arc::new(SoftwareSigner::new(key, format!("{}#{key_id}", did_web(BASE_URL).unwrap())))
}

fn trust() -> Arc<TrustSnapshot> {
    let mut pid = TrustEntry::new(IssuerId::new(samples::ISSUER));
    let jwk = samples::issue_sample(CREATED.0).issuer_key.public_jwk().to_string();
    pid.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes()).unwrap().key));
    pid.vct.push(samples::VCT.into());
    let mut mdl = TrustEntry::new(IssuerId::new(samples::MDL_ISSUER));
    mdl.roots =
        roots_from_file(&aws_lc_rs::PROVIDER, &samples::issue_mdl(CREATED.0).root.der).unwrap();
    Arc::new(TrustSnapshot::new(1, [pid, mdl]))
}

/// Holds Erika's identity and her driving licence.
pub(super) fn wallet() -> Wallet {
    let (sample, mdl) = (samples::issue_sample(CREATED.0), samples::issue_mdl(CREATED.0));
    Wallet::new(sample.holder_key).with(sample.credential).with_mdoc(mdl.document)
}

/// A query for `pid`, `mdl`, or both.
pub(super) fn asking(ids: &[&str]) -> Value {
    let credential = |id: &&str| match *id {
        "pid" => json!({"id": "pid", "format": "vc+sd-jwt", "issuer_id": samples::ISSUER,
            "claims": ["given_name", "address"]}),
        _ => json!({"id": "mdl", "format": "mso_mdoc", "issuer_id": samples::MDL_ISSUER,
            "claims": ["family_name", "age_over_18"]}),
    };
    json!({"credentials": ids.iter().map(credential).collect::<Vec<_>>()})
}

impl Gateway {
    pub(super) fn inline() -> Self {
        let trust = trust();
        let builder = Verifier::builder(Trust::of_snapshot(aws_lc_rs::PROVIDER, trust))
            .profiles([idgate_core::Profile::Draft])
            .unsigned(BASE_URL);
        let builder = builder.signer(signer("key"));
        Self { verifier: builder.build().unwrap(), entropy: Counted::default() }
    }

    pub(super) fn jar() -> Self {
        let trust = trust();
        let builder = Verifier::builder(Trust::of_snapshot(aws_lc_rs::PROVIDER, trust))
            .profiles([idgate_core::Profile::Draft])
            .signed(BASE_URL, signer("key"));
        let verifier = builder.build().unwrap();
        Self { verifier, entropy: Counted::default() }
    }

    /// A test-mode session: the sample signer publishes no CRL.
    pub(super) fn create(&mut self, request: &Value) -> Session {
        let body = request.to_string();
        let request = Request::from_json(body.as_bytes()).unwrap();
        let tenant = TenantId::new("cli_1");
        let entropy = &mut self.entropy;
        self.verifier
            .create_session(&request, NewSession::test().tenant(tenant), entropy, CREATED)
            .unwrap()
            .session
    }

    /// The request of `session`, fetched and verified; the session is PENDING afterwards.
    pub(super) fn fetch(&self, session: &mut Session) -> JarRequest {
        let link = JarLink::parse(&session.invitation().qr_code_url).unwrap();
        let asked = Asked::get(session.id().as_str());
        let RequestObject { transition, jwt, .. } =
            self.verifier.request_object(session, &asked, CREATED).unwrap();
        if let Some(transition) = transition {
            *session = transition.session;
        }
        JarRequest::verify(&link, jwt.as_str(), &did_document(), CREATED.0).unwrap()
    }

    /// A session in request mode jar and its request.
    pub(super) fn open(&mut self, ids: &[&str]) -> (Session, JarRequest) {
        let mut session = self.create(&asking(ids));
        let request = self.fetch(&mut session);
        (session, request)
    }

    /// Posts `body`. Returns the wallet's reply, and the session afterwards.
    pub(super) fn post(
        &mut self,
        session: &mut Session,
        body: &Body,
    ) -> Result<WalletReply, NotAnAnswer> {
        let response = Answer {
            to: session.id().as_str(),
            content_type: Some(&body.content_type),
            body: &body.bytes,
        };
        let begun = self.verifier.begin(session, response, &mut self.entropy, NOW);
        match begun?.step()? {
            Step::Done(decision) => {
                *session = decision.transition.session;
                Ok(decision.reply)
            }
            step => panic!("nothing publishes a status here: {step:?}"),
        }
    }

    /// Posts `body` and returns what the tenant reads: claims and verification details.
    pub(super) fn verified(&mut self, session: &mut Session, body: &Body) -> (Value, Value) {
        let reply = self.post(session, body).unwrap();
        assert!(matches!(reply, WalletReply::Accepted { .. }), "{:?}", session.reason_at(NOW));
        let result = session.result(Reader::Backend, NOW).unwrap();
        let json = |text: &str| serde_json::from_str(text).unwrap();
        (json(result.claims_json()), json(result.details_json()))
    }

    /// Posts `body`, which is evaluated and rejected. Returns the reason.
    pub(super) fn refused(&mut self, session: &mut Session, body: &Body) -> String {
        assert_eq!(self.post(session, body), Ok(WalletReply::Refused));
        session.reason_at(NOW).unwrap().as_str().into()
    }
}

pub(super) fn did_document() -> Value {
    let signer = signer("key");
    let published = PublishedKey::new(signer.key_id(), *signer.public_key());
    let did = did_web(BASE_URL).unwrap();
    serde_json::from_str(&did_document_json(&did, &[published])).unwrap()
}
