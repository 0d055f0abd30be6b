//! `idgate verify --origin` on a decrypted answer that a page got from its browser.

use idgate_testkit::codec::from_base64url;
use idgate_testkit::jwe::Enc;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{MDL, MDL_NAME_SPACE};
use idgate_testkit::openid4vp::{Forgery, Query, Request};
use idgate_testkit::request_object::ResponseKey;
use idgate_testkit::samples::{self, VCT};
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use crate::server::{Installation, Output};
use crate::tenant::now_ms;

const OK: i32 = 0;
const USAGE: i32 = 2;
const REFUSED: i32 = 3;

const SHOP: &str = "https://shop.example";
const NONCE: &str = "the-nonce-of-a-captured-request";

/// The files for a captured answer, the wallet that gave it, and the request of the shop's page.
struct Desk {
    installation: Installation,
    wallet: Wallet,
    request: Request,
}

impl Desk {
    fn new() -> Self {
        let installation = Installation::new();
        let (issuer, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
        let mdl = samples::issue_mdl(now_ms());
        let reader = SigningKey::from_seed(Curve::P256, "reader");
        let query = json!({ "credentials": [
            { "id": "pid", "format": "dc+sd-jwt", "meta": { "vct_values": [VCT] },
                "claims": [{ "path": ["given_name"] }] },
            { "id": "mdl", "format": "mso_mdoc", "meta": { "doctype_value": MDL },
                "claims": [{ "path": [MDL_NAME_SPACE, "family_name"] }] },
        ] });
        installation.file("issuer.jwk", issuer.public_jwk().to_string());
        installation.file("root.der", &mdl.root.der);
        installation.file("reader.jwk", reader.private_jwk().to_string());
        installation.file("query.json", query.to_string());
        let credential = samples::identity(&holder, now_ms()).issue(&issuer);
        let wallet = Wallet::new(holder).with(credential).with_mdoc(mdl.document);
        let jwk = reader.public_jwk();
        let key = ResponseKey { jwk, kid: "1".into(), point: reader.public_sec1() };
        let request = Request {
            client_id: format!("origin:{SHOP}"),
            nonce: NONCE.into(),
            query: Query::read(&query),
            encryption: Some((key, Enc::A256Gcm)),
            ..Request::default()
        };
        Self { installation, wallet, request: request.from_origin(SHOP) }
    }

    fn forged(&self, forgery: Forgery) -> Value {
        let answer = self.wallet.forge_1_0(&self.request, forgery, now_ms()).unwrap();
        answer.parameters["vp_token"].clone()
    }

    /// Verifies this as an answer to a page.
    fn verify(&self, captured: impl AsRef<[u8]>, more: &[&str]) -> Output {
        self.installation.file("captured", captured);
        let arguments = ["verify", "captured", "--nonce", NONCE, "--root", "root.der", "--test"];
        self.installation.run(&[&arguments, more].concat())
    }

    /// The same for a whole answer to a page on that origin.
    fn asked(&self, vp_token: &Value, origin: &str) -> Output {
        let key = ["--issuer-key", "issuer.jwk", "--enc-key", "reader.jwk", "--json"];
        let page = ["--dcql", "query.json", "--origin", origin];
        self.verify(vp_token.to_string(), &[&page[..], &key].concat())
    }
}

#[test]
fn an_answer_is_for_the_page_that_asked() {
    let desk = Desk::new();
    let good = desk.forged(Forgery::None);
    let output = desk.asked(&good, SHOP);
    assert_eq!(output.code, OK, "{output:?}");
    let told = output.json();
    let transcripts: Vec<_> =
        (0..2).map(|at| told["credentials"][at]["session_transcript"].clone()).collect();
    assert_eq!(transcripts, [Value::Null, "openid4vp-1.0-dc-api".into()]);
    assert!(!output.stdout.contains("Erika") && !output.stdout.contains(NONCE), "{output:?}");
    assert_eq!(desk.asked(&good, "https://SHOP.example:443/").code, OK, "the same page");
    for elsewhere in ["https://other.example", "https://shop.example:8443"] {
        let output = desk.asked(&good, elsewhere);
        assert_eq!(output.code, REFUSED, "{elsewhere}: {output:?}");
        for reason in ["audience_mismatch", "device_auth_invalid"] {
            assert!(output.stdout.contains(reason), "{elsewhere}: {output:?}");
        }
    }
}

#[test]
fn a_forgery_is_refused_with_its_reason() {
    let desk = Desk::new();
    for (forgery, reason) in [
        (Forgery::CredentialSignature, "issuer_signature_invalid"),
        (Forgery::Nonce, "nonce_mismatch"),
        (Forgery::AudienceWithoutPrefix, "audience_mismatch"),
        (Forgery::NoProof, "holder_binding_missing"),
        (Forgery::Transcript, "device_auth_invalid"),
        // The transcript of a link.
        (Forgery::TranscriptClient, "device_auth_invalid"),
        (Forgery::TranscriptThumbprint, "device_auth_invalid"),
        (Forgery::DeviceMac, "device_auth_invalid"),
        (Forgery::UnknownQueryId, "submission_mismatch"),
    ] {
        let output = desk.asked(&desk.forged(forgery), SHOP);
        assert_eq!(output.code, REFUSED, "{forgery:?}: {output:?}");
        assert!(output.stdout.contains(reason), "{forgery:?}: {output:?}");
    }
}

#[test]
fn a_single_presentation_of_either_format_is_verified() {
    let desk = Desk::new();
    let good = desk.forged(Forgery::None);
    let text = |id: &str| good[id][0].as_str().unwrap().to_owned();
    let page = ["--origin", SHOP];
    let sd_jwt = ["--format", "vc+sd-jwt", "--issuer-key", "issuer.jwk"];
    let output = desk.verify(text("pid"), &[&page[..], &sd_jwt].concat());
    assert_eq!(output.code, OK, "{output:?}");
    let mdoc = ["--format", "mso_mdoc", "--enc-key", "reader.jwk"];
    let cbor = from_base64url(&text("mdl")).unwrap();
    for captured in [text("mdl").into_bytes(), cbor] {
        let output = desk.verify(&captured, &[&page[..], &mdoc].concat());
        assert_eq!(output.code, OK, "{output:?}");
        let output = desk.verify(&captured, &[&page[..], &mdoc[..2]].concat());
        assert_eq!(output.code, REFUSED, "without the key: {output:?}");
    }
    let mac = desk.forged(Forgery::DeviceMac)["mdl"][0].as_str().unwrap().to_owned();
    let output = desk.verify(mac, &[&page[..], &mdoc].concat());
    assert_eq!(output.code, REFUSED, "no browser asks for a MAC: {output:?}");
}

#[test]
fn an_origin_replaces_the_client_id() {
    let desk = Desk::new();
    let mdoc = ["--format", "mso_mdoc"];
    for more in [
        &[][..],
        &["--origin", SHOP, "--client-id", "x509_hash:x"],
        &["--origin", SHOP, "--response-uri", "https://gateway.example"],
        &["--origin", SHOP, "--apu", "bm9uY2U"],
        &["--origin", "origin:https://shop.example"],
        &["--origin", "https://shop.example/buy"],
    ] {
        let output = desk.verify("x", &[&mdoc[..], more].concat());
        assert_eq!(output.code, USAGE, "{more:?}: {output:?}");
    }
}
