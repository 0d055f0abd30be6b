//! One test for each reason to refuse a list.

use idgate_testkit::jws::{sign_jws, with_signature, x5c};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::status::Crl;
use idgate_testkit::time::compact_utc;
use idgate_testkit::trusted_list::list_signer_below;
use idgate_testkit::x509::{
    BASIC_CONSTRAINTS, CertificateBuilder, KEY_USAGE, Name, basic_constraints, key_identifier,
    key_usage,
};
use serde_json::json;

use super::*;
use crate::trust::crl::VerifiedCrl;

const DAY_MS: u64 = 86_400_000;

#[track_caller]
fn refused(list: &Made, why: &str) -> TrustedListErrorKind {
    told(import_made(list), why)
}

#[track_caller]
fn told(result: Result<TrustedList, TrustedListError>, why: &str) -> TrustedListErrorKind {
    let error = result.map(|list| list.sequence).unwrap_err();
    assert_eq!(error.to_string(), format!("the trusted list {why}"));
    error.kind
}

fn at(ms: u64) -> serde_json::Value {
    json!(UnixMillis(ms).to_string())
}

fn pid() -> Made {
    made(Kind::Pid)
}

#[test]
fn a_file_that_is_not_a_compact_jws_is_refused() {
    let good = pid().sign(&list_signer(NOW.0));
    let json = r#"{"LoTE":{},"signature":{}}"#;
    for file in ["", "a.b", "a.b.c.d", json, &format!("{good}\n\n"), &format!(" {good}"), "é.é.é"]
    {
        assert_eq!(told(import(file), "is not a compact JWS"), TrustedListErrorKind::Unusable);
    }
    assert!(import(&format!("{good}\r\n")).is_ok());
}

#[test]
fn xml_is_refused_by_its_first_byte() {
    let bomb =
        r#"<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]><a>&c;</a>"#;
    told(import(bomb), "is XML, and only lists in JSON are read here");
}

#[test]
fn a_file_over_8_mib_is_refused() {
    told(import(&"a".repeat(8 * 1024 * 1024 + 1)), "is larger than 8 MiB");
}

