//! The issuer that requires attestations, and attestations sent to the plain one.

use idgate_testkit::jws;
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::x509::Identity;

use super::*;

/// The headers of a token request: the attestation and its proof.
struct Client {
    attestation: String,
    pop: String,
}

fn instance() -> SigningKey {
    key("wallet instance")
}

fn provider() -> SigningKey {
    key("wallet provider")
}

/// Valid headers for this issuer, apart from the changes.
fn client(
    desk: &Desk,
    issuer: &str,
    jti: &str,
    attestation: impl FnOnce(WalletJwt) -> WalletJwt,
    pop: impl FnOnce(WalletJwt) -> WalletJwt,
) -> Client {
    let own = WalletJwt::client_attestation(&provider(), &instance(), desk.now());
    let proof = WalletJwt::attestation_pop(issuer, jti, desk.now());
    Client { attestation: attestation(own).sign(&provider()), pop: pop(proof).sign(&instance()) }
}

fn good(desk: &Desk, issuer: &str, jti: &str) -> Client {
    client(desk, issuer, jti, |own| own, |proof| proof)
}

fn offer(desk: &Desk, attested: bool) -> Made {
    desk.offer_with(Sample::Pid, |wish| Wish { attested, ..wish })
}

fn redeem(desk: &Desk, made: &Made, client: &Client, more: &[(&str, &str)]) -> Reply {
    let attested = made.credential_offer["credential_issuer"] == ATTESTED;
    let path = if attested { "/vci-attested/token" } else { "/vci/token" };
    let headers = [
        ("oauth-client-attestation", &*client.attestation),
        ("oauth-client-attestation-pop", &*client.pop),
    ];
    let code = code_of(made);
    let fields = [("grant_type", PRE_AUTHORIZED), ("pre-authorized_code", &*code)];
    desk.form(path, &headers, &[&fields[..], more].concat())
}

fn token(desk: &Desk) -> String {
    redeem(desk, &offer(desk, true), &good(desk, ATTESTED, "for a token"), &[]).text("access_token")
}

fn nonce(desk: &Desk) -> String {
    desk.send("POST", "/vci-attested/nonce", &[], Some(b"")).text("c_nonce")
}

fn credential(desk: &Desk, token: &str, kind: &str, proofs: &[String]) -> Reply {
    let bearer = format!("Bearer {token}");
    let body = json!({ "credential_configuration_id": "pid_sd_jwt", "proofs": { kind: proofs } });
    desk.post("/vci-attested/credential", &[("authorization", &bearer)], &body)
}

/// Attestation is announced, but wallets without one are served.
#[test]
fn neither_issuer_requires_a_client_attestation() {
    let desk = Desk::new();
    for (attested, path) in [(false, "/vci/token"), (true, "/vci-attested/token")] {
        let code = code_of(&offer(&desk, attested));
        let fields = [("grant_type", PRE_AUTHORIZED), ("pre-authorized_code", &*code)];
        assert_eq!(desk.form(path, &[], &fields).status, 200, "{path}");
    }
}

#[test]
fn a_refused_client_attestation_fails_the_offer_of_the_code() {
    let desk = Desk::new();
    let made = offer(&desk, false);
    let forged = client(&desk, PLAIN, "forged", |own| own.header("typ", "jwt"), |pop| pop);
    assert_eq!(redeem(&desk, &made, &forged, &[]).outcome(), (401, "invalid_client"));
    let (progress, rule) = desk.state_of(&made);
    assert_eq!((progress, rule.is_some()), (Progress::Failed, true));
}

