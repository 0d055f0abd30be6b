//! The rules of an SD-JWT VC presentation, one test each, named after the rule: RFC 9901 4 and 7,
//! SD-JWT VC 2, in the order in which they are checked. Every refusal is shown with its exact code
//! on both back ends, beside the good presentation that differs in that one thing.

use idgate_core::Reason;
use idgate_core::crypto::{Alg, CryptoProvider, Jwk, aws_lc_rs, rustcrypto};
use idgate_core::ids::IssuerId;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{RevocationPolicy, TrustEntry, TrustedKey};
use idgate_core::verify::{CredentialReport, Expected, VerifiedCredential, verify_sd_jwt_vc};
use idgate_testkit::claim::Claim;
use idgate_testkit::codec::{HashAlg, base64url};
use idgate_testkit::disclosure::Disclosure;
use idgate_testkit::issuer::{CredentialBuilder, Issued, Unsigned};
use idgate_testkit::jws;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples::{ISSUER, VCT};
use idgate_testkit::wallet::{KbJwt, Presentation, present};
use serde_json::{Value, json};

const NOW: u64 = 1_800_000_000;
const AUDIENCE: &str = "redirect_uri:https://gateway.example/v1/oid4vp/response/ses_1";
const NONCE: &str = "n-0S6_WzA2Mj";
const PROVIDERS: [CryptoProvider; 2] = [aws_lc_rs::PROVIDER, rustcrypto::PROVIDER];

/// A presentation in the making, and what is expected of it.
struct Case {
    issuer: SigningKey,
    holder: SigningKey,
    trust: TrustEntry,
    claims: Vec<String>,
    alg: Option<Alg>,
}

type Verdict = Result<VerifiedCredential, Reason>;

impl Case {
    fn new() -> Self {
        Self::on(Curve::P256)
    }

    fn on(curve: Curve) -> Self {
        let issuer = SigningKey::from_seed(curve, "issuer");
        let mut trust = TrustEntry::new(IssuerId::new(ISSUER));
        trust.keys.push(trusted(&issuer));
        trust.vct.push(VCT.into());
        let holder = SigningKey::from_seed(curve, "holder");
        Self { issuer, holder, trust, claims: vec!["given_name".into()], alg: None }
    }

    fn credential(&self) -> CredentialBuilder {
        CredentialBuilder::new()
            .plain("iss", ISSUER)
            .plain("vct", VCT)
            .plain("iat", NOW - 1000)
            .plain("exp", NOW + 1000)
            .holder(&self.holder)
            .sd("given_name", "Erika")
            .sd("family_name", "Mustermann")
    }

    fn unsigned(&self, change: impl FnOnce(&mut Unsigned)) -> Issued {
        let mut unsigned = self.credential().build();
        change(&mut unsigned);
        unsigned.sign(&self.issuer)
    }

    fn proof(&self, shown: &Presentation) -> KbJwt {
        let request = AuthorizationRequest {
            client_id: AUDIENCE.into(),
            response_uri: String::new(),
            nonce: NONCE.into(),
            state: String::new(),
            definition_id: String::new(),
            descriptors: Vec::new(),
        };
        KbJwt::new(&self.holder, shown, &request, NOW * 1000)
    }

    /// Presents everything with a good proof.
    fn present(&self, credential: &Issued) -> Verdict {
        self.verify(&self.text(credential))
    }

    fn text(&self, credential: &Issued) -> String {
        let shown = Presentation::whole(credential);
        present(&shown, Some(&self.proof(&shown).sign()))
    }

    /// Presents a good credential with a changed proof.
    fn present_with(&self, change: impl FnOnce(&mut KbJwt)) -> Verdict {
        let shown = Presentation::whole(&self.credential().issue(&self.issuer));
        let mut proof = self.proof(&shown);
        change(&mut proof);
        self.verify(&present(&shown, Some(&proof.sign())))
    }