#[test]
fn json_with_repeated_members_is_refused() {
    let signer = list_signer(NOW.0);
    let header = json!({ "alg": "ES256", "iat": NOW.as_secs(), "x5c": x5c(&[&signer.der]) });
    let payload = pid().payload.to_string();
    for (from, to) in [
        (r#"{"LoTE":"#, r#"{"LoTE":{},"LoTE":"#),
        (r#""LoTESequenceNumber":7"#, r#""LoTESequenceNumber":7,"LoTESequenceNumber":8"#),
    ] {
        let repeated = payload.replacen(from, to, 1);
        assert_ne!(repeated, payload);
        let token = sign_jws(&signer.key, &header.to_string(), &repeated);
        told(import(&token), "has a payload that names a JSON member twice");
    }
    let repeated = header.to_string().replacen('{', r#"{"alg":"ES256","#, 1);
    let token = sign_jws(&signer.key, &repeated, &payload);
    told(import(&token), "has a header that names a JSON member twice");
}

#[test]
fn many_values_and_deep_nesting_are_refused() {
    let signer = list_signer(NOW.0);
    let header = json!({ "alg": "ES256", "iat": NOW.as_secs(), "x5c": x5c(&[&signer.der]) });
    let import = |payload: &str| import(&sign_jws(&signer.key, &header.to_string(), payload));
    let objects = format!(r#"{{"LoTE":[{}{{}}]}}"#, "{},".repeat(1_000_000));
    let many = "has a payload that has too many JSON values, or too many names with escapes";
    told(import(&objects), many);
    let deep = format!(r#"{{"LoTE":{}{}}}"#, "[".repeat(40), "]".repeat(40));
    told(import(&deep), "has a payload that nests JSON deeper than 32");
}

#[test]
fn an_alg_that_is_not_of_the_signers_key_is_refused() {
    for alg in ["none", "HS256", "ES384", "ES512", "RS256", "PS256", "", "es256"] {
        let list = pid().headed(json!({ "alg": alg }));
        let kind = refused(&list, "has an alg that does not fit its signer's key");
        assert!(kind.is_integrity());
    }
}

#[test]
fn a_list_without_the_certificate_of_its_signer_is_refused() {
    let why = "lacks the certificate of its signer";
    let mut list = pid().headed(json!({ "x5c": [] }));
    refused(&list, why);
    list = pid().headed(json!({ "x5c": ["-_8="] }));
    refused(&list, why);
    let signer = list_signer(NOW.0);
    let header = json!({ "alg": "ES256", "iat": NOW.as_secs(), "kid": "k", "x5u": "https://a", "jku":
        "https://a", "jwk": signer.key.public_jwk() });
    let token = sign_jws(&signer.key, &header.to_string(), &pid().payload.to_string());
    told(import(&token), why);
    let others = vec![&signer.der[..]; 10];
    told(import(&pid().sign_with(&signer, &others)), "has more than 10 certificates of its signer");
}

#[test]
fn an_x5t_of_another_certificate_is_refused() {
    let other = base64url::encode(&[7; 32]);
    let list = pid().headed(json!({ "x5t#S256": other }));
    refused(&list, "has an x5t#S256 that is not of its signer's certificate");
    refused(&pid().headed(json!({ "x5t#S256": 1 })), "has an x5t#S256 that is not a hash");
    let own = base64url::encode(&PROVIDER.sha256(&list_signer(NOW.0).der));
    assert!(import_made(&pid().headed(json!({ "x5t#S256": own }))).is_ok());
}

#[test]
fn crit_may_name_only_members_that_are_present_and_understood() {
    let malformed = "has a crit that is not a list of its header's extensions";
    for crit in
        [json!([]), json!({}), json!("iat"), json!([1]), json!(["iat", "iat"]), json!(["sigT"])]
    {
        refused(&pid().headed(json!({ "crit": crit })), malformed);
    }
    let b64 = pid().headed(json!({ "crit": ["b64"], "b64": false }));
    refused(&b64, "demands the extension b64 (crit)");
    refused(&pid().headed(json!({ "b64": true })), "demands the extension b64 (crit)");
    let exp = pid().headed(json!({ "crit": ["iat", "exp"], "exp": 1 }));
    refused(&exp, "demands the extension exp (crit)");
    assert!(import_made(&pid().headed(json!({ "crit": ["iat"] }))).is_ok());
}

#[test]
fn a_list_without_time_of_signing_is_refused_except_for_tests() {
    let list = pid().headed(json!({ "iat": null }));
    refused(&list, "does not say when it was signed (iat)");
    refused(&pid().headed(json!({ "iat": "now" })), "has an iat that is not a time");
    refused(&pid().headed(json!({ "sigT": 1 })), "has a sigT that is not a time");
    let file = list.sign(&list_signer(NOW.0));
    let rules = ListRules::for_tests();
    assert!(import_trusted_list(&PROVIDER, file.as_bytes(), &rules, NOW).is_ok());
}

#[test]
fn a_list_signed_in_the_future_is_refused() {
    let ahead = |seconds: u64| pid().headed(json!({ "iat": NOW.as_secs() + seconds }));
    assert!(import_made(&ahead(300)).is_ok());
    let kind = refused(&ahead(301), "is dated in the future");
    assert_eq!(kind, TrustedListErrorKind::OutOfDate);
}

#[test]
fn a_signer_that_does_not_lead_to_an_anchor_is_refused() {
    let other = SigningKey::from_seed(Curve::P256, "somebody");
    let stranger = list_signer(NOW.0).builder.with(|one| one.spki = other.public_spki());
    let stranger = stranger.self_sign(&other);
    let why = "has a signer that does not lead to the CA or signer that was given";
    let kind = told(import(&pid().sign(&stranger)), why);
    assert_eq!((kind, kind.is_integrity()), (TrustedListErrorKind::UnknownSigner, true));
    let other_ca = CertificateBuilder::issuer_root(Name::new("LU", "Commercial CA"), &other, NOW.0);
    let other_ca = other_ca.self_sign(&other);
    let below = list_signer_below(&other_ca, "Example Operator", NOW.0);
    let anchors = anchors(&[&ca()]);
    let file = pid().sign_with(&below, &[&other_ca.der]);
    told(import_trusted_list(&PROVIDER, file.as_bytes(), &ca_rules(&anchors), NOW), why);
}

#[test]
fn a_list_signed_by_one_of_its_providers_is_refused() {
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let own = list_signer_below(&root, "Example Operator", NOW.0);
    let services = [Kind::Pid.issuance(&[&root.der, &own.der])];
    let list = pid().with(idgate_testkit::trusted_list::provider("P", "NTRLU-1", "LU", &services));
    let why = "has a signer that does not lead to the CA or signer that was given";
    told(import(&list.sign_with(&own, &[&root.der])), why);
    told(import(&list.sign(&root)), "has a signer that is a CA, and CAs sign no lists");
}

#[test]
fn a_trusted_certificate_with_another_keys_signature_is_refused() {
    let other = SigningKey::from_seed(Curve::P256, "somebody");
    let forged = Identity { key: other, ..list_signer(NOW.0) };
    let why = "has a signature that does not verify";
    assert!(told(import(&pid().sign(&forged)), why).is_integrity());
    let good = pid().sign(&list_signer(NOW.0));
    for change in [
        |_| Vec::new(),
        |mut bytes: Vec<u8>| {
            bytes.push(0);
            bytes
        },
    ] {
        let Some(token) = with_signature(&good, change) else { continue };
        assert!(import(&token).is_err());
    }
}

#[test]
fn a_list_signed_by_a_ca_is_refused() {
    let anchors = anchors(&[&ca()]);
    let file = pid().sign(&ca());
    let result = import_trusted_list(&PROVIDER, file.as_bytes(), &ca_rules(&anchors), NOW);
    told(result, "has a signer that is a CA, and CAs sign no lists");
    let key = ca().key;
    let sub = ca().builder.set(BASIC_CONSTRAINTS, true, basic_constraints(true, None)).under(&ca());
    let file = pid().sign(&sub.issue(&ca(), &key));
    let result = import_trusted_list(&PROVIDER, file.as_bytes(), &ca_rules(&anchors), NOW);
    told(result, "has a signer that is a CA, and CAs sign no lists");
}

#[test]
fn a_signer_whose_key_is_not_for_signing_is_refused() {
    let signer = list_signer(NOW.0);
    let builder = signer.builder.clone().set(KEY_USAGE, true, key_usage(0b0010_0000));
    let signer = builder.self_sign(&signer.key);
    let anchors = anchors(&[&signer]);
    let file = pid().sign(&signer);
    let result = import_trusted_list(&PROVIDER, file.as_bytes(), &ListRules::new(&anchors), NOW);
    told(result, "has a signer whose key is not for signing");
}

/// With a leaked key of an expired certificate, an attacker could sign lists forever if the claimed
/// time of signing counted.
#[test]
fn the_signer_of_a_new_list_must_be_valid_now_whatever_time_it_claims() {
    let later = NOW.plus(60 * 365 * DAY_MS);
    let below = list_signer_below(&ca(), "Example Operator", NOW.0);
    for (signer, anchor) in [(list_signer(NOW.0), list_signer(NOW.0)), (below, ca())] {
        let file = pid().sign(&signer);
        let anchors = anchors(&[&anchor]);
        let import = |mark, now| {
            let rules = ListRules { allow_stale: true, mark, ..ListRules::new(&anchors) };
            import_trusted_list(&PROVIDER, file.as_bytes(), &rules, now)
        };
        let taken = import(None, NOW).unwrap().mark(None, NOW);
        let why = "is signed with a certificate outside its validity period";
        told(import(None, later), why);
        let of_another = ListMark { payload_sha256: [0; 32], sequence: 1, ..taken.clone() };
        told(import(Some(&of_another), later), why);
        // The accepted list is read again: its signer was valid when the list was signed.
        assert!(import(Some(&taken), later).is_ok());
    }
}

#[test]
fn a_list_signed_before_it_was_issued_is_refused() {
    let signed = |ago_ms: u64| pid().headed(json!({ "iat": NOW.minus(ago_ms).as_secs() }));
    let why = "says that it was signed before it was issued";
    let issued_ago = NOW.since(import_made(&pid()).unwrap().issued_at);
    refused(&signed(issued_ago + 5 * 60_000 + 1000), why);
    refused(&pid().headed(json!({ "iat": 1_000_000_000 })), why);
    assert!(import_made(&signed(issued_ago + 5 * 60_000)).is_ok());
}

#[test]
fn two_times_of_one_signature_agree() {
    let with = |ms| pid().headed(json!({ "sigT": at(ms) }));
    let why = "says two times of its signature (iat, sigT)";
    let signed = import_made(&pid()).unwrap().signer.signed_at.unwrap();
    refused(&with(signed.0 + 1000), why);
    refused(&with(signed.0 - 1000), why);
    assert!(import_made(&with(signed.0)).is_ok());
}

#[test]
fn below_a_ca_the_signer_must_be_and_stay_the_operator() {
    let anchors = anchors(&[&ca()]);
    let import = |organization: &str, fixed| {
        let file = pid().sign(&list_signer_below(&ca(), organization, NOW.0));
        let rules = ListRules { organization: fixed, ..ca_rules(&anchors) };
        import_trusted_list(&PROVIDER, file.as_bytes(), &rules, NOW)
    };
    assert!(import("Example Operator", None).is_ok());
    assert!(import("Example Operator", Some("Example Operator")).is_ok());
    let other = "has a signer of another organization than its operator";
    told(import("Another Customer", None), other);
    let why = "is signed for O=Another Customer, and this source is of O=Example Operator";
    assert!(told(import("Another Customer", Some("Example Operator")), why).is_integrity());
    let abroad = pid().scheme("SchemeTerritory", json!("FR"));
    let file = abroad.sign(&list_signer_below(&ca(), "Example Operator", NOW.0));
    let result = import_trusted_list(&PROVIDER, file.as_bytes(), &ca_rules(&anchors), NOW);
    told(result, "has a signer of another country than its SchemeTerritory");
}

#[test]
fn a_signer_revoked_by_its_cas_crl_is_refused() {
    let signer = list_signer_below(&ca(), "Example Operator", NOW.0);
    let (name, key) = (ca().builder.subject.der(), key_identifier(&ca().key));
    let crl = |this: u64, next: u64| Crl::new(&name, &key, &compact_utc(this), &compact_utc(next));
    let (anchors, file) = (anchors(&[&ca()]), pid().sign(&signer));
    let import = |crl: Crl| {
        let crl = VerifiedCrl::from_der(&PROVIDER, &crl.sign(&ca().key), anchors.cas()).unwrap();
        let crls = [crl];
        let rules = ListRules { crls: &crls, ..ca_rules(&anchors) };
        import_trusted_list(&PROVIDER, file.as_bytes(), &rules, NOW)
    };
    let (past, ahead) = (NOW.0 - DAY_MS, NOW.0 + DAY_MS);
    assert!(import(crl(past, ahead)).is_ok());
    let revoked = crl(past, ahead).revoke(&signer.builder.serial);
    assert!(told(import(revoked), "has a signer that is revoked").is_integrity());
    let old = crl(past - DAY_MS, past);
    told(import(old), "has a signer of whose issuer no current CRL is known");
}

#[test]
fn a_signer_below_an_intermediate_revoked_by_the_anchors_crl_is_refused() {
    let key = SigningKey::from_seed(Curve::P256, "intermediate");
    let name = Name::new("LU", "Intermediate CA");
    let between = CertificateBuilder::intermediate(&ca(), name, &key, NOW.0).issue(&ca(), &key);
    let signer = list_signer_below(&between, "Example Operator", NOW.0);
    let anchors = anchors(&[&ca()]);
    let file = pid().sign_with(&signer, &[&between.der]);
    let import = |revoked: &[u8], next: u64| {
        let crl = Crl::new(
            &ca().builder.subject.der(),
            &key_identifier(&ca().key),
            &compact_utc(NOW.0 - 2 * DAY_MS),
            &compact_utc(next),
        );
        let crl = crl.revoke(revoked).sign(&ca().key);
        let crls = [VerifiedCrl::from_der(&PROVIDER, &crl, anchors.cas()).unwrap()];
        let rules = ListRules { crls: &crls, ..ca_rules(&anchors) };
        import_trusted_list(&PROVIDER, file.as_bytes(), &rules, NOW)
    };
    let (own, ahead) = (&between.builder.serial, NOW.0 + DAY_MS);
    assert!(import(&signer.builder.serial, ahead).is_ok(), "the anchor did not issue the signer");
    let kind = told(import(own, ahead), "has a signer below a CA that is revoked");
    assert!(kind.is_integrity());
    let why = "has a signer below a CA of whose issuer no current CRL is known";
    told(import(own, NOW.0 - DAY_MS), why);
}

#[test]
fn a_payload_without_exactly_the_outer_lote_is_refused() {
    let change = |change: fn(&mut serde_json::Value)| {
        let mut list = pid();
        change(&mut list.payload);
        list
    };
    let inner = change(|payload| *payload = payload["LoTE"].take());
    refused(&inner, "lacks the outer LoTE");
    refused(&change(|payload| *payload = json!([])), "lacks the outer LoTE");
    refused(&change(|payload| payload["LoTE"] = json!(1)), "lacks the outer LoTE");
    let beside = change(|payload| payload["signature"] = json!({}));
    refused(&beside, "has members in addition to the outer LoTE");
    let empty = change(|payload| payload["LoTE"] = json!({}));
    refused(&empty, "lacks its ListAndSchemeInformation");
}

#[test]
fn another_version_is_refused() {
    for version in [json!(2), json!("1"), json!(null)] {
        refused(&pid().scheme("LoTEVersionIdentifier", version), "is not of version 1");
    }
}

#[test]
fn lists_of_entities_other_than_issuers_are_refused() {
    for (kind, why) in [
        ("EUWalletProvidersList", "is a list of wallet providers, which issue no credentials"),
        ("EUWRPACProvidersList", "is a list of access CAs, which issue no credentials"),
        (
            "EUWRPRCProvidersList",
            "is a list of providers of registration certificates, which issue no credentials",
        ),
        ("EURegistrarsAndRegistersList", "is a list of registrars, which issue no credentials"),
        ("EUEAAProvidersList", "is of a type that is not known here"),
    ] {
        let uri = format!("http://uri.etsi.org/19602/LoTEType/{kind}");
        refused(&pid().scheme("LoTEType", json!(uri)), why);
    }
    refused(&pid().without("LoTEType"), "is of a type that is not known here");
}

#[test]
fn a_list_of_another_type_than_the_entrys_is_refused() {
    let anchors = anchors(&[&list_signer(NOW.0)]);
    let rules = ListRules { list_type: Some(ListType::Mdl), ..ListRules::new(&anchors) };
    let file = pid().sign(&list_signer(NOW.0));
    let result = import_trusted_list(&PROVIDER, file.as_bytes(), &rules, NOW);
    told(result, "is of the type pid, and mdl is asked for");
}

#[test]
fn an_unknown_critical_scheme_extension_is_refused() {
    let extension = |critical| json!([{ "Critical": critical, "x": 1 }]);
    for critical in [json!(true), json!("true"), json!(1)] {
        let list = pid().scheme("SchemeExtensions", extension(critical));
        refused(&list, "has a critical scheme extension that is not known");
    }
    for critical in [json!(false), json!("false")] {
        assert!(import_made(&pid().scheme("SchemeExtensions", extension(critical))).is_ok());
    }
}

#[test]
fn a_number_that_is_not_whole_and_exact_is_refused() {
    let why = "has a LoTESequenceNumber that is not a whole number from 1 to 2^53 - 1";
    for number in
        [json!("7"), json!(-7), json!(0), json!(7.5), json!(9_007_199_254_740_992_u64), json!(null)]
    {
        refused(&pid().scheme("LoTESequenceNumber", number), why);
    }
    assert!(import_made(&pid().numbered(9_007_199_254_740_991)).is_ok());
}

#[test]
fn a_list_issued_in_the_future_is_refused() {
    let signed = NOW.plus(200_000).as_secs();
    let issued = |ms| pid().scheme("ListIssueDateTime", at(ms)).headed(json!({ "iat": signed }));
    assert!(import_made(&issued(NOW.0 + 300_000)).is_ok());
    refused(&issued(NOW.0 + 301_000), "is dated in the future");
}

#[test]
fn a_list_past_its_next_update_is_refused_unless_allowed() {
    let list = pid().scheme("NextUpdate", at(NOW.0));
    let kind = refused(&list, "was due to be replaced on 2026-11-22T00:00:00.000Z");
    assert_eq!(kind, TrustedListErrorKind::OutOfDate);
    let (anchors, file) = (anchors(&[&list_signer(NOW.0)]), list.sign(&list_signer(NOW.0)));
    let rules = ListRules { allow_stale: true, ..ListRules::new(&anchors) };
    assert!(import_trusted_list(&PROVIDER, file.as_bytes(), &rules, NOW).is_ok());
}

#[test]
fn a_closed_list_is_refused() {
    refused(&pid().scheme("NextUpdate", json!(null)), "is closed (no next update)");
    let why = "has no NextUpdate that is a date and time";
    refused(&pid().without("NextUpdate"), why);
    refused(&pid().scheme("NextUpdate", json!("soon")), why);
}

#[test]
fn a_list_that_promises_its_next_issue_too_late_is_refused() {
    let next = |days: u64| pid().scheme("NextUpdate", at(NOW.0 - DAY_MS + days * DAY_MS));
    assert!(import_made(&next(190)).is_ok());
    refused(&next(274), "promises its next issue after 9 months; 6 are allowed");
    refused(
        &pid().scheme("NextUpdate", json!("2099-01-01T00:00:00Z")),
        "promises its next issue after 865 months; 6 are allowed",
    );
}

#[test]
fn an_older_list_is_refused() {
    let first = import_made(&pid()).unwrap();
    let mark = first.mark(None, NOW);
    let anchors = anchors(&[&list_signer(NOW.0)]);
    let import = |list: &Made, mark: &ListMark| {
        let rules = ListRules { mark: Some(mark), ..ListRules::new(&anchors) };
        let file = list.sign(&list_signer(NOW.0));
        import_trusted_list(&PROVIDER, file.as_bytes(), &rules, NOW)
    };
    assert!(import(&pid(), &mark).is_ok(), "the same again");
    assert!(import(&pid().numbered(8), &mark).is_ok());
    let why = "has number 6, and 7 was seen on 2026-11-22T00:00:00.000Z: an older list";
    assert_eq!(told(import(&pid().numbered(6), &mark), why), TrustedListErrorKind::Rollback);
    let other = pid().scheme("SchemeName", json!([]));
    let kind = told(import(&other, &mark), "has number 7 again with other content");
    assert_eq!(kind, TrustedListErrorKind::Rollback);
    let earlier = pid().numbered(8).scheme("ListIssueDateTime", at(NOW.0 - 2 * DAY_MS));
    let why = "has number 8 and an earlier date than number 7, which was seen on \
               2026-11-22T00:00:00.000Z: an older list";
    told(import(&earlier, &mark), why);
    let again = first.mark(Some(&mark), NOW.plus(5));
    assert_eq!(again.seen_at, NOW, "it was first seen then");
}

#[test]
fn more_services_and_certificates_than_allowed_are_refused() {
    use idgate_testkit::trusted_list::provider;
    let root = Identity::issuer_root(Curve::P256, NOW.0);
    let of = |services: usize, certificates: usize| {
        let certificates = vec![&root.der[..]; certificates];
        let services = vec![Kind::Pid.issuance(&certificates); services];
        pid().with(provider("P", "NTRLU-1", "LU", &services))
    };
    assert!(import_made(&of(20, 1)).is_ok());
    refused(&of(21, 1), "has a provider with more than 20 services");
    assert!(import_made(&of(1, 10)).is_ok());
    refused(&of(1, 11), "has a service with more than 10 certificates");
}
