//! A wallet's answer to a DCQL query, including what the holder of a good credential can do to it.

use std::sync::Arc;

use idgate_core::crypto::counting::PROVIDER;
use idgate_core::shell::{Jwk, ProfileOptions, TrustEntry, TrustSnapshot, TrustedKey};
use idgate_core::{
    IssuerId, NewSession, Profile, Reader, Session, TenantId, Trust, UnixMillis, Verifier,
};
use idgate_testkit::claim::Claim;
use idgate_testkit::codec::base64url;
use idgate_testkit::issuer::Issued;
use idgate_testkit::keys::Curve;
use idgate_testkit::openid4vp::{Answer, Expected, Format, Keys, Prefix, Request};
use idgate_testkit::samples;
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use serde_json::{Map, Value, json};

use crate::hostile::NOW_MS;
use crate::hostile::cost::encoded::{JSON, wrapped};
use crate::hostile::cost::{Generator, Row};
use crate::tamper::Counted;

/// A presentation has 512 KiB at most.
const FULL: usize = 480 * 1024;

/// A session that asks for a picture, for elements of a list, and for agreement to a payment.
#[derive(Clone)]
struct Desk {
    verifier: Verifier,
    session: Session,
    request: Request,
}

impl Desk {
    fn new() -> Self {
        let jwk = samples::issuer_key(Curve::P256).public_jwk().to_string();
        let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
        issuer.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes()).unwrap().key));
        issuer.vct.push(samples::VCT.into());
        let trust = Arc::new(TrustSnapshot::new(1, [issuer]));
        let builder = Verifier::builder(Trust::of_snapshot(PROVIDER, trust.clone()))
            .profiles([idgate_core::Profile::Draft])
            .unsigned("https://gateway.example");
        let builder = builder.profile_options(ProfileOptions::new([Profile::V1_0]));
        let verifier = builder.build().unwrap();
        let body = json!({
            "credentials": [{"id": "pid", "format": "vc+sd-jwt", "issuer_id": samples::ISSUER,
                "claims": ["picture", "kinds"], "claim_paths": {"kinds": ["list", null, "kind"]}}],
            "transaction_data": [{"type": "payment", "credential_ids": ["pid"]}],
        });
        let body = body.to_string();
        let request = idgate_core::Request::from_json(body.as_bytes());
        let (tenant, now) = (TenantId::new("cli_1"), UnixMillis(NOW_MS));
        let entropy = &mut Counted::default();
        let made = verifier.create_session(
            &request.unwrap(),
            NewSession::live().tenant(tenant),
            entropy,
            now,
        );
        let session = made.unwrap().session;
        let expected = Expected {
            prefix: Prefix::RedirectUri,
            encrypted: false,
            formats: vec![Format::SdJwtVc],
            haip: false,
            transaction_data: true,
            anchor: None,
            did_document: None,
            now_ms: NOW_MS,
        };
        let link = session.invitation().qr_code_url;
        let (request, _) = Request::read(&link, None, &expected, &mut Keys::default());
        Self { verifier, session, request }
    }

    fn takes(&self, body: &[u8]) -> bool {
        let response = idgate_core::Answer {
            to: self.session.id().as_str(),
            content_type: Some("application/json"),
            body,
        };
        let (now, entropy) = (UnixMillis(NOW_MS), &mut Counted::default());
        let begun = self.verifier.begin(&self.session, response, entropy, now);
        let step = begun.and_then(|mut verification| verification.step());
        matches!(step, Ok(idgate_core::Step::Done(done)) if done.transition.session.result(Reader::Backend, now).is_ok())
    }

    fn presentation(&self, credential: &Issued, hashes: Value) -> String {
        let presentation = Presentation::whole(credential);
        let holder = samples::holder_key(Curve::P256);
        let mut proof = KbJwt::new(&holder, &presentation, &self.request.parties(), NOW_MS);
        proof.set("transaction_data_hashes", hashes);
        present(&presentation, Some(&proof.sign()))
    }

    fn hash(&self) -> String {
        let text = self.request.parameters["transaction_data"][0].as_str().unwrap();
        base64url(&idgate_testkit::codec::HashAlg::Sha256.hash(text.as_bytes()))
    }

    /// A good answer of about this many bytes.
    fn good(&self, size: usize) -> Vec<u8> {
        let portrait = base64url(&vec![7; size.saturating_sub(3000) / 16 * 9]);
        let listed = Claim::array().sd_element(json!({"kind": "a"}));
        let text = self.presentation(&credential(&portrait, listed), json!([self.hash()]));
        self.body(json!({"pid": [text]}))
    }

    fn body(&self, vp_token: Value) -> Vec<u8> {
        let Value::Object(vp_token) = vp_token else { return Vec::new() };
        json_of(&Answer::new(&self.request, vp_token).parameters)
    }
}

fn credential(portrait: &str, list: Claim) -> Issued {
    let identity = samples::identity(&samples::holder_key(Curve::P256), NOW_MS);
    identity.sd("picture", portrait).plain("list", list).issue(&samples::issuer_key(Curve::P256))
}

fn json_of(parameters: &Map<String, Value>) -> Vec<u8> {
    Value::from(parameters.clone()).to_string().into_bytes()
}

pub(super) fn answer() -> Row {
    let desk = Desk::new();
    assert!(desk.takes(&desk.good(5000)));
    let with = |make: fn(&Desk, usize) -> Value| -> Generator {
        let desk = desk.clone();
        Box::new(move |size| desk.body(make(&desk, size)))
    };
    let mut worst = vec![
        (
            "many ids",
            with(|_, size| {
                let ids = (0..size / 16).map(|at| (format!("{at:08}"), json!(["a"])));
                Value::Object(ids.collect())
            }),
        ),
        ("many presentations", with(|_, size| json!({"pid": vec!["a"; size / 4]}))),
        (
            "many values that are not presentations",
            with(|_, size| json!({"pid": vec![Value::Null; size / 5]})),
        ),
        (
            "many hashes of transaction data",
            with(|desk, size| {
                let hash = desk.hash();
                let hashes = vec![hash; size / 16 * 9 / 46];
                let listed = Claim::array().sd_element(json!({"kind": "a"}));
                json!({"pid": [desk.presentation(&credential("", listed), json!(hashes))]})
            }),
        ),
        (
            "a long list on the path of a claim",
            with(|desk, size| {
                // Each takes about 110 bytes as a disclosure.
                let list = (0..size / 200).fold(Claim::array(), |list, at| {
                    list.sd_element(json!({"kind": format!("{at}")}))
                });
                let text = desk.presentation(&credential("", list), json!([desk.hash()]));
                json!({"pid": [text]})
            }),
        ),
    ];
    let state = desk.request.state.clone().unwrap();
    worst.extend(wrapped(JSON, move |size, fill| {
        let head = format!("{{\"state\":\"{state}\",\"vp_token\":");
        [head.as_bytes(), &fill(size), b"}"].concat()
    }));
    let (reading, making) = (desk.clone(), desk);
    Row {
        name: "answer to a DCQL query",
        full: FULL,
        read: Box::new(move |body| {
            reading.takes(body);
        }),
        valid: Box::new(move |size| making.good(size)),
        worst,
    }
}
