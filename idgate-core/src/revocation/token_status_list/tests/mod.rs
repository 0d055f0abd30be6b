//! One test per refusal of a status list token, named after the rule, in both forms if both have
//! the rule.

mod identifiers;
mod listed;
mod signers;
#[allow(clippy::disallowed_methods)] // it reads third-party files
mod vectors;

use idgate_testkit::codec::base64url;
use idgate_testkit::jws;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::status::{StatusCwt, StatusJwt, StatusList};
use serde_json::{Value as Json, json};

use super::super::fixtures::{
    NOW, NOW_SECS, URI, context, entry, public_key, root, signer, signing_key, voucher,
};
use super::*;
use crate::trust::TrustedKey;

type Verdict = Result<VerifiedStatusList, VerifyError>;

/// Sixteen statuses of two bits: 1 at index 3, 2 at index 5, 3 at index 7.
fn list() -> StatusList {
    StatusList::new(2, 16).with(3, 1).with(5, 2).with(7, 3)
}

fn jwt() -> StatusJwt {
    StatusJwt::new(&list(), URI, NOW_SECS - 10)
}

fn cwt() -> StatusCwt {
    StatusCwt::new(&list(), URI, NOW_SECS - 10, &[&signer(&signing_key("signer"))])
}

impl VerifiedStatusList {
    /// Verifies a status list that must be in force.
    fn verify(
        token: &[u8],
        uri: &str,
        signer: ListSigner<'_>,
        context: &StatusContext<'_>,
    ) -> Verdict {
        Self::verify_kind(ListKind::Statuses, token, uri, signer, context).and_then(Judged::current)
    }
}

impl Judged {
    fn current(self) -> Verdict {
        match self {
            Self::Current(list) => Ok(list),
            Self::Over(_, why) => Err(why),
        }
    }
}

/// Verified as the list of a credential signed by a bare key.
fn verify_by_key(context: &StatusContext<'_>, token: &[u8]) -> Verdict {
    VerifiedStatusList::verify(token, URI, ListSigner::IssuerKey, context)
}

/// Verified as the list of an mdoc.
fn verify_in(context: &StatusContext<'_>, token: &[u8]) -> Verdict {
    verify_for(&voucher(), context, token)
}

/// Verified as the list of an mdoc with the anchor `voucher`.
fn verify_for(voucher: &Voucher, context: &StatusContext<'_>, token: &[u8]) -> Verdict {
    VerifiedStatusList::verify(token, URI, ListSigner::Certificate(voucher), context)
}

/// Verified as the list of an SD-JWT VC.
fn of_sd_jwt(token: &str) -> Verdict {
    verify_by_key(&context(&entry()), token.as_bytes())
}

/// Verified as the list of an mdoc.
fn of_mdoc(token: &[u8]) -> Verdict {
    verify_in(&context(&entry()), token)
}

fn signed(token: StatusJwt) -> String {
    token.sign(&signing_key("issuer"))
}

/// Signed by a certificate below the root, which is in `x5c`.
fn certified(token: StatusJwt) -> String {
    let key = signing_key("signer");
    token.with_header("x5c", x5c(&[&signer(&key)])).sign(&key)
}

fn x5c(chain: &[&[u8]]) -> Json {
    use base64::Engine;
    let encode = |der: &&[u8]| base64::engine::general_purpose::STANDARD.encode(der);
    chain.iter().map(encode).collect()
}

#[track_caller]
fn refused(verdict: Verdict, why: &str) {
    let error = verdict.unwrap_err();
    assert_eq!(error.reason, Reason::RevocationUnknown);
    assert!(error.detail.contains(why), "{error}");
}

/// The same change in both forms.
#[track_caller]
fn both_refused(name: &str, label: i64, json: Json, cbor: Vec<u8>, why: &str) {
    refused(of_sd_jwt(&signed(jwt().with(name, json))), why);
    refused(of_mdoc(&cwt().with(label, cbor).sign(&signing_key("signer"))), why);
}

#[test]
fn a_good_list_has_every_status() {
    let lists = [
        of_sd_jwt(&signed(jwt())),
        of_mdoc(certified(jwt()).as_bytes()),
        of_mdoc(&cwt().sign(&signing_key("signer"))),
    ];
    for list in lists.map(Result::unwrap) {
        assert_eq!(list.uri(), URI);
        assert!(matches!(list.content, Content::Statuses { bits: Bits(2), .. }));
        let told: Vec<_> = (0..17).map(|idx| list.status(idx)).collect();
        let mut expected = vec![Some(0); 16];
        (expected[3], expected[5], expected[7]) = (Some(1), Some(2), Some(3));
        expected.push(None);
        assert_eq!(told, expected);
        assert_eq!(list.fresh_until(), NOW.plus(3_600_000));
    }
}

