//! `idgate verify` on answers in request mode jar, with the key and `apu` of the answer.

use idgate_testkit::samples;
use idgate_testkit::wallet::Transcript;
use serde_json::{Value, json};

use super::{Desk, name_request};
use crate::server::Output;
use crate::tenant::now_ms;

/// Verifies `presentation` offline as an answer to the request with these `claims`.
fn verify(desk: &Desk, claims: &Value, presentation: &str, more: &[&str]) -> Output {
    let installation = &desk.gateway.installation;
    installation.file("presentation", presentation);
    let text = |name: &str| claims[name].as_str().unwrap().to_owned();
    let (nonce, client_id, response_uri) = (text("nonce"), text("client_id"), text("response_uri"));
    let request = [
        "verify",
        "presentation",
        "--nonce",
        &nonce,
        "--client-id",
        &client_id,
        "--response-uri",
        &response_uri,
        "--json",
    ];
    installation.run(&[&request, more].concat())
}

#[test]
fn a_captured_encrypted_answer_with_an_sd_jwt_vc_is_verified() {
    let mut desk = Desk::jar();
    let created = desk.tenant.create(&name_request());
    let jar = desk.fetch(&created);
    let answer = desk.answer(&jar);
    let issuer = crate::tenant::sample_trust().keys[0].to_string();
    desk.gateway.installation.file("issuer.jwk", issuer);
    let presentation = answer.payload["vp_token"].as_str().unwrap();
    let more = ["--format", "vc+sd-jwt", "--issuer-key", "issuer.jwk"];
    let output = verify(&desk, &jar.claims, presentation, &more);
    assert_eq!((output.code, &output.json()["verified"]), (0, &json!(true)), "{output:?}");
}

#[test]
fn a_captured_encrypted_answer_with_an_mdoc_is_verified_with_key_or_apu() {
    let mut desk = Desk::jar();
    let request = json!({ "credentials": [{ "format": "mso_mdoc",
        "issuer_id": samples::MDL_ISSUER, "claims": ["family_name"] }] });
    for (transcript, name) in
        [(Transcript::OpenId4Vp, "openid4vp-1.0"), (Transcript::Iso180137, "iso18013-7")]
    {
        let created = desk.tenant.create(&request);
        let jar = desk.fetch(&created);
        let answer = desk.wallet.answer_jar(&jar, transcript, false, now_ms()).unwrap();
        let jwk = &jar.claims["client_metadata"]["jwks"]["keys"][0];
        desk.gateway.installation.file("enc.jwk", jwk.to_string());
        let presentation = answer.payload["vp_token"].as_str().unwrap();
        let apu = answer.encryption.header["apu"].as_str().unwrap();
        let trusted = ["--format", "mso_mdoc", "--root", "iaca.der", "--test"];
        let captured = ["--enc-key", "enc.jwk", "--apu", apu];
        let output = verify(&desk, &jar.claims, presentation, &[&trusted[..], &captured].concat());
        assert_eq!(output.code, 0, "{output:?}");
        assert_eq!(output.json()["session_transcript"], name);
        // Without them it is read as an answer in request mode inline.
        assert_eq!(verify(&desk, &jar.claims, presentation, &trusted).code, 3);
    }
}