    /// Presents a good credential with other disclosures, correctly proved.
    fn present_disclosures(&self, change: impl FnOnce(&mut Vec<String>)) -> Verdict {
        let mut shown = Presentation::whole(&self.credential().issue(&self.issuer));
        change(&mut shown.disclosures);
        let proof = self.proof(&shown).sign();
        self.verify(&present(&shown, Some(&proof)))
    }

    /// The verdict, the same on both back ends.
    fn verify(&self, text: &str) -> Verdict {
        let now = UnixMillis::from_secs(NOW);
        let mut expected = Expected::new(&self.trust, AUDIENCE, NONCE, now, now);
        expected.claims = &self.claims;
        expected.alg = self.alg;
        let [first, second] = PROVIDERS.map(|provider| {
            let mut report = CredentialReport::default();
            let verdict = verify_sd_jwt_vc(&provider, text, &expected, &mut report);
            assert_eq!(verdict.is_err(), report.failed.is_some());
            verdict.map_err(|error| error.reason)
        });
        assert_eq!(first.as_ref().err(), second.as_ref().err());
        first
    }
}

fn trusted(key: &SigningKey) -> TrustedKey {
    let jwk = Jwk::parse(key.public_jwk().to_string().as_bytes()).unwrap();
    let trusted = TrustedKey::new(jwk.key);
    match key.kid() {
        Some(kid) => trusted.with_kid(kid),
        None => trusted,
    }
}

#[track_caller]
fn refused(verdict: Verdict, reason: Reason) {
    assert_eq!(verdict.err(), Some(reason));
}

#[track_caller]
fn malformed(verdict: Verdict) {
    refused(verdict, Reason::MalformedPresentation);
}

#[track_caller]
fn accepted(verdict: Verdict) -> VerifiedCredential {
    verdict.unwrap()
}

