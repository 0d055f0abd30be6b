//! Two queries for two credentials are not answered by one, whatever key proof the wallet gives:
//! otherwise two parents could be one person.

use idgate_core::verify::WalletReply;
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use super::harness::{CREATED, Gateway, NOW, RENAMED, Way, asking, wallet};

const WAYS: [Way; 2] = [Way::Inline { encrypted: false }, Way::Haip];

/// Two queries for this credential, the second one for these claims.
fn two(id: &str, claims: &[&str]) -> Value {
    let mut asked = asking(&[id, id]);
    asked["credentials"][1]["id"] = json!("second");
    asked["credentials"][1]["claims"] = json!(claims);
    asked
}

/// The outcome of an answer whose second presentation comes from `second`.
fn outcome(way: Way, asked: &Value, second: &Wallet) -> Option<&'static str> {
    let mut gateway = Gateway::of(way);
    let mut session = gateway.create_newer(asked);
    let request = gateway.read(way, &session);
    let mut answer = wallet().answer_1_0(&request, NOW.0).unwrap();
    let others = second.answer_1_0(&request, NOW.0).unwrap();
    answer.parameters["vp_token"]["second"] = others.parameters["vp_token"]["second"].clone();
    let reply = gateway.post(&mut session, &answer.body()).unwrap();
    let reason = session.reason_at(NOW).map(|reason| reason.as_str());
    assert_eq!(reply == WalletReply::Refused, reason.is_some(), "{reply:?}");
    reason
}

/// The same credentials by the same issuers for the same person, issued a second later.
fn issued_again() -> Wallet {
    let at = CREATED.0 + 1000;
    let (sample, mdl) = (samples::issue_sample(at), samples::issue_mdl(at));
    Wallet::new(sample.holder_key).with(sample.credential).with_mdoc(mdl.document)
}

#[test]
fn one_credential_cannot_answer_two_queries_for_the_same_claims() {
    for way in WAYS {
        for (id, claims) in [("pid", ["given_name"]), ("mdl", ["family_name"])] {
            let asked = two(id, &claims);
            assert_eq!(
                outcome(way, &asked, &wallet()),
                Some("submission_mismatch"),
                "{way:?} {id}"
            );
            assert_eq!(outcome(way, &asked, &issued_again()), None, "{way:?} {id}");
        }
    }
}

#[test]
fn one_credential_answers_queries_for_different_claims_unless_the_tenant_says_otherwise() {
    for way in WAYS {
        for (id, claims) in [("pid", ["family_name"]), ("mdl", ["given_name"])] {
            let mut asked = two(id, &claims);
            assert_eq!(outcome(way, &asked, &wallet()), None, "{way:?} {id}");
            asked["distinct_credentials"] = json!(true);
            assert_eq!(
                outcome(way, &asked, &wallet()),
                Some("submission_mismatch"),
                "{way:?} {id}"
            );
            assert_eq!(outcome(way, &asked, &issued_again()), None, "{way:?} {id}");
        }
    }
}

/// The operator trusts one issuer under two names, which does not make one credential two.
#[test]
fn one_credential_cannot_answer_two_queries_for_two_names_of_its_issuer() {
    for way in WAYS {
        let mut asked = two("pid", &["given_name"]);
        asked["credentials"][1]["issuer_id"] = json!(RENAMED);
        assert_eq!(outcome(way, &asked, &wallet()), Some("submission_mismatch"), "{way:?}");
        assert_eq!(outcome(way, &asked, &issued_again()), None, "{way:?}");
    }
}

#[test]
fn the_same_claims_under_other_names_are_the_same_claims() {
    let way = Way::Inline { encrypted: false };
    let mut asked = two("pid", &["first_name"]);
    asked["credentials"][1]["claim_paths"] = json!({ "first_name": ["given_name"] });
    assert_eq!(outcome(way, &asked, &wallet()), Some("submission_mismatch"));
    assert_eq!(outcome(way, &asked, &issued_again()), None);
}
