//! `idgate verify` on a captured DeviceResponse: exit codes and the tree of checks.

use idgate_testkit::codec::{HashAlg, base64url, from_base64url};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{DeviceProof, device_response, iso_18013_7, openid4vp};
use idgate_testkit::samples::{SampleMdl, issue_mdl};
use serde_json::json;

use crate::server::{Installation, Output};
use crate::tenant::now_ms;

const OK: i32 = 0;
const ERROR: i32 = 1;
const USAGE: i32 = 2;
const REFUSED: i32 = 3;

const RESPONSE_URI: &str = "https://gateway.example/v1/oid4vp/response/ses_1";
const CLIENT_ID: &str = "redirect_uri:https://gateway.example/v1/oid4vp/response/ses_1";
const NONCE: &str = "the-nonce-of-a-captured-request";

/// A driving licence, and the files that the command needs.
struct Desk {
    installation: Installation,
    sample: SampleMdl,
}

impl Desk {
    fn new() -> Self {
        let (installation, sample) = (Installation::new(), issue_mdl(now_ms()));
        installation.file("root.der", &sample.root.der);
        Self { installation, sample }
    }

    fn respond(&self, transcript: &[u8], proof: &DeviceProof) -> Vec<u8> {
        device_response(vec![self.sample.document.prove(transcript, proof)]).encode()
    }

    /// Verifies `content` as the answer to the request above.
    fn verify(&self, content: impl AsRef<[u8]>, more: &[&str]) -> Output {
        let file = self.installation.file("response", content);
        let arguments = [
            "verify",
            file.to_str().unwrap(),
            "--format",
            "mso_mdoc",
            "--nonce",
            NONCE,
            "--client-id",
            CLIENT_ID,
            "--test",
        ];
        self.installation.run(&[&arguments, more].concat())
    }

    fn trusted(&self, content: impl AsRef<[u8]>, more: &[&str]) -> Output {
        let trusted = ["--response-uri", RESPONSE_URI, "--root", "root.der"];
        self.verify(content, &[&trusted, more].concat())
    }
}

fn inline() -> Vec<u8> {
    openid4vp(CLIENT_ID, NONCE, None, RESPONSE_URI)
}

#[test]
fn a_captured_response_is_verified_as_text_and_as_cbor() {
    let desk = Desk::new();
    let cbor = desk.respond(&inline(), &DeviceProof::Signature);
    let text = format!("{}\n", base64url(&cbor));
    for content in [text.as_bytes(), &cbor] {
        let output = desk.trusted(content, &[]);
        assert_eq!(output.code, OK, "{output:?}");
        assert!(output.stdout.contains("18013-5"), "no clause in {}", output.stdout);
        assert!(!output.stdout.contains("Mustermann"), "{output:?}");
    }
    let json = desk.trusted(&cbor, &["--json"]).json();
    assert_eq!((&json["verified"], &json["revocation"]), (&json!(true), &json!("not_published")));
    let details = json!({ "credential": "not_published", "signer": "not_published" });
    assert_eq!(json["revocation_details"], details);
    assert_eq!(json.get("issuing_country_unbound"), None);
    assert_eq!(json["session_transcript"], "openid4vp-1.0");
    assert_eq!(json["credential_type"], "org.iso.18013.5.1.mDL");
}

#[test]
fn a_refusal_exits_with_3_and_says_why() {
    let desk = Desk::new();
    let good = desk.respond(&inline(), &DeviceProof::Signature);
    let other = openid4vp(CLIENT_ID, "another-nonce", None, RESPONSE_URI);
    let other = desk.respond(&other, &DeviceProof::Signature);
    for (content, more, reason) in [
        (&other, &[][..], "device_auth_invalid"),
        (&good, &["--at", "2099-01-01T00:00:00Z"], "certificate_expired"),
        (&good, &["--doc-type", "another"], "doc_type_mismatch"),
        (&good, &["--eku", "1.2.3.4"], "chain_invalid"),
        (&good, &["--revocation", "required"], "revocation_unknown"),
        (&b"no response".to_vec(), &[], "malformed_presentation"),
    ] {
        let output = desk.trusted(content, more);
        assert_eq!(output.code, REFUSED, "{reason}: {output:?}");
        assert!(output.stdout.contains(reason), "{reason}: {output:?}");
        assert!(!output.stdout.contains(NONCE), "{output:?}");
    }
    // A live session requires a CRL distribution point of its signer.
    let strict = desk.installation.run(&[
        "verify",
        "response",
        "--format",
        "mso_mdoc",
        "--nonce",
        NONCE,
        "--client-id",
        CLIENT_ID,
        "--response-uri",
        RESPONSE_URI,
        "--root",
        "root.der",
    ]);
    assert_eq!(strict.code, REFUSED, "{strict:?}");
}

