//! The holder agrees to the transaction, to another one, or to none (OpenID4VP 8.4, B.3.3).

use idgate_testkit::codec::{HashAlg, base64url};
use idgate_testkit::openid4vp::{Answer, Format, Request};
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use serde_json::{Map, Value, json};

use super::harness::{Gateway, NOW, identity_card, wallet};
use super::{mdl, pid};

fn payment(more: Value) -> Value {
    let base = json!({"type": "com.example.payment", "credential_ids": ["p d"], "amount": "10.00"});
    super::merged(base, more)
}

/// A query for one SD-JWT VC, whose id no other query can have.
fn asking(transaction_data: Value) -> Value {
    let named = pid(json!(["given_name"]), json!({"id": "p d"}));
    json!({"credentials": [named], "transaction_data": transaction_data})
}

/// Erika's answer with these members in her key binding JWT.
fn answer(request: &Request, members: Value) -> Answer {
    answer_each(request, &[members])
}

/// The same with a presentation and a separate key binding JWT for each query.
fn answer_each(request: &Request, proofs: &[Value]) -> Answer {
    let ids = request.query.credentials.iter().map(|asked| asked.id.clone());
    let presented = ids.zip(proofs).map(|(id, members)| (id, json!([presented(request, members)])));
    Answer::new(request, Map::from_iter(presented))
}

fn presented(request: &Request, members: &Value) -> String {
    let card = identity_card().sample;
    let presentation = Presentation::choosing(&card.credential, |_| true);
    let mut proof = KbJwt::new(&card.holder_key, &presentation, &request.parties(), NOW.0);
    for (name, value) in members.as_object().unwrap() {
        proof.set(name, value.clone());
    }
    present(&presentation, Some(&proof.sign()))
}

/// The transaction data of the request, each with its hash.
fn hashes(request: &Request, alg: HashAlg) -> Vec<String> {
    let texts = request.parameters["transaction_data"].as_array().unwrap().iter();
    texts.map(|text| base64url(&alg.hash(text.as_str().unwrap().as_bytes()))).collect()
}

#[test]
fn the_result_shows_the_transaction_data_that_was_agreed_to() {
    let mut gateway = Gateway::new();
    let asked = json!([payment(json!({})), payment(json!({"amount": "7.50"}))]);
    let (mut session, request) = gateway.open(&asking(asked.clone()), &[Format::SdJwtVc]);
    let hashes = hashes(&request, HashAlg::Sha256);
    let answer = answer(&request, json!({"transaction_data_hashes": hashes}));
    let (_, details) = gateway.verified(&mut session, &answer);
    assert_eq!(details["credentials"][0]["transaction_data"], asked);
}

#[test]
fn the_result_shows_no_transaction_data_that_was_not_requested() {
    let mut gateway = Gateway::new();
    let body = json!({"credentials": [pid(json!(["given_name"]), json!({}))]});
    let (mut session, request) = gateway.open(&body, &[Format::SdJwtVc]);
    let (_, details) = gateway
        .verified(&mut session, &answer(&request, json!({"transaction_data_hashes": ["x"]})));
    assert!(details["credentials"][0].get("transaction_data").is_none());
}

#[test]
fn an_offered_hash_algorithm_is_named_in_the_proof() {
    let asked = json!([payment(json!({"transaction_data_hashes_alg": ["sha-384", "sha-512"]}))]);
    for (alg, good) in [(json!("sha-512"), true), (json!("sha-256"), false), (json!(null), false)] {
        let mut gateway = Gateway::new();
        let (mut session, request) = gateway.open(&asking(asked.clone()), &[Format::SdJwtVc]);
        let hashes = hashes(&request, HashAlg::Sha512);
        let members =
            json!({"transaction_data_hashes": hashes, "transaction_data_hashes_alg": alg});
        let answer = answer(&request, members);
        if good {
            gateway.verified(&mut session, &answer);
        } else {
            assert_eq!(
                gateway.refused(&mut session, &answer),
                "transaction_data_mismatch",
                "{alg}"
            );
        }
    }
}

