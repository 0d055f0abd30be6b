//! The request forms of OpenID4VP 1.0 and HAIP, and requests of each.

// The table runs in tests only.
#![allow(clippy::expect_used)]

use std::sync::Arc;

use idgate_core::crypto::{Es256Key, RequestSigner, SoftwareSigner, aws_lc_rs};
use idgate_core::shell::discovery::{PublishedKey, did_document_json, did_web, key_id};
use idgate_core::shell::{Offer, ProfileOptions, SpokenProfiles, TrustEntry, TrustSnapshot};
use idgate_core::{
    DcApi, Mode, NewSession, Profile, Scheme, Session, TenantId, Trust, UnixMillis, Verifier,
};
use idgate_testkit::codec::{base64url, from_base64url};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::openid4vp::{Expected, Fetched, Keys, Prefix, Request};
use idgate_testkit::wallet::Body;
use idgate_testkit::x509::{CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, dns_names};
use serde_json::{Value, json};

use super::verdict;
use crate::tamper::Counted;
use crate::tamper::scenario::NOW_MS;

const BASE_URL: &str = "https://gateway.example";
const NOW: UnixMillis = UnixMillis(NOW_MS);

/// A request form.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) profiles: &'static [Profile],
    pub(super) by_reference: bool,
    /// The prefix for the last of `profiles`, which is the one that is answered.
    pub(super) prefix: Prefix,
}

pub(super) const BY_VALUE: Way = Way {
    name: "1.0 by value",
    profiles: &[Profile::V1_0],
    by_reference: false,
    prefix: Prefix::RedirectUri,
};
pub(super) const BY_REFERENCE: Way = Way {
    name: "1.0 by reference",
    profiles: &[Profile::V1_0],
    by_reference: true,
    prefix: Prefix::DecentralizedIdentifier,
};
pub(super) const HAIP: Way =
    Way { name: "haip", profiles: &[Profile::Haip], by_reference: true, prefix: Prefix::X509Hash };
/// The session's own offer is the draft one.
pub(super) const OFFERED: Way =
    Way { name: "haip with draft", profiles: &[Profile::Draft, Profile::Haip], ..HAIP };

/// A session with one request form, and the wallet that answers it.
pub(super) struct Asked {
    verifier: Verifier,
    session: Session,
    way: Way,
    anchor: Vec<u8>,
}

/// The verifier's key and certificate, for tests that create requests with it.
#[cfg(test)]
pub(super) fn certified() -> Value {
    let (key, chain, _) = certificate();
    json!({ "key": key.private_jwk()["d"], "chain": base64url(&chain), "now_ms": NOW_MS })
}

impl Asked {
    /// Creates a test-mode session with trust in `entries`. `body` is the tenant's, without its
    /// profiles.
    pub(super) fn new(entries: &[TrustEntry], way: Way, mut body: Value) -> Self {
        let (verifier, anchor) = verifier(entries, way, DcApi::Off);
        if let Some(members) = body.as_object_mut() {
            members.insert("profiles".into(), json!(way.profiles));
        }
        let body = body.to_string();
        let spoken = SpokenProfiles::new(way.profiles.iter().copied());
        let request = verifier.resolve(body.as_bytes(), Mode::Test, &spoken);
        let request = request.expect("a good request");
        let tenant = TenantId::new("cli_0000000000000000000000");
        let made = verifier.create_resolved_session(
            request,
            NewSession::test().tenant(tenant),
            &mut Counted::default(),
            NOW,
        );
        let session = made.expect("a session").session;
        Self { verifier, session, way, anchor }
    }