#[test]
fn status_1_is_revoked_2_suspended_and_others_revoked() {
    let list = of_sd_jwt(&signed(jwt())).unwrap();
    let told = |idx| list.check(idx).map_err(|error| error.reason);
    assert_eq!(told(0), Ok(()));
    assert_eq!(told(3), Err(Reason::CredentialRevoked));
    assert_eq!(told(5), Err(Reason::CredentialSuspended));
    assert_eq!(told(7), Err(Reason::CredentialRevoked));
    let wide = (0u8..=255).fold(StatusList::new(8, 256), |l, n| l.with(n.into(), n));
    let wide = of_sd_jwt(&signed(StatusJwt::new(&wide, URI, NOW_SECS))).unwrap();
    for status in 3..256 {
        assert_eq!(wide.check(status).unwrap_err().reason, Reason::CredentialRevoked);
    }
}

#[test]
fn an_index_past_the_end_is_refused() {
    let list = of_sd_jwt(&signed(jwt())).unwrap();
    for idx in [16, 17, 1 << 32, u64::MAX / 2, u64::MAX] {
        assert_eq!(list.check(idx).unwrap_err().reason, Reason::RevocationUnknown, "{idx}");
    }
    let empty = StatusJwt::new(&StatusList::new(1, 0), URI, NOW_SECS);
    assert!(of_sd_jwt(&signed(empty)).unwrap().check(0).is_err());
}

#[test]
fn typ_must_be_that_of_a_status_list_token() {
    for typ in [json!("JWT"), json!("dc+sd-jwt"), json!("statuslist+cwt"), json!("")] {
        refused(of_sd_jwt(&signed(jwt().with_header("typ", typ))), "typ");
    }
    let mut without = jwt();
    without.header.remove("typ");
    refused(of_sd_jwt(&signed(without)), "typ");
    assert!(
        of_sd_jwt(&signed(jwt().with_header("typ", json!("application/statuslist+jwt")))).is_ok()
    );
    for typ in ["application/statuslist+jwt", "application/cwt", ""] {
        let mut wrong = cwt();
        wrong.protected = vec![(16, StatusCwt::text(typ))];
        refused(of_mdoc(&wrong.sign(&signing_key("signer"))), "type");
    }
    let mut unprotected = cwt();
    unprotected.unprotected.append(&mut unprotected.protected);
    refused(of_mdoc(&unprotected.sign(&signing_key("signer"))), "type");
}

#[test]
fn alg_fits_the_key() {
    for alg in ["none", "HS256", "RS256", "EdDSA"] {
        refused(of_sd_jwt(&signed(jwt().with_header("alg", json!(alg)))), "alg");
    }
    for alg in ["ES384", "ES512"] {
        refused(of_sd_jwt(&signed(jwt().with_header("alg", json!(alg)))), "no trusted key");
    }
    for alg in [-35, -36, -8, 5] {
        let wrong = StatusCwt { alg: Some(alg), ..cwt() };
        refused(of_mdoc(&wrong.sign(&signing_key("signer"))), "alg");
    }
}

#[test]
fn critical_headers_are_refused() {
    refused(of_sd_jwt(&signed(jwt().with_header("crit", json!(["x"])))), "header");
}

#[test]
fn a_key_of_the_entry_signed_it() {
    refused(of_sd_jwt(&jwt().sign(&signing_key("other"))), "no trusted key");
    // Neither a key nor a certificate in the header counts for an SD-JWT VC.
    let key = signing_key("other");
    let with_key = jwt().with_header("jwk", key.public_jwk()).sign(&key);
    refused(of_sd_jwt(&with_key), "no trusted key");
    refused(of_sd_jwt(&certified(jwt())), "no trusted key");
    let cut = jws::with_signature(&signed(jwt()), |mut bytes| {
        bytes[40] ^= 1;
        bytes
    });
    refused(of_sd_jwt(&cut.unwrap()), "no trusted key");
}

