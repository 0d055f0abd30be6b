//! Transaction data for SD-JWT VCs (OpenID4VP 8.4, B.3.3): right hashes, and wrong ones.

// The table runs in tests only.
#![allow(clippy::expect_used)]

use idgate_core::IssuerId;
use idgate_core::shell::{TrustEntry, TrustedKey};
use idgate_testkit::codec::{HashAlg, base64url};
use idgate_testkit::openid4vp::{Answer, Request};
use idgate_testkit::samples::{self, ISSUER, VCT};
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use serde_json::{Map, Value, json};

use super::ways::{Asked, BY_VALUE, HAIP};
use crate::tamper::scenario::NOW_MS;

/// The change, the expected outcome, and the members that the holder signs for the hashes of the
/// request.
type Row = (&'static str, &'static str, fn(&[String; 2]) -> Value);

const ROWS: &[Row] = &[
    ("good hashes", "VERIFIED", |good| json!({ HASHES: good })),
    (
        "good hashes, and the name of the algorithm",
        "VERIFIED",
        |good| json!({ HASHES: good, "transaction_data_hashes_alg": "sha-256" }),
    ),
    ("no hashes", MISMATCH, |_| json!({})),
    ("hashes null", MISMATCH, |_| json!({ HASHES: null })),
    ("hashes as text", MISMATCH, |[first, _]| json!({ HASHES: first })),
    ("no hash of the second", MISMATCH, |[first, _]| json!({ HASHES: [first] })),
    ("another hash", MISMATCH, |[first, _]| json!({ HASHES: [first, &other()] })),
    ("one hash twice", MISMATCH, |[first, _]| json!({ HASHES: [first, first] })),
    ("a further hash", MISMATCH, |[first, second]| json!({ HASHES: [first, second, &other()] })),
    (
        "another algorithm",
        MISMATCH,
        |good| json!({ HASHES: good, "transaction_data_hashes_alg": "sha-512" }),
    ),
];

const HASHES: &str = "transaction_data_hashes";
const MISMATCH: &str = "transaction_data_mismatch";

/// Every row by value and under HAIP.
pub(super) fn all() -> Vec<Value> {
    let ways = [BY_VALUE, HAIP].into_iter();
    ways.flat_map(|way| {
        ROWS.iter().map(move |(title, _, members)| {
            let (entry, trust) = issuer();
            let asked = Asked::new(&[entry], way, asking());
            let answer = answer(&asked.request(), *members);
            asked.record(&format!("{}, {title}", way.name), &trust, &answer.body())
        })
    })
    .collect()
}

fn asking() -> Value {
    let payment = |amount: &str| json!({ "type": "com.example.payment", "credential_ids": ["pid"], "amount": amount });
    json!({
        "credentials": [{
            "id": "pid", "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"],
        }],
        "transaction_data": [payment("10.00"), payment("7.50")],
        "redirect_uri": "https://shop.example/back",
    })
}

/// As core and as JSON.
fn issuer() -> (TrustEntry, Value) {
    let jwk = samples::issue_sample(NOW_MS).issuer_key.public_jwk();
    let mut entry = TrustEntry::new(IssuerId::new(ISSUER));
    entry.vct = vec![VCT.into()];
    let key = idgate_core::shell::Jwk::parse(jwk.to_string().as_bytes()).expect("a JWK").key;
    entry.keys.push(TrustedKey::new(key));
    (entry, json!([{ "issuer_id": ISSUER, "vct": [VCT], "jwks": [jwk] }]))
}

/// Erika's answer with these members in her key binding JWT.
fn answer(request: &Request, members: fn(&[String; 2]) -> Value) -> Answer {
    let sample = samples::issue_sample(NOW_MS);
    let presentation = Presentation::choosing(&sample.credential, |_| true);
    let mut proof = KbJwt::new(&sample.holder_key, &presentation, &request.parties(), NOW_MS);
    if let Value::Object(members) = members(&hashes(request)) {
        members.into_iter().for_each(|(name, value)| proof.set(&name, value));
    }
    let text = present(&presentation, Some(&proof.sign()));
    Answer::new(request, Map::from_iter([(String::from("pid"), json!([text]))]))
}

/// The hashes of the transaction data in the request.
fn hashes(request: &Request) -> [String; 2] {
    let texts = request.parameters.get("transaction_data").and_then(Value::as_array);
    let texts = texts.into_iter().flatten().filter_map(Value::as_str);
    let hashes = texts.map(|text| base64url(&HashAlg::Sha256.hash(text.as_bytes())));
    hashes.collect::<Vec<_>>().try_into().expect("two texts")
}

fn other() -> String {
    base64url(&HashAlg::Sha256.hash(b"another"))
}

#[cfg(test)]
mod tests {
    use super::super::cases_of;
    use super::*;

    #[test]
    fn every_row_gives_its_code() {
        let expected = ROWS.iter().cycle().map(|(_, outcome, _)| *outcome);
        let cases = cases_of("openid4vp");
        for (case, outcome) in cases[cases.len() - 2 * ROWS.len()..].iter().zip(expected) {
            let told = &case["expected"];
            let told = told["reason"].as_str().or(told["status"].as_str());
            assert_eq!(told, Some(outcome), "{}", case["title"]);
        }
    }
}