/// Both issuers verify an attestation if there is one, and refuse a broken one.
#[test]
fn a_client_attestation_that_breaks_a_rule_is_invalid_client() {
    let seconds = SAMPLE_NOW_MS / 1000;
    type Change = Box<dyn Fn(WalletJwt) -> WalletJwt>;
    let change = |change: fn(WalletJwt) -> WalletJwt| -> Change { Box::new(change) };
    let attestations: Vec<(&str, Change)> = vec![
        ("another type", change(|own| own.header("typ", "jwt"))),
        ("another algorithm", change(|own| own.header("alg", "none"))),
        ("another signer", change(|own| own.header("jwk", key("other").public_jwk()))),
        ("no sub", change(|own| own.claim("sub", Value::Null))),
        ("no exp", change(|own| own.claim("exp", Value::Null))),
        ("over", Box::new(move |own| own.claim("exp", seconds - 1))),
        ("of the future", Box::new(move |own| own.claim("iat", seconds + 61))),
        ("exp that is a text", change(|own| own.claim("exp", "never"))),
        ("no key", change(|own| own.claim("cnf", Value::Null))),
        ("another key", change(|own| own.claim("cnf", json!({ "jwk": key("x").public_jwk() })))),
    ];
    let pops: Vec<(&str, Change)> = vec![
        ("proof of another type", change(|pop| pop.header("typ", "jwt"))),
        ("proof for another issuer", change(|pop| pop.claim("aud", "https://other.example"))),
        ("proof for the endpoint", change(|pop| pop.claim("aud", format!("{PLAIN}/token")))),
        ("proof without jti", change(|pop| pop.claim("jti", Value::Null))),
        ("proof without iat", change(|pop| pop.claim("iat", Value::Null))),
        ("old proof", Box::new(move |pop| pop.claim("iat", seconds - 301))),
    ];
    for (attested, issuer) in [(false, PLAIN), (true, ATTESTED)] {
        let desk = Desk::new();
        let made = offer(&desk, attested);
        for (rule, change) in &attestations {
            let broken = client(&desk, issuer, rule, change, |pop| pop);
            let reply = redeem(&desk, &made, &broken, &[]);
            assert_eq!(reply.outcome(), (401, "invalid_client"), "{issuer} {rule}");
        }
        for (rule, change) in &pops {
            let broken = client(&desk, issuer, rule, |own| own, change);
            let reply = redeem(&desk, &made, &broken, &[]);
            assert_eq!(reply.outcome(), (401, "invalid_client"), "{issuer} {rule}");
        }
        let mut forged = good(&desk, issuer, "forged");
        forged.pop = WalletJwt::attestation_pop(issuer, "forged", desk.now()).sign(&key("other"));
        assert_eq!(redeem(&desk, &made, &forged, &[]).outcome(), (401, "invalid_client"));
        let other = [("client_id", "https://other.example")];
        let reply = redeem(&desk, &made, &good(&desk, issuer, "id"), &other);
        assert_eq!(reply.outcome(), (401, "invalid_client"), "another client_id");
        let alone = good(&desk, issuer, "alone");
        let headers = [("oauth-client-attestation", &*alone.attestation)];
        let path = issuer.strip_prefix(BASE).unwrap();
        let code = code_of(&made);
        let fields = [("grant_type", PRE_AUTHORIZED), ("pre-authorized_code", &*code)];
        let reply = desk.form(&format!("{path}/token"), &headers, &fields);
        assert_eq!(reply.outcome(), (401, "invalid_client"), "without its proof");
        let own = [("client_id", "https://wallet.example")];
        assert_eq!(redeem(&desk, &made, &good(&desk, issuer, "good"), &own).status, 200);
    }
}

#[test]
fn a_replayed_proof_of_a_client_attestation_is_invalid_client() {
    let desk = Desk::new();
    let same = good(&desk, ATTESTED, "same");
    assert_eq!(redeem(&desk, &offer(&desk, true), &same, &[]).status, 200);
    let made = offer(&desk, true);
    assert_eq!(redeem(&desk, &made, &same, &[]).outcome(), (401, "invalid_client"));
    assert_eq!(redeem(&desk, &made, &good(&desk, ATTESTED, "other"), &[]).status, 200);
}

#[test]
fn a_provider_named_only_by_kid_is_accepted_by_the_plain_issuer_only() {
    let desk = Desk::new();
    let by_kid = |own: WalletJwt| own.header("jwk", Value::Null).header("kid", "1");
    for (attested, issuer, status) in [(false, PLAIN, 200), (true, ATTESTED, 401)] {
        let client = client(&desk, issuer, issuer, by_kid, |pop| pop);
        assert_eq!(redeem(&desk, &offer(&desk, attested), &client, &[]).status, status, "{issuer}");
    }
}

#[test]
fn one_proof_with_an_attestation_of_ten_keys_gives_ten_credentials() {
    let desk = Desk::new();
    let keys: Vec<SigningKey> = (0..10).map(|n| key(&n.to_string())).collect();
    let attestation =
        WalletJwt::key_attestation(&provider(), &keys, None, desk.now()).sign(&provider());
    for (names, change) in [("jwk", false), ("none", true)] {
        let token = redeem(&desk, &offer(&desk, true), &good(&desk, ATTESTED, names), &[])
            .text("access_token");
        let proof = WalletJwt::proof(&keys[0], ATTESTED, &nonce(&desk), desk.now());
        let proof = proof.header("key_attestation", &*attestation);
        let proof = if change { proof.header("jwk", Value::Null) } else { proof };
        let reply = credential(&desk, &token, "jwt", &[proof.sign(&keys[0])]);
        let all = reply.body["credentials"].as_array().unwrap_or_else(|| panic!("{reply:?}"));
        assert_eq!(all.len(), 10, "{names}");
        for (one, own) in all.iter().zip(&keys) {
            let text = one["credential"].as_str().unwrap();
            assert!(idgate_testkit::openid4vci::is_bound_to(text, own), "{names}");
        }
    }
}

#[test]
fn a_proof_of_type_attestation_needs_a_live_nonce_and_no_signature_of_the_keys() {
    let desk = Desk::new();
    let (token, keys) = (token(&desk), [key("a"), key("b")]);
    let of = |nonce: Option<&str>| {
        WalletJwt::key_attestation(&provider(), &keys, nonce, desk.now()).sign(&provider())
    };
    let reply = credential(&desk, &token, "attestation", &[of(None)]);
    assert_eq!(reply.outcome(), (400, "invalid_proof"));
    let reply = credential(&desk, &token, "attestation", &[of(Some("invented"))]);
    assert_eq!(reply.outcome(), (400, "invalid_nonce"));
    let two = [of(Some(&nonce(&desk))), of(Some(&nonce(&desk)))];
    let reply = credential(&desk, &token, "attestation", &two);
    assert_eq!(reply.outcome(), (400, "invalid_proof"), "there is exactly one");
    let reply = credential(&desk, &token, "attestation", &[of(Some(&nonce(&desk)))]);
    assert_eq!(reply.body["credentials"].as_array().map(Vec::len), Some(2), "{reply:?}");
}