#[test]
fn kid_selects_among_the_keys_and_an_unknown_one_selects_nothing() {
    let second = signing_key("second");
    let mut entry = entry();
    entry.keys = vec![
        TrustedKey::new(public_key(&signing_key("issuer"))).with_kid("a"),
        TrustedKey::new(public_key(&second)).with_kid("b"),
    ];
    let verify = |kid: &str| {
        let token = jwt().with_header("kid", json!(kid)).sign(&second);
        verify_by_key(&context(&entry), token.as_bytes())
    };
    assert!(verify("b").is_ok() && verify("c").is_ok());
    refused(verify("a"), "no trusted key");
}

#[test]
fn test_keys_count_in_test_mode_only() {
    let mut entry = entry();
    entry.keys = entry.keys.into_iter().map(TrustedKey::for_test_only).collect();
    let mut context = context(&entry);
    let token = signed(jwt());
    refused(verify_by_key(&context, token.as_bytes()), "no trusted key");
    context.livemode = false;
    assert!(verify_by_key(&context, token.as_bytes()).is_ok());
}

#[test]
fn a_certificate_under_a_root_signed_the_list_of_an_mdoc() {
    let (key, other) = (signing_key("signer"), signing_key("other"));
    refused(of_mdoc(signed(jwt()).as_bytes()), "x5c");
    let wrong_key = jwt().with_header("x5c", x5c(&[&signer(&key)])).sign(&other);
    refused(of_mdoc(wrong_key.as_bytes()), "did not sign");
    refused(of_mdoc(&cwt().sign(&other)), "did not sign");
    let mut rootless = entry();
    rootless.roots.clear();
    let context = context(&rootless);
    assert!(verify_in(&context, certified(jwt()).as_bytes()).is_err());
    assert!(verify_in(&context, &cwt().sign(&key)).is_err());
    // A root in the chain is not trusted because it is there.
    let chained = StatusCwt::new(&list(), URI, NOW_SECS, &[&signer(&key), &root()]).sign(&key);
    assert!(verify_in(&context, &chained).is_err());
    assert!(of_mdoc(&chained).is_ok());
}

#[test]
fn the_certificate_is_within_its_dates() {
    let entry = entry();
    let mut context = context(&entry);
    context.now = UnixMillis::parse_rfc3339("2027-01-02T00:00:00Z").unwrap();
    let later = context.now.0 / 1000;
    let key = signing_key("signer");
    let token = StatusCwt::new(&list(), URI, later, &[&signer(&key)]).sign(&key);
    assert_eq!(verify_in(&context, &token).unwrap_err().reason, Reason::RevocationUnknown);
}

#[test]
fn x5c_and_x5chain_are_lists_of_at_most_ten_certificates() {
    let key = signing_key("signer");
    let der = signer(&key);
    for bad in [json!([]), json!("x"), json!([1]), json!(["%"]), json!({}), Json::Null] {
        let token = jwt().with_header("x5c", bad).sign(&key);
        refused(of_mdoc(token.as_bytes()), "x5c");
    }
    let eleven = vec![der.as_slice(); 11];
    let token = jwt().with_header("x5c", x5c(&eleven)).sign(&key);
    refused(of_mdoc(token.as_bytes()), "more than 10");
    refused(of_mdoc(&StatusCwt::new(&list(), URI, NOW_SECS, &eleven).sign(&key)), "more than 10");
    let mut without = cwt();
    without.unprotected.clear();
    refused(of_mdoc(&without.sign(&key)), "x5chain");
}

#[test]
fn sub_is_exactly_the_uri() {
    for sub in
        ["https://status.example/1/", "https://STATUS.example/1", "https://status.example/2", ""]
    {
        both_refused("sub", 2, json!(sub), StatusCwt::text(sub), "sub");
    }
    both_refused("sub", 2, json!(1), StatusCwt::integer(1), "sub");
    refused(of_sd_jwt(&signed(jwt().without("sub"))), "no sub");
    refused(of_mdoc(&cwt().without(2).sign(&signing_key("signer"))), "no sub");
}

#[test]
fn iat_is_required_and_not_ahead() {
    refused(of_sd_jwt(&signed(jwt().without("iat"))), "no iat");
    refused(of_mdoc(&cwt().without(6).sign(&signing_key("signer"))), "no iat");
    let now = i64::try_from(NOW_SECS).unwrap();
    let at = |secs| both_refused("iat", 6, json!(secs), StatusCwt::integer(secs), "in the future");
    at(now + 61);
    at(i64::MAX);
    assert!(of_sd_jwt(&signed(jwt().with("iat", json!(now + 60)))).is_ok());
    for bad in [json!("1"), Json::Null, json!([1]), json!(true)] {
        refused(of_sd_jwt(&signed(jwt().with("iat", bad))), "not a number");
    }
    refused(
        of_mdoc(&cwt().with(6, StatusCwt::text("1")).sign(&signing_key("signer"))),
        "not a number",
    );
}

