//! OpenID4VP 1.0 and HAIP: good answers in each way to ask, an answer to one of two offers, and every
//! forgery of the sample wallet.

// The table runs in tests only.
#![allow(clippy::expect_used)]

use std::sync::Arc;

use idgate_core::crypto::{Es256Key, aws_lc_rs};
use idgate_core::discovery::{PublishedKey, did_document_json, did_web, key_id};
use idgate_core::ids::{IssuerId, TenantId};
use idgate_core::request::{Dialect, Dialects, Scheme, SoftwareSigner};
use idgate_core::session::Offer;
use idgate_core::trust::{RevocationPolicy, roots_from_file};
use idgate_core::verifier::DialectOptions;
use idgate_core::{
    PresentationRequest, Session, TrustEntry, TrustSnapshot, TrustedKey, UnixMillis, Verifier,
};
use idgate_testkit::codec::{base64url, from_base64url};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::openid4vp::{Expected, Fetched, Forgery, Keys, Prefix, Request};
use idgate_testkit::samples::{self, ISSUER, MDL_ISSUER, VCT};
use idgate_testkit::wallet::Wallet;
use idgate_testkit::x509::{CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, dns_names};
use serde_json::{Value, json};

use super::mdoc::expected;
use crate::tamper::Counted;
use crate::tamper::scenario::NOW_MS;

const BASE_URL: &str = "https://gateway.example";
const NOW: UnixMillis = UnixMillis(NOW_MS);

/// In this order the refusals that other tables know come first.
const FORGERIES: [Forgery; 33] = [
    Forgery::CredentialSignature,
    Forgery::KbSignature,
    Forgery::KbKey,
    Forgery::SdHash,
    Forgery::Nonce,
    Forgery::Audience,
    Forgery::AudienceWithoutPrefix,
    Forgery::AudienceOfResponseUri,
    Forgery::IatYearBack,
    Forgery::IatAhead,
    Forgery::NoProof,
    Forgery::Transcript,
    Forgery::TranscriptOfAnnexB,
    Forgery::TranscriptThumbprint,
    Forgery::TranscriptNonce,
    Forgery::TranscriptClient,
    Forgery::DeviceKey,
    Forgery::UnknownQueryId,
    Forgery::MissingQueryId,
    Forgery::NoQueryId,
    Forgery::SeveralPresentations,
    Forgery::NoPresentations,
    Forgery::BareString,
    Forgery::ObjectElement,
    Forgery::NumberElement,
    Forgery::DraftString,
    Forgery::DraftArray,
    Forgery::State,
    Forgery::NoState,
    Forgery::OtherKey,
    Forgery::Unencrypted,
    Forgery::DeviceMac,
    Forgery::TwoDocuments,
];

/// A way to ask.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    profiles: &'static [Dialect],
    by_reference: bool,
    /// Of the last of `profiles`, which is the one that is answered.
    prefix: Prefix,
}

const BY_VALUE: Way = Way {
    name: "1.0 by value",
    profiles: &[Dialect::V1_0],
    by_reference: false,
    prefix: Prefix::RedirectUri,
};
const BY_REFERENCE: Way = Way {
    name: "1.0 by reference",
    profiles: &[Dialect::V1_0],
    by_reference: true,
    prefix: Prefix::DecentralizedIdentifier,
};
const HAIP: Way =
    Way { name: "haip", profiles: &[Dialect::Haip], by_reference: true, prefix: Prefix::X509Hash };
/// The session's own offer is the draft's.
const OFFERED: Way =
    Way { name: "haip beside draft", profiles: &[Dialect::Draft, Dialect::Haip], ..HAIP };

/// Every way with each format and with both, and every forgery of an answer with both.
pub(super) fn all() -> Vec<Value> {
    // The first of each format is committed: each is asked for another way.
    let asked: [(&[&str], [Way; 4]); 3] = [
        (&["pid"], [BY_VALUE, BY_REFERENCE, HAIP, OFFERED]),
        (&["mdl"], [OFFERED, BY_VALUE, BY_REFERENCE, HAIP]),
        (&["pid", "mdl"], [BY_REFERENCE, HAIP, OFFERED, BY_VALUE]),
    ];
    let good = asked.into_iter().flat_map(|(asked, ways)| {
        ways.map(|way| record(&format!("good, {}, {asked:?}", way.name), way, asked, Forgery::None))
    });
    let forged = FORGERIES
        .map(|forgery| record(&format!("haip, {forgery:?}"), HAIP, &["pid", "mdl"], forgery));
    good.chain(forged).collect()
}

/// The verifier's key and certificate, for tests that make requests under it.
#[cfg(test)]
pub(super) fn certified() -> Value {
    let (key, chain, _) = certificate();
    json!({ "key": key.private_jwk()["d"], "chain": base64url(&chain), "now_ms": NOW_MS })
}

fn record(title: &str, way: Way, asked: &[&str], forgery: Forgery) -> Value {
    let people = People::new();
    let (verifier, anchor) = people.verifier(way);
    let session = session(&verifier, way, asked);
    let offer = session.offers().last().expect("one at least");
    let request = read(&verifier, &session, offer, way, anchor);
    let body = people.wallet.forge_1_0(&request, forgery, NOW_MS).expect("fitting credentials");
    let body = body.body();
    json!({
        "title": title,
        "trust": people.trust,
        "livemode": false,
        "session": base64url(&session.to_snapshot()),
        "offer": offer.id().map(|id| id.as_str()),
        "content_type": body.content_type,
        "body": base64url(&body.bytes),
        "now_ms": NOW_MS,
        "expected": expected(&verifier, &session, offer.id(), &body),
    })
}

