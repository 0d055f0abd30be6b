//! A verifier with a certificate, a stored session with offers of `draft` and `haip` and an answer to the
//! latter, and a session for a page with its browser's answer.

use std::path::Path;
use std::sync::Arc;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Es256Key, SoftwareSigner};
use idgate_core::shell::{Jwk, ProfileOptions, TrustEntry, TrustSnapshot, TrustedKey};
use idgate_core::{
    Asked, DcApi, Entropy, EntropyUnavailable, IssuerId, NewSession, Profile, Scheme, Session,
    TenantId, Trust, UnixMillis, Verifier,
};
use idgate_testkit::codec::{HashAlg, base64url, from_base64url};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::openid4vp::{Expected, Fetched, Format, Keys, Prefix, Request};
use idgate_testkit::samples::{self, ISSUER, VCT};
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::wallet::Wallet;
use idgate_testkit::x509::{CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, dns_names};
use serde_json::{Value, json};

use super::{BASE_URL, write_file};

const NOW: UnixMillis = UnixMillis(SAMPLE_NOW_MS);
const ORGANIZATION_IDENTIFIER: &str = "2.5.4.97";
const PARTY: &str = "VATUT-123";
const SHOP: &str = "https://shop.example";

pub(super) fn write(dir: &Path) {
    let (issuer, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
    let credential = samples::identity(&holder, SAMPLE_NOW_MS).issue(&issuer);
    let wallet = Wallet::new(holder).with(credential);
    let request = json!({
        "credentials": [
            { "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] },
        ],
        "redirect_uri": "https://shop.example/back",
    });
    write_file(dir, "request.json", request.to_string().as_bytes());
    let mut named = request.clone();
    named["profiles"] = json!(["draft", "1.0"]);
    write_file(dir, "profiles.json", named.to_string().as_bytes());
    let entry = json!({ "issuer_id": ISSUER, "vct": [VCT] });
    write_file(dir, "entry.json", entry.to_string().as_bytes());
    write_file(dir, "key.json", issuer.public_jwk().to_string().as_bytes());
    write_file(dir, "registration.jwt", registration("given_name").as_bytes());
    write_file(dir, "another.jwt", registration("family_name").as_bytes());
    let (verifier, anchor) = verifier(dir, &issuer);
    page(dir, &verifier, &wallet, &request);
    let session = session(&verifier, &request, &[]);
    let haip = session.offers().nth(1).unwrap();
    let jwt =
        verifier.request_object(&session, &Asked::get(session.handle_of(haip)), NOW).unwrap().jwt;
    let fetched = Fetched {
        content_type: "application/oauth-authz-req+jwt".into(),
        jwt: jwt.as_str().into(),
        wallet_nonce: None,
    };
    let link = session.link(Scheme::Haip, haip);
    let (read, findings) =
        Request::read(&link, Some(&fetched), &expected(anchor), &mut Keys::default());
    assert!(findings.is_empty(), "{findings}");
    let body = wallet.answer_1_0(&read, SAMPLE_NOW_MS).unwrap().body();
    write_file(dir, "session", &session.to_bytes());
    write_file(dir, "offer", haip.id().unwrap().as_str().as_bytes());
    write_file(dir, "content_type", body.content_type.as_bytes());
    write_file(dir, "body", &body.bytes);
}

/// A session that also asks through a page's browser, and the credential that the page receives.
fn page(dir: &Path, verifier: &Verifier, wallet: &Wallet, request: &Value) {
    let mut with_page = request.clone();
    with_page["dc_api"] = json!({ "origins": [SHOP] });
    write_file(dir, "page.json", with_page.to_string().as_bytes());
    let session = session(verifier, request, &[SHOP]);
    let requests = verifier.dc_api_requests(&session, NOW).unwrap();
    let (protocol, data) = requests.iter().next().unwrap();
    let data = serde_json::from_str(data).unwrap();
    for (name, origin) in [("credential.json", SHOP), ("copied.json", "https://other.example")] {
        let read = Request::of_browser(protocol, &data, origin).unwrap();
        let answer = wallet.answer_1_0(&read, SAMPLE_NOW_MS).unwrap();
        write_file(dir, name, answer.credential(protocol).to_string().as_bytes());
    }
    write_file(dir, "page_session", &session.to_bytes());
}

/// A registration certificate for this claim, valid for a minute. It is not signed by a registrar, which only
/// wallets would check.
fn registration(claim: &str) -> String {
    let now = SAMPLE_NOW_MS / 1000;
    let registered = json!({
        "format": "dc+sd-jwt", "meta": { "vct_values": [VCT] }, "claim": [{ "path": [claim] }],
    });
    let header = json!({ "alg": "ES256", "typ": "rc-wrp+jwt" });
    let claims = json!({ "sub": PARTY, "iat": now, "exp": now + 60, "credentials": [registered] });
    let part = |json: &Value| base64url(json.to_string().as_bytes());
    [part(&header), part(&claims), base64url(&[7; 64])].join(".")
}

/// A signer with a certificate for its key, and the root of the certificate.
fn verifier(dir: &Path, issuer: &SigningKey) -> (Verifier, Vec<u8>) {
    let root = Identity::iaca(Curve::P384, SAMPLE_NOW_MS);
    let key = SigningKey::from_seed(Curve::P256, "a certified verifier");
    let name = Name::new("UT", "Shop").with(ORGANIZATION_IDENTIFIER, 0x0c, PARTY);
    let leaf = CertificateBuilder::document_signer(&root, name, &key, SAMPLE_NOW_MS)
        .set(SUBJECT_ALT_NAME, false, dns_names(&["gateway.example"]))
        .issue(&root, &key);
    let scalar = from_base64url(key.private_jwk()["d"].as_str().unwrap()).unwrap();
    write_file(dir, "scalar", &scalar);
    write_file(dir, "chain.der", &leaf.der);
    let key = || Es256Key::from_scalar(&scalar).unwrap();
    let certified = SoftwareSigner::new(key(), "certified").with_certificate_chain(vec![leaf.der]);
    let mut entry = TrustEntry::new(IssuerId::new(ISSUER));
    entry.vct = vec![VCT.into()];
    let jwk = Jwk::parse(issuer.public_jwk().to_string().as_bytes()).unwrap();
    entry.keys.push(TrustedKey::new(jwk.key));
    let trust = Arc::new(TrustSnapshot::new(1, [entry]));
    let builder = Verifier::builder(Trust::of_snapshot(PROVIDER, trust))
        .profiles([idgate_core::Profile::Draft])
        .unsigned(BASE_URL);
    let mut profiles = ProfileOptions::new([Profile::Draft, Profile::Haip]);
    profiles.dc_api = DcApi::Multisigned;
    let builder = builder.signer(Arc::new(certified)).profile_options(profiles);
    (builder.build().unwrap(), root.der)
}

fn session(verifier: &Verifier, request: &Value, origins: &[&str]) -> Session {
    let mut request = request.clone();
    request["profiles"] = json!(["draft", "haip"]);
    if !origins.is_empty() {
        request["dc_api"] = json!({ "origins": origins });
    }
    let asked = idgate_core::Request::from_json(request.to_string().as_bytes()).unwrap();
    let new = NewSession::live().tenant(TenantId::new("cli_1"));
    verifier.create_session(&asked, new, &mut Mixed(0), NOW).unwrap().session
}

fn expected(anchor: Vec<u8>) -> Expected {
    Expected {
        prefix: Prefix::X509Hash,
        encrypted: true,
        formats: vec![Format::SdJwtVc],
        haip: true,
        transaction_data: false,
        anchor: Some(anchor),
        did_document: None,
        now_ms: SAMPLE_NOW_MS,
    }
}

/// Deterministic bytes that differ for each draw, so that each offer has its own nonce, state and key.
struct Mixed(u64);

impl Entropy for Mixed {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        self.0 += 1;
        let bytes = HashAlg::Sha256.hash(&self.0.to_be_bytes());
        out.iter_mut().zip(bytes.iter().cycle()).for_each(|(to, from)| *to = *from);
        Ok(())
    }
}