#[test]
fn nbf_is_not_ahead() {
    let ahead = i64::try_from(NOW_SECS).unwrap() + 61;
    both_refused("nbf", 5, json!(ahead), StatusCwt::integer(ahead), "in the future");
}

#[test]
fn exp_is_ahead() {
    let now = i64::try_from(NOW_SECS).unwrap();
    for past in [now - 60, 0, -1, i64::MIN + 1] {
        both_refused("exp", 4, json!(past), StatusCwt::integer(past), "past");
    }
    assert!(of_sd_jwt(&signed(jwt().with("exp", json!(now - 59)))).is_ok());
    for bad in [json!("2000000000"), Json::Null, json!({})] {
        refused(of_sd_jwt(&signed(jwt().with("exp", bad))), "not a number");
    }
    let without = of_sd_jwt(&signed(jwt().without("exp"))).unwrap();
    assert_eq!(without.expires_at(), Some(NOW.minus(10_000).plus(7 * 86_400_000)));
}

#[test]
fn ttl_is_a_positive_number() {
    for bad in [json!(0), json!(-1), json!(-0.5), json!("60"), Json::Null, json!([60])] {
        refused(of_sd_jwt(&signed(jwt().with("ttl", bad))), "ttl");
    }
    for bad in [StatusCwt::integer(0), StatusCwt::integer(-5), StatusCwt::text("60")] {
        refused(of_mdoc(&cwt().with(65534, bad).sign(&signing_key("signer"))), "ttl");
    }
    assert!(of_sd_jwt(&signed(jwt().with("ttl", json!(0.5)))).is_ok());
}

#[test]
fn a_list_is_fresh_for_ttl_and_at_most_until_exp() {
    let fresh = |token: StatusJwt| of_sd_jwt(&signed(token)).unwrap().fresh_until();
    assert_eq!(fresh(jwt().with("ttl", json!(60))), NOW.plus(60_000));
    assert_eq!(fresh(jwt().with("exp", json!(NOW_SECS + 5))), NOW.plus(5_000));
    assert_eq!(fresh(jwt().without("ttl").with("exp", json!(NOW_SECS + 5))), NOW.plus(5_000));
    assert_eq!(fresh(jwt().without("ttl").without("exp")), NOW);
    let end = NOW.minus(10_000).plus(7 * 86_400_000);
    assert_eq!(fresh(jwt().with("ttl", json!(u64::MAX)).without("exp")), end);
}

#[test]
fn bits_is_1_2_4_or_8() {
    let lst = list().deflated();
    for bits in [0, 3, 5, 16, 64, 256, -1, i64::MAX] {
        let json = json!({ "bits": bits, "lst": base64url(&lst) });
        both_refused("status_list", 65533, json, StatusCwt::status_list(bits, &lst), "bits");
    }
    for bits in [json!("1"), Json::Null, json!(1.0), json!([1])] {
        let list = json!({ "bits": bits, "lst": base64url(&lst) });
        refused(of_sd_jwt(&signed(jwt().with("status_list", list))), "bits");
    }
}

#[test]
fn lst_is_base64url_of_one_zlib_stream() {
    for lst in [json!("AA=="), json!("A"), json!("+/"), json!("a b")] {
        let list = json!({ "bits": 1, "lst": lst });
        refused(of_sd_jwt(&signed(jwt().with("status_list", list))), "base64url");
    }
    let truncated = list().deflated();
    let truncated = &truncated[..truncated.len() - 1];
    for bad in [&b""[..], b"\x00", truncated] {
        let json = json!({ "bits": 1, "lst": base64url(bad) });
        both_refused("status_list", 65533, json, StatusCwt::status_list(1, bad), "zlib");
    }
    for bad in
        [json!({}), json!({ "bits": 1 }), json!({ "bits": 1, "lst": 1 }), json!([]), json!(1)]
    {
        refused(of_sd_jwt(&signed(jwt().with("status_list", bad))), "lst");
    }
    refused(of_sd_jwt(&signed(jwt().without("status_list"))), "no status_list");
    refused(of_mdoc(&cwt().without(65533).sign(&signing_key("signer"))), "no status_list");
}

#[test]
fn a_zip_bomb_costs_no_more_than_the_limit() {
    let bomb = StatusList::new(8, (32 << 20) + 1);
    refused(of_sd_jwt(&signed(StatusJwt::new(&bomb, URI, NOW_SECS))), "32 MiB");
    refused(of_mdoc(&vec![0xd2; 11 << 20]), "10 MiB");
}

