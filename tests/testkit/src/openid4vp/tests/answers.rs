//! The answers of the wallet. Every forgery changes the answer.

use serde_json::{Value, json};

use super::verifier::{Made, sd_jwt_vc};
use crate::codec::from_base64url;
use crate::jwe::Enc;
use crate::jws;
use crate::mdoc::openid4vp;
use crate::openid4vp::{Answer, Forgery, Format, Prefix, Request};
use crate::samples;
use crate::time::SAMPLE_NOW_MS;
use crate::wallet::{Wallet, WalletError};

fn wallet() -> Wallet {
    let sample = samples::issue_sample(SAMPLE_NOW_MS);
    let licence = samples::issue_mdl(SAMPLE_NOW_MS);
    Wallet::new(sample.holder_key).with(sample.credential).with_mdoc(licence.document)
}

fn answered(request: &Request, forgery: Forgery) -> Answer {
    wallet().forge_1_0(request, forgery, SAMPLE_NOW_MS).unwrap()
}

fn token(answer: &Answer, id: &str) -> String {
    answer.parameters["vp_token"][id][0].as_str().unwrap().into()
}

#[test]
fn each_query_has_one_presentation_and_the_client_is_the_one_that_was_sent() {
    let (request, _) = Made::new(Prefix::X509Hash, true).read();
    let answer = answered(&request, Forgery::None);
    let pid = token(&answer, "pid");
    let parts: Vec<&str> = pid.split('~').collect();
    // given_name, address and its locality, the JWT and the proof.
    assert_eq!(parts.len(), 5);
    let proof = jws::payload(parts[4]).unwrap();
    assert_eq!(proof["aud"], *request.client_id);
    assert_eq!(proof["nonce"], *request.nonce);
    let licence = from_base64url(&token(&answer, "licence")).unwrap();
    let has = |text: &str| licence.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("family_name") && !has("document_number"));
    let [_, sent] = [&answer.parameters["vp_token"], &answer.parameters["state"]];
    assert_eq!(*sent, request.state.unwrap());
}

#[test]
fn an_encrypted_answer_takes_the_first_enc_and_names_the_key() {
    let (request, _) = Made::new(Prefix::X509SanDns, true).read();
    let jwe = answered(&request, Forgery::None).jwe().unwrap();
    let header = jws::header(&jwe).unwrap();
    assert_eq!([&header["alg"], &header["enc"], &header["kid"]], ["ECDH-ES", "A256GCM", "1"]);
    assert!(header["apu"].is_string() && header["apv"].is_string());
    assert_ne!(header["apv"], *request.nonce);
    assert_eq!(request.encryption.unwrap().1, Enc::A256Gcm);
    let (plain, _) = Made::new(Prefix::X509SanDns, false).read();
    let body = String::from_utf8(answered(&plain, Forgery::None).body().bytes).unwrap();
    assert!(body.contains("vp_token=%7B%22licence%22%3A%5B%22"), "{body}");
}

#[test]
fn the_transcripts_are_those_of_the_specification() {
    let nonce = "exc7gBkxjx1rdc9udRrveKvSsJIq80avlXeLHhGwqtA";
    for (client_id, encrypted, hash) in [
        (
            "x509_san_dns:example.com",
            true,
            "048bc053c00442af9b8eed494cefdd9d95240d254b046b11b68013722aad38ac",
        ),
        (
            "x509_hash:Uvo3HtuIxuhC92rShpgqcT3YXwrqRxWEviRiA0OZszk",
            true,
            "25ad59c2d51b4aad1860654b34eda164283079341acbbba1e008f997efe2dbaf",
        ),
        (
            "decentralized_identifier:did:web:example.com",
            true,
            "58f2dac990e57776077ea666ee1ed57d20cf313b141cc2a25a1e458c98062033",
        ),
        (
            "redirect_uri:https://example.com/response",
            false,
            "6b44bacc570b4c6ae1b4a727be2d785115695a36ff0f803360b8656c4a681f1a",
        ),
    ] {
        let (mut request, _) = Made::new(Prefix::X509Hash, encrypted).read();
        request.client_id = client_id.into();
        request.response_uri = "https://example.com/response".into();
        assert_eq!(request.nonce, nonce);
        let start = "83f6f682714f70656e494434565048616e646f7665725820";
        let hex: String = request.transcript().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, format!("{start}{hash}"), "{client_id}");
    }
    let (request, _) = Made::new(Prefix::X509Hash, false).read();
    let (client_id, uri) = (&request.client_id, &request.response_uri);
    assert_eq!(request.transcript(), openid4vp(client_id, nonce, None, uri));
}