#[test]
fn the_nonce_of_a_key_attestation_is_used_up_with_that_of_its_proof() {
    let desk = Desk::new();
    let (own, of_attestation) = (key("holder"), nonce(&desk));
    let keys = std::slice::from_ref(&own);
    let attestation =
        WalletJwt::key_attestation(&provider(), keys, Some(&of_attestation), desk.now());
    let attestation = attestation.sign(&provider());
    let mut outcomes = Vec::new();
    for client in ["first", "second"] {
        let redeemed = redeem(&desk, &offer(&desk, true), &good(&desk, ATTESTED, client), &[]);
        let proof = WalletJwt::proof(&own, ATTESTED, &nonce(&desk), desk.now());
        let proof = proof.header("key_attestation", &*attestation).sign(&own);
        let reply = credential(&desk, &redeemed.text("access_token"), "jwt", &[proof]);
        outcomes.push(reply.status);
    }
    assert_eq!(outcomes, [200, 400]);
}

#[test]
fn a_key_attestation_that_breaks_a_rule_is_invalid_proof() {
    let desk = Desk::new();
    let (token, own) = (token(&desk), key("holder"));
    let good =
        || WalletJwt::key_attestation(&provider(), std::slice::from_ref(&own), None, desk.now());
    let seconds = desk.now() / 1000;
    let root = Identity::issuer_root(Curve::P256, SAMPLE_NOW_MS);
    let self_signed = jws::x5c(&[&root.der]);
    let proof = |attestation: Option<String>| {
        let proof = WalletJwt::proof(&own, ATTESTED, &nonce(&desk), desk.now());
        let proof = proof.header("key_attestation", attestation.map_or(Value::Null, Value::from));
        proof.sign(&own)
    };
    let many: Vec<SigningKey> = (0..11).map(|n| key(&n.to_string())).collect();
    let many = WalletJwt::key_attestation(&provider(), &many, None, desk.now());
    for (rule, attestation) in [
        ("another type", good().header("typ", "jwt")),
        ("another signer", good().header("jwk", key("other").public_jwk())),
        ("no key", good().header("jwk", Value::Null)),
        ("no iat", good().claim("iat", Value::Null)),
        ("no exp", good().claim("exp", Value::Null)),
        ("over", good().claim("exp", seconds - 1)),
        ("no keys", good().claim("attested_keys", json!([]))),
        ("other keys", good().claim("attested_keys", json!([key("other").public_jwk()]))),
        ("more keys than a batch", many),
    ] {
        let reply = credential(&desk, &token, "jwt", &[proof(Some(attestation.sign(&provider())))]);
        assert_eq!(reply.outcome(), (400, "invalid_proof"), "{rule}: {reply:?}");
    }
    let by_root = good().header("jwk", Value::Null).header("x5c", self_signed).sign(&root.key);
    let reply = credential(&desk, &token, "jwt", &[proof(Some(by_root))]);
    assert_eq!(reply.outcome(), (400, "invalid_proof"), "a certificate that signed itself");
    let reply = credential(&desk, &token, "jwt", &[proof(None)]);
    assert_eq!(reply.outcome(), (400, "invalid_proof"), "none");
    let leaf = root.issuer_of_sd_jwts(&provider(), SAMPLE_NOW_MS);
    let no_certificate = b"x".to_vec();
    for (rule, chain) in [
        ("an anchor in the chain", jws::x5c(&[&leaf.der, &root.der])),
        ("an entry that is not a certificate", jws::x5c(&[&leaf.der, &no_certificate])),
    ] {
        let attestation = good().header("jwk", Value::Null).header("x5c", chain);
        let proof = proof(Some(attestation.sign(&provider())));
        let reply = credential(&desk, &token, "jwt", &[proof]);
        assert_eq!(reply.outcome(), (400, "invalid_proof"), "{rule}");
    }
    let by_leaf = good().header("jwk", Value::Null).header("x5c", jws::x5c(&[&leaf.der]));
    let reply = credential(&desk, &token, "jwt", &[proof(Some(by_leaf.sign(&provider())))]);
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[test]
fn the_drafts_type_of_key_attestations_is_accepted_too() {
    let desk = Desk::new();
    let own = key("holder");
    let attestation = WalletJwt::key_attestation(
        &provider(),
        std::slice::from_ref(&own),
        Some(&nonce(&desk)),
        desk.now(),
    );
    let attestation = attestation.header("typ", "keyattestation+jwt").sign(&provider());
    assert_eq!(credential(&desk, &token(&desk), "attestation", &[attestation]).status, 200);
}