#[test]
fn a_cwt_is_not_accepted_for_an_sd_jwt_vc() {
    let entry = entry();
    let context = context(&entry);
    refused(verify_by_key(&context, &cwt().sign(&signing_key("signer"))), "not a JWT");
}

#[test]
fn malformed_tokens_are_refused_and_never_panic() {
    for bad in [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c",
        "e30.e30.AA",
        "null",
        "\u{7f}",
        "eyJhbGciOiJFUzI1NiJ9.e30.AA",
    ] {
        assert!(of_sd_jwt(bad).is_err() && of_mdoc(bad.as_bytes()).is_err(), "{bad}");
    }
    let token = signed(jwt());
    for len in 0..token.len() {
        assert!(of_sd_jwt(&token[..len]).is_err(), "{len}");
    }
    let token = cwt().sign(&signing_key("signer"));
    for len in 0..token.len() {
        assert!(of_mdoc(&token[..len]).is_err(), "{len}");
    }
    assert!(of_mdoc(&[&token[..], b"\0"].concat()).is_err());
    assert!(of_mdoc(&vec![0xd2; 1 << 20]).is_err());
    // A file may end with a line feed; nothing else may follow.
    assert!(of_sd_jwt(&(signed(jwt()) + "\r\n")).is_ok());
    assert!(of_sd_jwt(&(signed(jwt()) + "x.")).is_err());
}

#[test]
fn keys_on_every_curve_sign_lists() {
    for curve in Curve::ALL {
        let key = SigningKey::from_seed(curve, "k");
        let mut entry = entry();
        entry.keys = vec![TrustedKey::new(public_key(&key))];
        let token = jwt().sign(&key);
        assert!(verify_by_key(&context(&entry), token.as_bytes()).is_ok());
        let token = StatusCwt::new(&list(), URI, NOW_SECS, &[&signer(&key)]).sign(&key);
        assert!(of_mdoc(&token).is_ok());
    }
}

#[test]
fn a_verified_list_is_reused_for_its_issuer_trust_and_mode_only() {
    let mine = entry();
    let mut other = entry();
    other.issuer_id = IssuerId::new("https://other.example");
    // Two trusts with the same version are different.
    let [trust, another] = [(); 2].map(|()| TrustSnapshot::new(1, [entry()]));
    let here = StatusContext { trust: Some(&trust), ..context(&mine) };
    let list = verify_by_key(&here, signed(jwt()).as_bytes()).unwrap();
    let key = ListSigner::IssuerKey;
    assert!(list.serves(key, &here));
    let over = NOW.plus(86_390_000);
    assert!(list.serves(key, &StatusContext { now: over.minus(1), ..here }));
    for elsewhere in [
        StatusContext { issuer: &other, ..here },
        StatusContext { trust: Some(&another), ..here },
        StatusContext { trust: None, ..here },
        StatusContext { livemode: false, ..here },
        StatusContext { now: over, ..here },
    ] {
        assert!(!list.serves(key, &elsewhere), "{elsewhere:?}");
    }
    assert!(!list.serves(ListSigner::Certificate(&voucher()), &here));
}

#[test]
fn references_are_an_index_and_a_web_address() {
    let read = |text: &str| {
        let mut tape = json::Tape::default();
        let id = tape.parse(text.as_bytes()).unwrap();
        StatusListReference::from_json(tape.value(id))
    };
    let good = read(r#"{"idx":0,"uri":"HTTP://a.example/"}"#).unwrap();
    assert_eq!((good.place, good.uri.as_str()), (Place::Index(0), "HTTP://a.example/"));
    for bad in [
        r#"{"idx":-1,"uri":"https://a"}"#,
        r#"{"idx":1.0,"uri":"https://a"}"#,
        r#"{"idx":18446744073709551616,"uri":"https://a"}"#,
        r#"{"idx":"1","uri":"https://a"}"#,
        r#"{"idx":1,"uri":"file:///etc/passwd"}"#,
        r#"{"idx":1,"uri":"ldap://a"}"#,
        r#"{"idx":1,"uri":""}"#,
        r#"{"idx":1,"uri":["https://a"]}"#,
        r#"{"idx":1}"#,
        r#"{"uri":"https://a"}"#,
        "[]",
        "null",
    ] {
        assert_eq!(read(bad), None, "{bad}");
    }
}
