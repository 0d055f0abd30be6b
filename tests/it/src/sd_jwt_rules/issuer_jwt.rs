//! Rules 3 to 8: the issuer-signed JWT, its key and its type.

use super::*;

#[test]
fn rule_03_typ_is_that_of_an_sd_jwt_vc() {
    let case = Case::new();
    let with = |typ: &str| case.present(&case.credential().header("typ", typ).issue(&case.issuer));
    for good in
        ["dc+sd-jwt", "vc+sd-jwt", "DC+SD-JWT", "application/vc+sd-jwt", "Application/dc+sd-jwt"]
    {
        accepted(with(good));
    }
    for bad in
        ["JWT", "kb+jwt", "example+sd-jwt", "", "dc+sd-jwt ", "application/application/dc+sd-jwt"]
    {
        malformed(with(bad));
    }
    malformed(case.present(&case.unsigned(|unsigned| drop(unsigned.header.remove("typ")))));
    malformed(
        case.present(
            &case.unsigned(|unsigned| drop(unsigned.header.insert("typ".into(), json!(1)))),
        ),
    );
}

#[test]
fn rule_04_the_trusted_key_decides_the_algorithm() {
    let case = Case::new();
    let with = |alg: Value| {
        case.present(&case.unsigned(|unsigned| drop(unsigned.header.insert("alg".into(), alg))))
    };
    for alg in [
        "none", "None", "NONE", "HS256", "RS256", "PS256", "EdDSA", "ES256K", "es256", "ES384",
        "ES512", "",
    ] {
        refused(with(json!(alg)), Reason::AlgorithmNotAllowed);
    }
    malformed(with(json!(256)));
    malformed(with(Value::Null));
}

#[test]
fn rule_04_the_request_can_narrow_the_algorithm() {
    let mut case = Case::on(Curve::P384);
    let credential = case.credential().issue(&case.issuer);
    case.alg = Some(Alg::Es384);
    accepted(case.present(&credential));
    case.alg = Some(Alg::Es256);
    refused(case.present(&credential), Reason::AlgorithmNotAllowed);
}

#[test]
fn rule_04_critical_extensions_are_refused() {
    let case = Case::new();
    for crit in [json!(["b64"]), json!(["exp"]), json!([]), json!("x")] {
        malformed(case.present(&case.credential().header("crit", crit).issue(&case.issuer)));
    }
}

#[test]
fn rule_04_a_key_in_the_header_is_never_used() {
    let case = Case::new();
    let forger = SigningKey::from_seed(Curve::P256, "forger");
    for (member, value) in [
        ("jwk", forger.public_jwk()),
        ("jku", json!("https://forger.example/jwks.json")),
        ("x5u", json!("https://forger.example/x5u")),
    ] {
        let forged = case.credential().header(member, value.clone()).issue(&forger);
        refused(case.present(&forged), Reason::IssuerSignatureInvalid);
        accepted(case.present(&case.credential().header(member, value).issue(&case.issuer)));
    }
}

#[test]
fn rule_05_the_issuer_signature_verifies_with_a_trusted_key() {
    let case = Case::new();
    let good = case.credential().issue(&case.issuer);
    let changed = |change: fn(Vec<u8>) -> Vec<u8>| Issued {
        jwt: jws::with_signature(&good.jwt, change).unwrap(),
        disclosures: good.disclosures.clone(),
    };
    let changes: [fn(Vec<u8>) -> Vec<u8>; 6] = [
        |mut sig| {
            sig[7] ^= 1;
            sig
        },
        |sig| vec![0; sig.len()],
        |sig| [vec![0; 32], sig[32..].to_vec()].concat(),
        |sig| sig[..63].to_vec(),
        |sig| [sig, vec![0]].concat(),
        |sig| vec![0x30; sig.len() + 8],
    ];
    for change in changes {
        refused(case.present(&changed(change)), Reason::IssuerSignatureInvalid);
    }
    let forger = SigningKey::from_seed(Curve::P256, "forger");
    refused(case.present(&case.credential().issue(&forger)), Reason::IssuerSignatureInvalid);
}