#[test]
fn a_missing_wrong_or_extra_transaction_hash_is_rejected() {
    let other = base64url(&HashAlg::Sha256.hash(b"another"));
    for change in 0..4 {
        let mut gateway = Gateway::new();
        let asked = asking(json!([payment(json!({}))]));
        let (mut session, request) = gateway.open(&asked, &[Format::SdJwtVc]);
        let good = hashes(&request, HashAlg::Sha256);
        let members = match change {
            0 => json!({}),
            1 => json!({"transaction_data_hashes": [other]}),
            2 => json!({"transaction_data_hashes": [good[0], other]}),
            _ => json!({"transaction_data_hashes": [good[0], good[0]]}),
        };
        let refused = gateway.refused(&mut session, &answer(&request, members));
        assert_eq!(refused, "transaction_data_mismatch", "{change}");
    }
}

#[test]
fn a_credential_not_named_in_transaction_data_cannot_agree() {
    let two = |named: Value| {
        // One credential answers both queries, which is allowed if the claims differ.
        let each = [("a", "given_name"), ("b", "family_name")]
            .map(|(id, claim)| pid(json!([claim]), json!({"id": id})));
        json!({"credentials": each, "transaction_data": [payment(json!({"credential_ids": named}))]})
    };
    let formats = [Format::SdJwtVc, Format::SdJwtVc];
    for (named, in_a, in_b, good) in [
        (json!(["a"]), false, true, false),
        // Unrequested hashes are ignored.
        (json!(["a"]), true, true, true),
        (json!(["a"]), true, false, true),
        // Exactly one of them signs.
        (json!(["a", "b"]), false, true, true),
        (json!(["a", "b"]), true, true, false),
    ] {
        let mut gateway = Gateway::new();
        let (mut session, request) = gateway.open(&two(named.clone()), &formats);
        let proof = |signs: bool| match signs {
            true => json!({"transaction_data_hashes": hashes(&request, HashAlg::Sha256)}),
            false => json!({}),
        };
        let answer = answer_each(&request, &[proof(in_a), proof(in_b)]);
        let case = format!("{named} {in_a} {in_b}");
        if !good {
            let reason = gateway.refused(&mut session, &answer);
            assert_eq!(reason, "transaction_data_mismatch", "{case}");
            continue;
        }
        let (_, details) = gateway.verified(&mut session, &answer);
        for (credential, id) in details["credentials"].as_array().unwrap().iter().zip(["a", "b"]) {
            assert_eq!(credential["id"], id);
            let signs = if id == "a" { in_a } else { !in_a };
            assert_eq!(credential.get("transaction_data").is_some(), signs, "{case}: {id}");
        }
    }
}

#[test]
fn a_wallet_without_transaction_data_support_is_rejected() {
    let mut gateway = Gateway::new();
    let asked = asking(json!([payment(json!({}))]));
    let (mut session, request) = gateway.open(&asked, &[Format::SdJwtVc]);
    let answer = gateway.answer(&wallet(), &request);
    assert_eq!(gateway.refused(&mut session, &answer), "transaction_data_mismatch");
}

#[test]
fn an_mdoc_alone_cannot_sign_and_is_not_named_to_the_wallet() {
    let gateway = Gateway::new();
    let body = |ids: Value| {
        let data = json!([{"type": "t", "credential_ids": ids}]);
        let credentials =
            [pid(json!(["given_name"]), json!({})), mdl(json!(["family_name"]), json!({}))];
        json!({"credentials": credentials, "transaction_data": data})
    };
    let error = gateway.parse(&body(json!(["mdl"]))).unwrap_err();
    assert_eq!(error.path, "transaction_data[0].credential_ids");
    let both = gateway.parse(&body(json!(["mdl", "pid"]))).unwrap();
    let sent = idgate_core::shell::base64url::decode(&both.transaction_data()[0].encoded).unwrap();
    let sent: Value = serde_json::from_slice(&sent).unwrap();
    assert_eq!(sent["credential_ids"], json!(["pid"]));
}