/// The issuers, as core and as JSON, and who holds their credentials.
struct People {
    wallet: Wallet,
    trust: Value,
    entries: [TrustEntry; 2],
}

impl People {
    fn new() -> Self {
        let (issuer, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
        let credential = samples::identity(&holder, NOW_MS).issue(&issuer);
        let mdl = samples::issue_mdl(NOW_MS);
        let jwk = issuer.public_jwk();
        let trust = json!([
            { "issuer_id": ISSUER, "vct": [VCT], "revocation": "off", "jwks": [jwk] },
            { "issuer_id": MDL_ISSUER, "revocation": "off", "roots": [base64url(&mdl.root.der)] },
        ]);
        let mut pid = TrustEntry::new(IssuerId::new(ISSUER));
        pid.vct = vec![VCT.into()];
        let key = idgate_core::crypto::Jwk::parse(jwk.to_string().as_bytes()).expect("a JWK").key;
        pid.keys.push(TrustedKey::new(key));
        let mut dmv = TrustEntry::new(IssuerId::new(MDL_ISSUER));
        dmv.roots = roots_from_file(&aws_lc_rs::PROVIDER, &mdl.root.der).expect("a root");
        let mut entries = [pid, dmv];
        for entry in &mut entries {
            entry.revocation = RevocationPolicy::Off;
        }
        let wallet = Wallet::new(holder).with(credential).with_mdoc(mdl.document);
        Self { wallet, trust, entries }
    }

    /// One that asks that way, and what its certificate leads up to.
    fn verifier(&self, way: Way) -> (Verifier, Vec<u8>) {
        let (key, chain, anchor) = certificate();
        let key = es256(&key);
        let did = did_signer(key.clone());
        let certified = SoftwareSigner::new(key, "certified").with_certificate_chain(vec![chain]);
        let trust = Arc::new(TrustSnapshot::new(1, self.entries.clone()));
        let builder = Verifier::builder(aws_lc_rs::PROVIDER);
        let builder = match way.by_reference {
            true => builder.jar(BASE_URL, Arc::new(did)),
            false => builder.inline(BASE_URL),
        };
        let builder = builder.trust(trust).request_signer(Arc::new(certified));
        let dialects = DialectOptions::new(way.profiles.iter().copied());
        (builder.dialects(dialects).build().expect("a good configuration"), anchor)
    }
}

/// A key, a certificate for it, and the root of that.
fn certificate() -> (SigningKey, Vec<u8>, Vec<u8>) {
    let root = Identity::iaca(Curve::P256, NOW_MS);
    let key = SigningKey::from_seed(Curve::P256, "a certified verifier");
    // As EU access certificates have it: the organizationIdentifier.
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

fn did_signer(key: Es256Key) -> SoftwareSigner {
    let did = did_web(BASE_URL).expect("an origin");
    let id = key_id(&aws_lc_rs::PROVIDER, &did, key.public_key());
    SoftwareSigner::new(key, id)
}

fn session(verifier: &Verifier, way: Way, asked: &[&str]) -> Session {
    let all = [
        json!({ "id": "pid", "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] }),
        json!({ "id": "mdl", "format": "mso_mdoc", "issuer_id": MDL_ISSUER, "claims": ["family_name"] }),
    ];
    let named = |one: &Value| asked.iter().any(|id| one["id"] == *id);
    let credentials: Vec<Value> = all.into_iter().filter(named).collect();
    let body = json!({
        "credentials": credentials,
        "redirect_uri": "https://shop.example/back",
        "profiles": way.profiles,
    })
    .to_string();
    let spoken = Dialects::new(way.profiles.iter().copied());
    let request = PresentationRequest::parse_for(body.as_bytes(), verifier.trust(), false, &spoken);
    let request = request.expect("a good request");
    let tenant = TenantId::new("cli_0000000000000000000000");
    let made = verifier.create_session(request, tenant, false, &mut Counted::default(), NOW);
    made.expect("a session").session
}

/// The request of `offer`, as the wallet has it.
fn read(
    verifier: &Verifier,
    session: &Session,
    offer: &Offer,
    way: Way,
    anchor: Vec<u8>,
) -> Request {
    let fetched = way.by_reference.then(|| {
        let (_, jwt) =
            verifier.request_object(session, offer.id(), None, NOW).expect("a Request Object");
        Fetched {
            content_type: "application/oauth-authz-req+jwt".into(),
            jwt: jwt.as_str().into(),
            wallet_nonce: None,
        }
    });
    let (key, ..) = certificate();
    let published = es256(&key);
    let did = did_web(BASE_URL).expect("an origin");
    let id = key_id(&aws_lc_rs::PROVIDER, &did, published.public_key());
    let document = did_document_json(&did, &[PublishedKey::new(id, *published.public_key())]);
    let expected = Expected {
        prefix: way.prefix,
        encrypted: way.by_reference,
        formats: Vec::new(),
        haip: way.prefix == Prefix::X509Hash,
        transaction_data: false,
        anchor: Some(anchor),
        did_document: serde_json::from_str(&document).ok(),
        now_ms: NOW_MS,
    };
    // What a suite finds is the subject of other tests.
    let (request, _) = Request::read(
        &session.link(Scheme::OpenId4Vp, offer),
        fetched.as_ref(),
        &expected,
        &mut Keys::default(),
    );
    request
}