#[test]
fn a_good_presentation_is_verified_on_every_curve() {
    for curve in Curve::ALL {
        let case = Case::on(curve);
        let verified = accepted(case.present(&case.credential().issue(&case.issuer)));
        assert_eq!(verified.claims().as_json(), r#"{"given_name":"Erika"}"#);
        assert_eq!(verified.facts().alg.name(), curve.alg());
    }
}

#[test]
fn rule_01_tildes_separate_non_empty_parts() {
    let case = Case::new();
    let good = case.text(&case.credential().issue(&case.issuer));
    malformed(case.verify(&good.replace('~', "")));
    malformed(case.verify(&good.replacen('~', "~~", 1)));
    malformed(case.verify(&format!("~{good}")));
    malformed(case.verify(""));
    malformed(case.verify("~"));
    malformed(case.verify("~~"));
    malformed(case.verify(&format!("{good}~x")));
}

#[test]
fn rule_01_jwts_have_three_non_empty_parts() {
    let case = Case::new();
    let good = case.text(&case.credential().issue(&case.issuer));
    malformed(case.verify(&good.replacen('.', "", 1)));
    malformed(case.verify(&good.replacen('.', "..", 1)));
    malformed(case.verify(&format!(".{good}")));
    malformed(case.verify(&format!("{good}.")));
    malformed(case.verify(&format!("{good}.QQ")));
}

#[test]
fn rule_01_only_base64url_without_padding() {
    let case = Case::new();
    let good = case.text(&case.credential().issue(&case.issuer));
    for bad in
        [format!("{good}="), format!("{good} "), format!(" {good}"), good.replacen('~', "=~", 2)]
    {
        malformed(case.verify(&bad));
    }
    malformed(case.verify(&format!("{{\"payload\":\"{good}\"}}")));
}

#[test]
fn rule_01_hostile_sizes_are_refused_in_linear_time() {
    let case = Case::new();
    for hostile in
        ["~".repeat(500_000), ".".repeat(500_000), "A~".repeat(250_000), "[".repeat(500_000)]
    {
        assert!(case.verify(&hostile).is_err());
    }
    refused(case.verify(&"~".repeat(1 << 20)), Reason::LimitExceeded);
    refused(case.verify(&".".repeat(1 << 20)), Reason::LimitExceeded);
    let deep = |text: String| {
        format!("{}.{}.AAAA~", base64url(b"{\"alg\":\"ES256\"}"), base64url(text.as_bytes()))
    };
    let nested = "{\"a\":".repeat(70_000);
    for nested in [nested, "[".repeat(100_000)] {
        let verdict = case.verify(&(deep(nested) + "e30.e30.AAAA"));
        refused(verdict, Reason::LimitExceeded);
    }
}

#[test]
fn rule_01_at_most_4000_disclosures() {
    let case = Case::new();
    let issued = case.credential().issue(&case.issuer);
    let shown = |count: usize| {
        let mut text = issued.jwt.clone();
        text.push_str(&"~W10".repeat(count));
        text + "~e30.e30.AAAA"
    };
    refused(case.verify(&shown(4001)), Reason::LimitExceeded);
    assert_ne!(case.verify(&shown(4000)).err(), Some(Reason::LimitExceeded));
}

#[test]
fn rule_02_key_binding_is_never_optional() {
    let case = Case::new();
    let shown = Presentation::whole(&case.credential().issue(&case.issuer));
    refused(case.verify(&present(&shown, None)), Reason::HolderBindingMissing);
    let bearer = case.credential().without("cnf").issue(&case.issuer);
    let shown = Presentation::whole(&bearer);
    refused(case.verify(&present(&shown, None)), Reason::HolderBindingMissing);
}

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

#[test]
fn rule_09_the_digest_is_that_of_the_text_as_received() {
    let case = Case::new();
    let respelled = |text: &str| {
        let bytes = idgate_testkit::codec::from_base64url(text).unwrap();
        let json: Value = serde_json::from_slice(&bytes).unwrap();
        base64url(serde_json::to_string_pretty(&json).unwrap().as_bytes())
    };
    let verdict =
        case.present_disclosures(|disclosures| disclosures[0] = respelled(&disclosures[0]));
    refused(verdict, Reason::DigestMismatch);
}

#[test]
fn rule_10_disclosures_have_the_form_of_their_place() {
    let case = Case::new();
    let with = |text: &str| {
        case.present(&case.unsigned(|unsigned| unsigned.replace_disclosure("given_name", text)))
    };
    for bad in [
        "[]",
        r#"["salt"]"#,
        r#"["salt","Erika"]"#,
        r#"["salt","given_name","Erika",1]"#,
        r#"[1,"given_name","Erika"]"#,
        r#"["salt",1,"Erika"]"#,
        r#"[null,"given_name","Erika"]"#,
        r#"{"salt":"given_name"}"#,
        r#""text""#,
        "1",
        "not json",
        r#"["salt","given_name","Erika"] "x""#,
        r#"["salt","given_name",{"a":1,"a":2}]"#,
        r#"["salt","given_name",1e400]"#,
    ] {
        malformed(with(bad));
    }
    accepted(with(r#"["", "given_name", "Erika"]"#));
}

#[test]
fn rule_10_a_member_does_not_stand_for_an_element() {
    let case = Case::new();
    let member = Disclosure::of_text(r#"["salt","given_name","x"]"#);
    let credential = case.unsigned(|unsigned| {
        let digest = member.digest(HashAlg::Sha256);
        unsigned.payload.insert("list".into(), json!([{ "...": digest }]));
        unsigned.disclosures.push(member.clone());
    });
    malformed(case.present(&credential));
}

#[test]
fn rule_11_digests_are_found_at_every_depth() {
    let mut case = Case::new();
    case.claims = vec!["address".into(), "nationalities".into()];
    let inner = Claim::object().sd("street", "Heidestraße 17").plain("country", "DE");
    let credential = case
        .credential()
        .sd("address", Claim::object().sd("home", inner).plain("kind", "postal"))
        .plain(
            "nationalities",
            Claim::array()
                .sd_element("DE")
                .plain_element("FR")
                .sd_element(Claim::object().sd("code", "IT")),
        )
        .decoys(3)
        .issue(&case.issuer);
    let claims = accepted(case.present(&credential)).claims().as_json().to_owned();
    let claims: Value = serde_json::from_str(&claims).unwrap();
    let expected = json!({
        "address": { "kind": "postal", "home": { "country": "DE", "street": "Heidestraße 17" } },
        "nationalities": ["DE", "FR", { "code": "IT" }],
    });
    assert_eq!(claims, expected);
}

#[test]
fn rule_11_sd_is_an_array_of_strings() {
    let case = Case::new();
    for bad in [
        json!("digest"),
        json!({}),
        json!(1),
        Value::Null,
        json!([1]),
        json!([null]),
        json!([["x"]]),
    ] {
        malformed(case.present(&case.unsigned(|unsigned| {
            unsigned.disclosures.clear();
            unsigned.payload.insert("_sd".into(), bad);
        })));
    }
}

#[test]
fn rule_12_disclosed_names_are_new_and_not_reserved() {
    let case = Case::new();
    for name in ["_sd", "...", "_sd_alg", "iat", "family_name"] {
        let text = format!(r#"["salt","{name}","x"]"#);
        malformed(case.present(&case.unsigned(|u| u.add_disclosure(&text))));
    }
    let escaped = r#"["salt","family\u005fname","x"]"#;
    malformed(case.present(&case.unsigned(|u| u.add_disclosure(escaped))));
}

#[test]
fn rule_13_no_digest_appears_twice() {
    let case = Case::new();
    let twice_in_sd = case.unsigned(|u| u.edit_sd(|sd| sd.push(sd[0].clone())));
    malformed(case.present(&twice_in_sd));
    let at_another_place = case.unsigned(|u| {
        let digest = u.payload["_sd"][0].clone();
        u.payload.insert("other".into(), json!({ "_sd": [digest] }));
    });
    malformed(case.present(&at_another_place));
    let decoys = case.unsigned(|u| u.edit_sd(|sd| sd.extend([json!("decoy"), json!("decoy")])));
    malformed(case.present(&decoys));
}

/// Each level refers to the next one twice: work would double 30 times.
#[test]
fn rule_13_nested_repetition_does_not_multiply_the_work() {
    let case = Case::new();
    let credential = case.unsigned(|u| {
        let mut value = json!("deep");
        for level in 0..30 {
            let name = format!("level{level}");
            let disclosure = Disclosure::of_text(&json!(["salt", name, value]).to_string());
            let digest = disclosure.digest(HashAlg::Sha256);
            u.disclosures.push(disclosure);
            value = json!({ "a": { "_sd": [digest] }, "b": { "_sd": [digest] } });
        }
        u.payload.insert("tower".into(), value);
    });
    assert!(case.present(&credential).is_err());
}

#[test]
fn rule_13_a_disclosure_is_not_presented_twice() {
    let case = Case::new();
    malformed(case.present_disclosures(|disclosures| disclosures.push(disclosures[0].clone())));
}

#[test]
fn rule_14_every_disclosure_is_referenced() {
    let case = Case::new();
    let foreign = Disclosure::of_text(r#"["salt","age_over_18",true]"#).text;
    refused(case.present_disclosures(|d| d.push(foreign.clone())), Reason::DigestMismatch);
    let forged = Disclosure::of_text(r#"["salt","given_name","Mallory"]"#).text;
    refused(case.present_disclosures(|d| d[0] = forged), Reason::DigestMismatch);
    accepted(case.present_disclosures(|d| d.reverse()));
}

#[test]
fn rule_15_decoys_and_withheld_digests_leave_no_trace() {
    let mut case = Case::new();
    case.claims = vec!["address".into(), "list".into()];
    let credential = case
        .credential()
        .plain("address", Claim::object().sd("street", "x"))
        .plain("list", Claim::array().sd_element(1).plain_element(2))
        .decoys(5)
        .issue(&case.issuer);
    let shown = Presentation::choosing(&credential, |_| false);
    let proof = case.proof(&shown).sign();
    let verified = accepted(case.verify(&present(&shown, Some(&proof))));
    assert_eq!(verified.claims().as_json(), r#"{"address":{},"list":[2]}"#);
}

#[test]
fn rule_16_digest_members_stand_nowhere_else() {
    let case = Case::new();
    for (name, value) in [
        ("...", json!("digest")),
        ("nested", json!({ "...": "digest" })),
        ("nested", json!({ "_sd_alg": "sha-256" })),
        ("list", json!([{ "...": "digest", "other": 1 }])),
        ("list", json!([{ "...": 1 }])),
        ("list", json!([{ "other": 1, "...": "digest" }])),
    ] {
        malformed(case.present(&case.unsigned(|u| drop(u.payload.insert(name.into(), value)))));
    }
    let inside = r#"["salt","extra",{"_sd_alg":"sha-256"}]"#;
    malformed(case.present(&case.unsigned(|u| u.add_disclosure(inside))));
}

#[test]
fn rule_17_security_claims_are_never_selectively_disclosed() {
    let case = Case::new();
    for name in ["iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"] {
        let text = json!(["salt", name, "x"]).to_string();
        let credential = case.unsigned(|u| {
            if !["cnf", "vct"].contains(&name) {
                u.payload.remove(name);
            }
            u.add_disclosure(&text);
        });
        assert!(case.present(&credential).is_err(), "{name}");
    }
    let hidden = case.credential().without("iss").sd("iss", ISSUER).issue(&case.issuer);
    malformed(case.present(&hidden));
    let inside_cnf = case.unsigned(|u| {
        let jwk = u.payload["cnf"]["jwk"].clone();
        u.payload.insert("cnf".into(), json!({ "jwk": jwk, "_sd": ["digest"] }));
    });
    malformed(case.present(&inside_cnf));
    for name in ["sub", "iat"] {
        accepted(case.present(&case.credential().sd(name, NOW - 5).issue(&case.issuer)));
    }
}

#[test]
fn rule_18_exp_is_ahead() {
    let case = Case::new();
    let with = |exp: Value| case.present(&case.credential().plain("exp", exp).issue(&case.issuer));
    accepted(with(json!(NOW - 59)));
    accepted(with(json!(NOW as f64 + 0.5)));
    accepted(case.present(&case.credential().without("exp").issue(&case.issuer)));
    for past in [json!(NOW - 60), json!(NOW - 61), json!(0), json!(-1), json!(1.5)] {
        refused(with(past), Reason::CredentialExpired);
    }
    for bad in [json!("2000000000"), Value::Null, json!([NOW + 9]), json!(true), json!({})] {
        malformed(with(bad));
    }
}

#[test]
fn rule_18_nbf_and_iat_are_past() {
    let case = Case::new();
    for name in ["nbf", "iat"] {
        let with = |at: Value| case.present(&case.credential().plain(name, at).issue(&case.issuer));
        accepted(with(json!(NOW + 60)));
        accepted(with(json!(-5)));
        refused(with(json!(NOW + 61)), Reason::CredentialNotYetValid);
        refused(with(json!(1e300)), Reason::CredentialNotYetValid);
        for bad in [json!("1"), Value::Null, json!([1]), json!(false)] {
            malformed(with(bad));
        }
    }
}

#[test]
fn rule_18_aud_of_the_credential_includes_us() {
    let case = Case::new();
    let with = |aud: Value| case.present(&case.credential().plain("aud", aud).issue(&case.issuer));
    accepted(with(json!(AUDIENCE)));
    accepted(with(json!(["https://other.example", AUDIENCE])));
    refused(with(json!("https://other.example")), Reason::AudienceMismatch);
    refused(with(json!([])), Reason::AudienceMismatch);
    malformed(with(json!(1)));
}

#[test]
fn rule_19_a_published_status_is_unknown_without_a_source() {
    let mut case = Case::new();
    let status = json!({ "status_list": { "idx": 1, "uri": "https://issuer.example/status" } });
    let published = case.credential().plain("status", status).issue(&case.issuer);
    let unknown = case.credential().plain("status", Value::Null).issue(&case.issuer);
    refused(case.present(&published), Reason::RevocationUnknown);
    refused(case.present(&unknown), Reason::RevocationUnknown);
    case.trust.revocation = RevocationPolicy::Off;
    assert_eq!(accepted(case.present(&published)).revocation().name(), "off");
    case.trust.revocation = RevocationPolicy::Required;
    refused(case.present(&case.credential().issue(&case.issuer)), Reason::RevocationUnknown);
}

#[test]
fn rule_20_requested_claims_are_present_and_others_do_not_leave() {
    let mut case = Case::new();
    let credential = case.credential().issue(&case.issuer);
    let verified = accepted(case.present(&credential));
    assert_eq!(verified.claims().names().collect::<Vec<_>>(), ["given_name"]);
    for missing in ["birthdate", "_sd", "_sd_alg"] {
        case.claims = vec![missing.into()];
        refused(case.present(&credential), Reason::ClaimMissing);
    }
    case.claims = vec!["given_name".into()];
    refused(case.present_disclosures(|d| drop(d.remove(0))), Reason::ClaimMissing);
}

#[test]
fn rule_21_cnf_holds_a_public_key() {
    let case = Case::new();
    refused(
        case.present(&case.credential().without("cnf").issue(&case.issuer)),
        Reason::HolderBindingMissing,
    );
    let with = |cnf: Value| case.present(&case.credential().plain("cnf", cnf).issue(&case.issuer));
    let jwk = case.holder.public_jwk();
    let changed = |member: &str, value: Value| {
        let mut jwk = jwk.clone();
        jwk[member] = value;
        json!({ "jwk": jwk })
    };
    let coordinate = |len: usize| json!(base64url(&vec![1; len]));
    for bad in [
        json!({}),
        json!({ "kid": "x" }),
        json!("x"),
        json!({ "jwk": "x" }),
        json!({ "jwk": case.holder.private_jwk() }),
        changed("d", json!("")),
        changed("kty", json!("RSA")),
        changed("crv", json!("P-384")),
        changed("crv", json!("secp256k1")),
        changed("x", coordinate(31)),
        changed("x", coordinate(33)),
        changed("y", json!(1)),
        changed("y", Value::Null),
        changed("x", coordinate(32)),
        changed("x", json!(base64url(&[0; 32]))),
    ] {
        refused(with(bad), Reason::HolderBindingInvalid);
    }
}

#[test]
fn rule_21_what_a_wallet_says_of_its_key_beside_it_does_not_matter() {
    let case = Case::new();
    for (member, value) in [
        ("key_ops", json!(["sign"])),
        ("use", json!("sig")),
        ("kid", Value::Null),
        ("alg", json!("ES256")),
        ("ext", json!(true)),
    ] {
        let mut jwk = case.holder.public_jwk();
        jwk[member] = value;
        let credential = case.credential().plain("cnf", json!({ "jwk": jwk }));
        accepted(case.present(&credential.issue(&case.issuer)));
    }
}

#[test]
fn rule_22_typ_of_the_proof_is_kb_jwt() {
    let case = Case::new();
    for bad in [json!("JWT"), json!("dc+sd-jwt"), json!(""), json!(1)] {
        let verdict = case.present_with(|kb| drop(kb.header.insert("typ".into(), bad)));
        refused(verdict, Reason::HolderBindingInvalid);
    }
    refused(case.present_with(|kb| drop(kb.header.remove("typ"))), Reason::HolderBindingInvalid);
}

#[test]
fn rule_22_alg_of_the_proof_fits_the_holder_key() {
    let case = Case::new();
    for alg in ["none", "HS256", "ES384", "es256", "EdDSA"] {
        let verdict = case.present_with(|kb| drop(kb.header.insert("alg".into(), json!(alg))));
        refused(verdict, Reason::AlgorithmNotAllowed);
    }
}

#[test]
fn rule_23_the_holder_key_signed_the_proof() {
    let case = Case::new();
    let thief = SigningKey::from_seed(Curve::P256, "thief");
    refused(case.present_with(|kb| kb.key = thief.clone()), Reason::HolderBindingInvalid);
    let in_header = case.present_with(|kb| {
        kb.header.insert("jwk".into(), thief.public_jwk());
        kb.key = thief.clone();
    });
    refused(in_header, Reason::HolderBindingInvalid);
    refused(case.present_with(|kb| kb.key = case.issuer.clone()), Reason::HolderBindingInvalid);
    let shown = Presentation::whole(&case.credential().issue(&case.issuer));
    let zeroed = jws::with_signature(&case.proof(&shown).sign(), |sig| vec![0; sig.len()]).unwrap();
    refused(case.verify(&present(&shown, Some(&zeroed))), Reason::HolderBindingInvalid);
}

#[test]
fn rule_24_iat_lies_in_the_session() {
    let case = Case::new();
    for good in [json!(NOW), json!(NOW - 60), json!(NOW + 60), json!(NOW as f64 + 0.25)] {
        accepted(case.present_with(|kb| kb.set("iat", good)));
    }
    for bad in [
        json!(NOW - 61),
        json!(NOW + 61),
        json!(0),
        json!(-1),
        json!(1e30),
        json!("now"),
        Value::Null,
    ] {
        refused(case.present_with(|kb| kb.set("iat", bad)), Reason::KbJwtStale);
    }
    refused(case.present_with(|kb| drop(kb.claims.remove("iat"))), Reason::KbJwtStale);
}

#[test]
fn rule_25_aud_is_one_string_and_ours() {
    let case = Case::new();
    for bad in [
        json!([AUDIENCE]),
        json!(format!("{AUDIENCE}/")),
        json!(AUDIENCE.trim_end_matches('1')),
        json!(AUDIENCE.to_uppercase()),
        json!(AUDIENCE.trim_start_matches("redirect_uri:")),
        json!(""),
        Value::Null,
    ] {
        refused(case.present_with(|kb| kb.set("aud", bad)), Reason::AudienceMismatch);
    }
    refused(case.present_with(|kb| drop(kb.claims.remove("aud"))), Reason::AudienceMismatch);
}

#[test]
fn rules_25_and_26_an_empty_expectation_is_met_by_nobody() {
    let case = Case::new();
    let shown = Presentation::whole(&case.credential().issue(&case.issuer));
    let now = UnixMillis::from_secs(NOW);
    for (audience, nonce, reason) in
        [("", NONCE, Reason::AudienceMismatch), (AUDIENCE, "", Reason::NonceMismatch)]
    {
        let mut proof = case.proof(&shown);
        proof.set("aud", audience);
        proof.set("nonce", nonce);
        let text = present(&shown, Some(&proof.sign()));
        let expected = Expected::new(&case.trust, audience, nonce, now, now);
        let mut report = CredentialReport::default();
        let verdict = verify_sd_jwt_vc(&PROVIDERS[0], &text, &expected, &mut report);
        assert_eq!(verdict.err().map(|error| error.reason), Some(reason));
    }
}

#[test]
fn nothing_that_can_be_printed_holds_a_secret() {
    let case = Case::new();
    let now = UnixMillis::from_secs(NOW);
    let expected = Expected::new(&case.trust, AUDIENCE, NONCE, now, now);
    assert!(!format!("{expected:?}").contains(NONCE));
    let verified = accepted(case.present(&case.credential().issue(&case.issuer)));
    assert!(!format!("{verified:?}").contains("Erika"));
    let mut tape = idgate_core::codec::json::Tape::default();
    tape.parse(br#"{"a":"sentinel"}"#).unwrap();
    assert!(!format!("{tape:?}").contains("sentinel"));
}

#[test]
fn rule_26_nonce_is_ours() {
    let case = Case::new();
    for bad in [
        json!("other"),
        json!(""),
        json!(format!("{NONCE} ")),
        json!([NONCE]),
        json!(1),
        Value::Null,
    ] {
        refused(case.present_with(|kb| kb.set("nonce", bad)), Reason::NonceMismatch);
    }
    refused(case.present_with(|kb| drop(kb.claims.remove("nonce"))), Reason::NonceMismatch);
}

#[test]
fn rule_27_sd_hash_covers_this_presentation() {
    let case = Case::new();
    let issued = case.credential().issue(&case.issuer);
    let all = Presentation::whole(&issued);
    let fewer = Presentation::choosing(&issued, |d| d.root_claim() == Some("given_name"));
    let proof = case.proof(&all).sign();
    refused(case.verify(&present(&fewer, Some(&proof))), Reason::SdHashMismatch);
    for bad in [json!(""), json!("x"), json!([all.sd_hash()]), Value::Null] {
        refused(case.present_with(|kb| kb.set("sd_hash", bad)), Reason::SdHashMismatch);
    }
    let without_tilde = HashAlg::Sha256.digest(all.sd_jwt().trim_end_matches('~'));
    refused(case.present_with(|kb| kb.set("sd_hash", without_tilde)), Reason::SdHashMismatch);
    refused(case.present_with(|kb| drop(kb.claims.remove("sd_hash"))), Reason::SdHashMismatch);
}

#[test]
fn rule_27_sd_hash_uses_the_hash_of_the_credential() {
    let case = Case::new();
    let shown = Presentation::whole(&case.credential().hash(HashAlg::Sha512).issue(&case.issuer));
    let mut proof = case.proof(&shown);
    accepted(case.verify(&present(&shown, Some(&proof.sign()))));
    proof.set("sd_hash", HashAlg::Sha256.digest(&shown.sd_jwt()));
    refused(case.verify(&present(&shown, Some(&proof.sign()))), Reason::SdHashMismatch);
}

#[test]
fn rule_28_exp_and_nbf_of_the_proof_are_checked() {
    let case = Case::new();
    accepted(case.present_with(|kb| kb.set("exp", NOW + 10)));
    accepted(case.present_with(|kb| kb.set("nbf", NOW)));
    for (name, bad) in [
        ("exp", json!(NOW - 60)),
        ("exp", json!("x")),
        ("exp", Value::Null),
        ("nbf", json!(NOW + 61)),
        ("nbf", json!("x")),
    ] {
        refused(case.present_with(|kb| kb.set(name, bad)), Reason::KbJwtStale);
    }
}

#[test]
fn strict_json_everywhere_that_is_signed() {
    let case = Case::new();
    let twice = case.unsigned(|u| {
        let text = Value::from(u.payload.clone()).to_string();
        u.payload_text = Some(text.replacen('{', "{\"vct\":\"x\",", 1));
    });
    malformed(case.present(&twice));
    let header = case.unsigned(|u| {
        u.header_text = Some(r#"{"alg":"none","alg":"ES256","typ":"dc+sd-jwt"}"#.into())
    });
    malformed(case.present(&header));
    let proof = case.present_with(|kb| {
        let text = Value::from(kb.claims.clone()).to_string();
        kb.claims_text = Some(text.replacen('{', "{\"nonce\":\"x\",", 1));
    });
    malformed(proof);
    let range = case.unsigned(|u| {
        let text = Value::from(u.payload.clone()).to_string();
        u.payload_text = Some(text.replacen('{', "{\"big\":1e400,", 1));
    });
    malformed(case.present(&range));
}