#[test]
fn rule_05_a_huge_signature_is_refused_before_it_is_decoded() {
    let case = Case::new();
    let good = case.credential().issue(&case.issuer);
    let (input, _) = good.jwt.rsplit_once('.').unwrap();
    let huge =
        Issued { jwt: format!("{input}.{}", "A".repeat(21_830)), disclosures: good.disclosures };
    refused(case.present(&huge), Reason::IssuerSignatureInvalid);
}

#[test]
fn rule_05_kid_selects_among_several_keys() {
    let mut case = Case::new();
    let other = SigningKey::from_seed(Curve::P256, "other").with_kid("other");
    case.issuer = case.issuer.with_kid("mine");
    case.trust.keys = vec![trusted(&other), trusted(&case.issuer)];
    accepted(case.present(&case.credential().issue(&case.issuer)));
    accepted(case.present(&case.credential().header("kid", "unheard of").issue(&case.issuer)));
    let misnamed = case.credential().header("kid", "other").issue(&case.issuer);
    refused(case.present(&misnamed), Reason::IssuerSignatureInvalid);
    for hostile in ["'; --", "../../etc/passwd", "\0", &"k".repeat(65_536)] {
        accepted(case.present(&case.credential().header("kid", hostile).issue(&case.issuer)));
    }
}

#[test]
fn rule_05_test_material_does_not_serve_live_sessions() {
    let mut case = Case::new();
    case.trust.keys = vec![trusted(&case.issuer).for_test_only()];
    refused(case.present(&case.credential().issue(&case.issuer)), Reason::UntrustedIssuer);
}

#[test]
fn rule_06_iss_is_the_trusted_issuer_or_absent() {
    let mut case = Case::new();
    accepted(case.present(&case.credential().without("iss").issue(&case.issuer)));
    let with = |case: &Case, iss: Value| {
        case.present(&case.credential().plain("iss", iss).issue(&case.issuer))
    };
    for iss in ["https://other.example", "https://issuer.example/", "HTTPS://issuer.example", ""] {
        refused(with(&case, json!(iss)), Reason::UntrustedIssuer);
    }
    malformed(with(&case, json!(["https://issuer.example"])));
    malformed(with(&case, Value::Null));
    case.trust.iss = None;
    accepted(with(&case, json!("https://other.example")));
}

#[test]
fn rule_07_vct_is_an_accepted_type() {
    let mut case = Case::new();
    let with = |case: &Case, vct: Value| {
        case.present(&case.credential().plain("vct", vct).issue(&case.issuer))
    };
    refused(with(&case, json!("urn:other")), Reason::TypeMismatch);
    refused(with(&case, json!(VCT.to_uppercase())), Reason::TypeMismatch);
    malformed(with(&case, json!([VCT])));
    malformed(case.present(&case.credential().without("vct").issue(&case.issuer)));
    case.trust.vct.clear();
    accepted(with(&case, json!("urn:other")));
}

#[test]
fn rule_07_aka_vcts_names_further_types() {
    let case = Case::new();
    let with = |aka: Value| {
        let credential = case.credential().plain("vct", "urn:base").plain("aka_vcts", aka);
        case.present(&credential.issue(&case.issuer))
    };
    accepted(with(json!(["urn:x", VCT])));
    refused(with(json!(["urn:x"])), Reason::TypeMismatch);
    for bad in [json!([]), json!("urn:x"), json!([1]), json!(["urn:base", VCT])] {
        malformed(with(bad));
    }
}

#[test]
fn rule_08_sd_alg_is_an_accepted_hash() {
    let case = Case::new();
    for hash in [HashAlg::Sha256, HashAlg::Sha384, HashAlg::Sha512] {
        accepted(case.present(&case.credential().hash(hash).issue(&case.issuer)));
    }
    let with = |alg: Value| {
        case.present(
            &case.unsigned(|unsigned| drop(unsigned.payload.insert("_sd_alg".into(), alg))),
        )
    };
    for bad in ["sha-1", "SHA-256", "sha256", "md5", ""] {
        refused(with(json!(bad)), Reason::AlgorithmNotAllowed);
    }
    malformed(with(json!(256)));
    malformed(with(Value::Null));
}
