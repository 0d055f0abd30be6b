//! `idgate verify --encryption-info` on an answer that a page got from its browser by ISO/IEC TS
//! 18013-7 Annex C.

use idgate_testkit::codec::base64url;
use idgate_testkit::iso_mdoc::{AskedDocument, IsoMdocAnswer, IsoMdocRequest};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Cbor, DeviceProof, MDL, MDL_NAME_SPACE, cose_key};
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;

use crate::server::{Installation, Output};
use crate::tenant::now_ms;

const OK: i32 = 0;
const ERROR: i32 = 1;
const USAGE: i32 = 2;
const REFUSED: i32 = 3;

const SHOP: &str = "https://shop.example";

/// The files for a captured answer, the wallet that gave it, and the request of the shop's page.
struct Desk {
    installation: Installation,
    wallet: Wallet,
    request: IsoMdocRequest,
}

impl Desk {
    fn new() -> Self {
        let installation = Installation::new();
        let mdl = samples::issue_mdl(now_ms());
        let reader = SigningKey::from_seed(Curve::P256, "reader");
        let another = SigningKey::from_seed(Curve::P256, "another");
        installation.file("root.der", &mdl.root.der);
        installation.file("reader.jwk", reader.private_jwk().to_string());
        installation.file("public.jwk", reader.public_jwk().to_string());
        installation.file("another.jwk", another.private_jwk().to_string());
        let parameters =
            [("nonce", Cbor::Bytes(vec![7; 16])), ("recipientPublicKey", cose_key(&reader))];
        let info = Cbor::Array(vec!["dcapi".into(), Cbor::map(parameters)]);
        let asked = AskedDocument {
            doc_type: MDL.into(),
            elements: vec![(MDL_NAME_SPACE.into(), "family_name".into())],
            retains: false,
            items: Vec::new(),
            reader_auth: None,
        };
        let request = IsoMdocRequest {
            encryption_info: base64url(&info.encode()),
            origin: SHOP.into(),
            nonce: vec![7; 16],
            recipient: reader.public_sec1(),
            documents: vec![asked],
            registration: None,
            reader_auth_all: None,
        };
        let wallet = Wallet::new(mdl.document.device_key.clone()).with_mdoc(mdl.document);
        Self { installation, wallet, request }
    }

    fn answer(&self) -> IsoMdocAnswer {
        self.wallet.answer_iso_mdoc(&self.request).unwrap()
    }

    /// Verifies this as an answer to a page.
    fn verify(&self, captured: impl AsRef<[u8]>, more: &[&str]) -> Output {
        self.installation.file("captured", captured);
        let arguments =
            ["verify", "captured", "--format", "mso_mdoc", "--root", "root.der", "--test"];
        self.installation.run(&[&arguments, more].concat())
    }

    /// The same for a page on that origin, with this key.
    fn from(&self, captured: impl AsRef<[u8]>, origin: &str, key: &str) -> Output {
        let info = &*self.request.encryption_info;
        let page = ["--origin", origin, "--encryption-info", info, "--enc-key", key, "--json"];
        self.verify(captured, &page)
    }
}

fn response(answer: &IsoMdocAnswer) -> String {
    answer.credential()["data"]["response"].as_str().unwrap().into()
}

#[test]
fn an_answer_is_for_the_page_that_asked() {
    let desk = Desk::new();
    let answer = desk.answer();
    let plain = answer.device_response().encode();
    let encrypted = answer.encrypted(&plain).encode();
    // As text and as bytes, encrypted and not.
    for captured in
        [response(&answer).into_bytes(), encrypted, base64url(&plain).into_bytes(), plain.clone()]
    {
        let output = desk.from(&captured, SHOP, "reader.jwk");
        assert_eq!(output.code, OK, "{output:?}");
        let told = output.json();
        assert_eq!(told["session_transcript"], "iso18013-7-annex-c", "{told}");
        assert!(!output.stdout.contains("Mustermann"), "{output:?}");
        assert_eq!(desk.from(&captured, "https://SHOP.example:443/", "reader.jwk").code, OK);
    }
    for elsewhere in ["https://other.example", "https://shop.example:8443"] {
        let output = desk.from(&plain, elsewhere, "reader.jwk");
        assert_eq!(output.code, REFUSED, "{elsewhere}: {output:?}");
        assert!(output.stdout.contains("device_auth_invalid"), "{output:?}");
        let output = desk.from(response(&answer), elsewhere, "reader.jwk");
        assert_eq!(output.code, REFUSED, "{elsewhere}: {output:?}");
        assert_eq!(output.json()["reason"], "decryption_failed", "{output:?}");
    }
}

#[test]
fn only_an_encrypted_response_needs_the_private_key() {
    let desk = Desk::new();
    let answer = desk.answer();
    let info = &*desk.request.encryption_info;
    let page = ["--origin", SHOP, "--encryption-info", info];
    let plain = answer.device_response().encode();
    assert_eq!(desk.verify(&plain, &page).code, OK);
    for key in [&[][..], &["--enc-key", "public.jwk"]] {
        let output = desk.verify(response(&answer), &[&page[..], key].concat());
        assert_eq!(output.code, ERROR, "{output:?}");
        assert!(output.stderr.contains("give the private key"), "{output:?}");
    }
    let other = [&page[..], &["--enc-key", "another.jwk"]].concat();
    let output = desk.verify(response(&answer), &other);
    assert_eq!(output.code, REFUSED, "{output:?}");
    assert!(
        output.stdout.contains("refused: decryption_failed: it cannot be decrypted"),
        "{output:?}"
    );
    let info =
        [&page[..2], &["--encryption-info", "gmVkY2FwaaA", "--enc-key", "reader.jwk"]].concat();
    assert_eq!(desk.verify(response(&answer), &info).code, REFUSED, "another request");
    let mut other = answer.clone();
    other.proof = DeviceProof::Mac(other.sealing.recipient.clone());
    let output = desk.from(response(&other), SHOP, "reader.jwk");
    assert_eq!(output.code, REFUSED, "no browser asks for a MAC: {output:?}");
}

#[test]
fn encryption_info_replaces_the_nonce_and_needs_an_origin() {
    let desk = Desk::new();
    let plain = desk.answer().device_response().encode();
    let output = desk.verify(&plain, &["--origin", SHOP, "--encryption-info", "gmVkY2FwaaA"]);
    assert_eq!(output.code, REFUSED, "another request: {output:?}");
    let output = desk.verify(&plain, &["--origin", SHOP, "--encryption-info", ""]);
    assert_eq!(output.code, REFUSED, "no request: {output:?}");
    let info = &*desk.request.encryption_info;
    for more in [
        &["--encryption-info", info][..],
        &["--encryption-info", info, "--client-id", "x", "--response-uri", "https://a.example"],
        &["--encryption-info", info, "--origin", SHOP, "--nonce", "n"],
        &["--origin", SHOP],
    ] {
        let output = desk.verify(&plain, more);
        assert_eq!(output.code, USAGE, "{more:?}: {output:?}");
    }
    let sd_jwt =
        ["verify", "captured", "--format", "vc+sd-jwt", "--origin", SHOP, "--encryption-info"];
    let output = desk.installation.run(&[&sd_jwt[..], &[info]].concat());
    assert_eq!(output.code, USAGE, "{output:?}");
}