#[test]
fn a_pinned_signer_needs_no_root() {
    let desk = Desk::new();
    let content = desk.respond(&inline(), &DeviceProof::Signature);
    desk.installation.file("signer.der", &desk.sample.signer.der);
    let pinned = ["--response-uri", RESPONSE_URI, "--pinned-signer", "signer.der"];
    assert_eq!(desk.verify(&content, &pinned).code, OK);
    desk.installation.file("root.der", &issue_mdl(now_ms() + 1_000_000_000).signer.der);
    assert_eq!(desk.trusted(&content, &[]).code, ERROR, "a signer is not a root");
}

#[test]
fn an_encrypted_answer_is_tried_with_its_key_and_its_apu() {
    let desk = Desk::new();
    let reader = SigningKey::from_seed(Curve::P256, "reader");
    desk.installation.file("public.jwk", reader.public_jwk().to_string());
    desk.installation.file("private.jwk", reader.private_jwk().to_string());
    let jwk = reader.public_jwk();
    let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, jwk["x"], jwk["y"]);
    let thumbprint = HashAlg::Sha256.hash(canonical.as_bytes());
    let by_key = openid4vp(CLIENT_ID, NONCE, Some(&thumbprint), RESPONSE_URI);
    let signed = desk.respond(&by_key, &DeviceProof::Signature);
    assert_eq!(desk.trusted(&signed, &["--enc-key", "public.jwk"]).code, OK);
    assert_eq!(desk.trusted(&signed, &[]).code, REFUSED);
    let mac = desk.respond(&by_key, &DeviceProof::Mac(reader.public_sec1()));
    assert_eq!(desk.trusted(&mac, &["--enc-key", "private.jwk"]).code, OK);
    assert_eq!(desk.trusted(&mac, &["--enc-key", "public.jwk"]).code, REFUSED);
    let apu = base64url(b"wallet nonce");
    assert!(from_base64url(&apu).is_some());
    let by_apu = iso_18013_7(CLIENT_ID, NONCE, "wallet nonce", RESPONSE_URI);
    let by_apu = desk.respond(&by_apu, &DeviceProof::Signature);
    let output = desk.trusted(&by_apu, &["--enc-key", "public.jwk", "--apu", &apu, "--json"]);
    assert_eq!(output.json()["session_transcript"], "iso18013-7");
    let plain = desk.respond(&inline(), &DeviceProof::Signature);
    assert_eq!(desk.trusted(&plain, &["--apu", &apu]).code, REFUSED);
}

#[test]
fn unusable_options_are_usage_errors_not_refusals() {
    let desk = Desk::new();
    let content = desk.respond(&inline(), &DeviceProof::Signature);
    assert_eq!(desk.verify(&content, &["--root", "root.der"]).code, USAGE);
    assert_eq!(desk.verify(&content, &["--response-uri", RESPONSE_URI]).code, USAGE);
    assert_eq!(desk.trusted(&content, &["--apu", "not base64url"]).code, USAGE);
    assert_eq!(desk.trusted(&content, &["--eku", "x"]).code, USAGE);
    assert_eq!(desk.trusted(&content, &["--root", "no-such-file"]).code, ERROR);
    assert_eq!(desk.trusted(&content, &["--crl", "root.der"]).code, ERROR);
    assert_eq!(desk.trusted(&content, &["--enc-key", "root.der"]).code, ERROR);
}