    /// The request of the last offer, as the wallet has it.
    pub(super) fn request(&self) -> Request {
        let offer = self.offer();
        let fetched = self.way.by_reference.then(|| {
            let fetched = self.verifier.request_object(
                &self.session,
                &idgate_core::Asked::get(self.session.handle_of(offer)),
                NOW,
            );
            let jwt = fetched.expect("a Request Object").jwt;
            Fetched {
                content_type: "application/oauth-authz-req+jwt".into(),
                jwt: jwt.as_str().into(),
                wallet_nonce: None,
            }
        });
        let expected = Expected {
            prefix: self.way.prefix,
            encrypted: self.way.by_reference,
            formats: Vec::new(),
            haip: self.way.prefix == Prefix::X509Hash,
            transaction_data: false,
            anchor: Some(self.anchor.clone()),
            did_document: serde_json::from_str(&did_document()).ok(),
            now_ms: NOW_MS,
        };
        // Other tests are about the findings of a suite.
        let (request, _) = Request::read(
            &self.session.link(Scheme::OpenId4Vp, offer),
            fetched.as_ref(),
            &expected,
            &mut Keys::default(),
        );
        request
    }

    /// Records input and output for this answer to the last offer.
    pub(super) fn record(&self, title: &str, trust: &Value, body: &Body) -> Value {
        let offer = self.offer().id();
        json!({
            "title": title,
            "trust": trust,
            "livemode": false,
            "session": base64url(&self.session.to_bytes()),
            "offer": offer.map(|id| id.as_str()),
            "content_type": body.content_type,
            "body": base64url(&body.bytes),
            "now_ms": NOW_MS,
            "expected": verdict::of_posted(&self.verifier, &self.session, offer, body),
        })
    }

    fn offer(&self) -> &Offer {
        self.session.offers().last().expect("one at least")
    }
}

/// A verifier for that request form, and the root of its certificate.
pub(super) fn verifier(entries: &[TrustEntry], way: Way, dc_api: DcApi) -> (Verifier, Vec<u8>) {
    let (key, chain, anchor) = certificate();
    let key = es256(&key);
    let did = did_signer(key.clone());
    let certified = SoftwareSigner::new(key, "certified").with_certificate_chain(vec![chain]);
    let trust = Arc::new(TrustSnapshot::new(1, entries.iter().cloned()));
    let builder = Verifier::builder(Trust::of_snapshot(aws_lc_rs::PROVIDER, trust))
        .profiles([idgate_core::Profile::Draft]);
    let builder = match way.by_reference {
        true => builder.signed(BASE_URL, Arc::new(did)),
        false => builder.unsigned(BASE_URL),
    };
    let builder = builder.signer(Arc::new(certified));
    let mut profiles = ProfileOptions::new(way.profiles.iter().copied());
    profiles.dc_api = dc_api;
    (builder.profile_options(profiles).build().expect("a good configuration"), anchor)
}

/// A key, its certificate, and the root.
fn certificate() -> (SigningKey, Vec<u8>, Vec<u8>) {
    let root = Identity::iaca(Curve::P256, NOW_MS);
    let key = SigningKey::from_seed(Curve::P256, "a certified verifier");
    // With an organizationIdentifier, like EU access certificates.
    let name = Name::new("UT", "Shop").with("2.5.4.97", 0x0c, "VATUT-123");
    let leaf = CertificateBuilder::document_signer(&root, name, &key, NOW_MS)
        .set(SUBJECT_ALT_NAME, false, dns_names(&["gateway.example"]))
        .issue(&root, &key);
    (key, leaf.der, root.der)
}

fn es256(key: &SigningKey) -> Es256Key {
    let jwk = key.private_jwk();
    let scalar = jwk.get("d").and_then(Value::as_str).and_then(from_base64url).expect("a scalar");
    Es256Key::from_scalar(&scalar).expect("a scalar of P-256")
}

fn did_document() -> String {
    let (key, ..) = certificate();
    let signer = did_signer(es256(&key));
    let published = PublishedKey::new(signer.key_id(), *signer.public_key());
    did_document_json(&did_web(BASE_URL).expect("an origin"), &[published])
}

fn did_signer(key: Es256Key) -> SoftwareSigner {
    let did = did_web(BASE_URL).expect("an origin");
    let id = key_id(&aws_lc_rs::PROVIDER, &did, key.public_key());
    SoftwareSigner::new(key, id)
}