#[test]
fn the_first_option_of_a_set_that_the_wallet_holds_is_answered() {
    let mut made = Made::new(Prefix::X509Hash, true);
    let mut other = sd_jwt_vc();
    other["id"] = "other".into();
    other["meta"]["vct_values"] = json!(["urn:other"]);
    let query = &mut made.claims["dcql_query"];
    query["credentials"].as_array_mut().unwrap().push(other);
    query["credential_sets"] = json!([{ "options": [["other"], ["licence"], ["pid"]] },
        { "options": [["other"]], "required": false }]);
    made.expected.formats = vec![Format::SdJwtVc, Format::Mdoc, Format::SdJwtVc];
    let (request, findings) = made.read();
    assert!(findings.is_empty(), "{findings}");
    let answer = answered(&request, Forgery::None);
    let ids: Vec<&String> = answer.parameters["vp_token"].as_object().unwrap().keys().collect();
    assert_eq!(ids, ["licence"]);
}

#[test]
fn a_wallet_answers_only_with_what_it_holds() {
    let mut made = Made::new(Prefix::X509Hash, true);
    let pid = &mut made.claims["dcql_query"]["credentials"][0];
    for (path, held) in [
        (json!(["given_name"]), true),
        (json!(["address", "locality"]), true),
        (json!(["address", "planet"]), false),
        (json!(["nationalities", null]), true),
        (json!(["nationalities", 1]), true),
        (json!(["age_equal_or_over", "18"]), true),
        (json!(["shoe_size"]), false),
    ] {
        pid["claims"] = json!([{ "path": path }]);
        let mut made = Made::new(Prefix::X509Hash, true);
        made.claims["dcql_query"]["credentials"][0] = pid.clone();
        let (request, _) = made.read();
        let answer = wallet().answer_1_0(&request, SAMPLE_NOW_MS);
        assert_eq!(answer.is_ok(), held, "{pid}");
        let refused =
            answer.err().is_none_or(|error| error == WalletError::NoCredential("pid".into()));
        assert!(refused);
    }
}

#[test]
fn for_an_age_that_a_licence_does_not_state_the_nearest_are_disclosed() {
    for (element, shown) in [
        ("age_over_18", Some(["age_over_21", "age_over_21"])),
        ("age_over_70", Some(["age_over_65", "age_over_65"])),
        ("shoe_size", None),
    ] {
        let mut made = Made::new(Prefix::X509Hash, true);
        let name_space = crate::mdoc::MDL_NAME_SPACE;
        let licence = &mut made.claims["dcql_query"]["credentials"][1];
        licence["claims"] = json!([{ "path": [name_space, element] }]);
        let answer = wallet().answer_1_0(&made.read().0, SAMPLE_NOW_MS);
        assert_eq!(answer.is_ok(), shown.is_some(), "{element}");
        let Some(shown) = shown else { continue };
        let licence = from_base64url(&token(&answer.unwrap(), "licence")).unwrap();
        let has = |text: &str| licence.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(shown.into_iter().all(has) && !has("family_name"), "{element}");
    }
}

#[test]
fn every_forgery_changes_the_answer() {
    for (formats, forgeries) in [(0, Forgery::SD_JWT_VC), (1, Forgery::MDOC)] {
        for encrypted in [true, false] {
            let mut made = Made::new(Prefix::X509Hash, encrypted);
            let credential = made.claims["dcql_query"]["credentials"][formats].clone();
            made.claims["dcql_query"]["credentials"] = json!([credential]);
            let (request, _) = made.read();
            let good = answered(&request, Forgery::None);
            for forgery in [forgeries, Forgery::EVERY].concat() {
                let forged = answered(&request, forgery);
                let of_envelope = matches!(forgery, Forgery::OtherKey | Forgery::Unencrypted);
                let changed = forged.body() != good.body();
                assert_eq!(changed, encrypted || !of_envelope, "{forgery:?}");
            }
        }
    }
}

#[test]
fn an_error_is_plain_or_encrypted() {
    let (request, _) = Made::new(Prefix::X509Hash, true).read();
    let plain = Answer::error(&request, "access_denied", false);
    assert_eq!(plain.jwe(), None);
    assert_eq!(plain.parameters["error"], Value::from("access_denied"));
    assert!(Answer::error(&request, "access_denied", true).jwe().is_some());
}
