//! The issuer's key from `x5c` (HAIP 6.1.1): certificates, and the operator's trust in them.

use idgate_testkit::codec::base64url;
use idgate_testkit::jws;
use idgate_testkit::keys::SigningKey;
use idgate_testkit::time::DAY_MS;
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};
use serde_json::{Value, json};

use super::signatures;
use crate::tamper::{Row, Scenario};

pub(super) fn rows() -> Vec<Row> {
    [good(), chains(), certificates(), headers(), ways()].concat()
}

fn good() -> Vec<Row> {
    vec![
        Row::verified("credential signed by a certificate under a trusted root", |s| {
            certified(s, |signer| signer);
        }),
        Row::verified("certificate's credential without iss", |s| {
            certified(s, |signer| signer);
            s.attest(|c| c.without("iss"));
        }),
        Row::verified("x5c that holds the anchor", |s| {
            let (root, signer) = certified(s, |signer| signer);
            s.attest(|c| c.x5c(&[signer, root.der]));
        }),
        Row::verified("x5c with an intermediate", |s| {
            let chain = over_an_intermediate(s);
            s.attest(|c| c.x5c(&chain));
        }),
    ]
}

fn chains() -> Vec<Row> {
    let row = |title, change| Row::refused(title, "chain_invalid", change);
    vec![
        row("x5c without its intermediate", |s| {
            let chain = over_an_intermediate(s);
            s.attest(|c| c.x5c(chain.get(..1).unwrap_or_default()));
        }),
        row("x5c that leads to another root", |s| {
            certified(s, |signer| signer);
            s.trust.sd_jwt_roots = vec![other_root(s).der];
        }),
        row("x5c that leads to an anchor in it", |s| {
            let (root, signer) = certified(s, |signer| signer);
            s.trust.sd_jwt_roots = vec![other_root(s).der];
            s.attest(|c| c.x5c(&[signer, root.der]));
        }),
        row("x5c with a self-signed certificate", |s| {
            certified(s, |signer| signer);
            let name = Name::new("UT", "Itself");
            let own = CertificateBuilder::new(name.clone(), name, &s.issuer_key, s.now_ms, 365);
            let own = own.sign(&s.issuer_key);
            s.attest(|c| c.x5c(&[own]));
        }),
        row("x5c signed by a key of the root's name", |s| {
            let (_, signer) = certified(s, |signer| signer);
            let mut other = Identity::issuer_root(s.issuer_key.curve(), s.now_ms);
            other.key = signatures::stranger(&s.issuer_key);
            let forged = other.issuer_of_sd_jwts(&s.issuer_key, s.now_ms).der;
            assert_ne!(signer, forged);
            s.attest(|c| c.x5c(&[forged]));
        }),
    ]
}

fn certificates() -> Vec<Row> {
    vec![
        Row::refused("expired certificate in x5c", "certificate_expired", |s| {
            let end = s.now_ms - DAY_MS;
            certified(s, |signer| signer.with(|own| own.not_after_ms = end));
        }),
        Row::refused("certificate in x5c that is not valid yet", "certificate_expired", |s| {
            let begin = s.now_ms + DAY_MS;
            certified(s, |signer| signer.with(|own| own.not_before_ms = begin));
        }),
        Row::refused("certificate in x5c that is not for signatures", "chain_invalid", |s| {
            certified(s, |own| own.set(x509::KEY_USAGE, true, x509::key_usage(0b0000_1000)));
        }),
        Row::refused(
            "certificate in x5c with an unknown critical extension",
            "chain_invalid",
            |s| {
                certified(s, |own| own.set("1.2.3.4.5", true, vec![5, 0]));
            },
        ),
        Row::refused("bytes in x5c that are not a certificate", "chain_invalid", |s| {
            certified(s, |signer| signer);
            s.attest(|c| c.x5c(&[b"no certificate"]));
        }),
    ]
}

fn headers() -> Vec<Row> {
    let row = |title, change| Row::refused(title, "malformed_presentation", change);
    vec![
        row("x5c in base64url", |s| {
            let (_, signer) = certified(s, |signer| signer);
            // Whatever its length and bits, it has a character that only base64url has.
            let text = [base64url(&signer), "-_".into()].concat();
            s.attest(|c| c.header("x5c", json!([text])));
        }),
        row("x5c as text", |s| {
            let (_, signer) = certified(s, |signer| signer);
            let text = jws::x5c(&[signer]).get(0).cloned().unwrap_or_default();
            s.attest(|c| c.header("x5c", text));
        }),
        row("x5c without certificates", |s| {
            certified(s, |signer| signer);
            s.attest(|c| c.header("x5c", json!([])));
        }),
        row("x5c null", |s| {
            certified(s, |signer| signer);
            s.attest(|c| c.header("x5c", Value::Null));
        }),
        Row::refused("x5c with eleven certificates", "limit_exceeded", |s| {
            let (_, signer) = certified(s, |signer| signer);
            s.attest(|c| c.x5c(&vec![signer; 11]));
        }),
    ]
}

/// Which way is used, and that no other is tried.
fn ways() -> Vec<Row> {
    vec![
        Row::refused("certificate's key did not sign", "issuer_signature_invalid", |s| {
            certified(s, |signer| signer);
            s.issuer_key = signatures::stranger(&s.issuer_key);
        }),
        Row::refused("signed by the key in jwk, next to x5c", "issuer_signature_invalid", |s| {
            certified(s, |signer| signer);
            s.issuer_key = signatures::stranger(&s.issuer_key);
            let jwk = s.issuer_key.public_jwk();
            s.attest(|c| c.header("jwk", jwk));
        }),
        Row::refused("alg that does not fit the certificate", "algorithm_not_allowed", |s| {
            certified(s, |signer| signer);
            let alg = signatures::other_alg(&s.issuer_key);
            s.attest(|c| c.header("alg", alg));
        }),
        Row::refused("no x5c where only roots are trusted", "untrusted_issuer", |s| {
            let good = s.credential.clone();
            certified(s, |signer| signer);
            s.credential = good;
        }),
        Row::refused("a trusted key with certificates of another root", "chain_invalid", |s| {
            let keys = s.trust.keys.clone();
            certified(s, |signer| signer);
            s.trust.keys = keys;
            s.trust.sd_jwt_roots = vec![other_root(s).der];
        }),
        Row::refused("certificate's credential of another iss", "untrusted_issuer", |s| {
            certified(s, |signer| signer);
            s.attest(|c| c.plain("iss", "https://other.example"));
        }),
        Row::verified("x5c where only keys are trusted", |s| {
            let (keys, (_, signer)) = (s.trust.keys.clone(), certified(s, |signer| signer));
            s.trust.keys = keys;
            s.trust.sd_jwt_roots.clear();
            s.attest(|c| c.x5c(&[signer]));
        }),
    ]
}

/// The issuer's key has a certificate below a trusted root, and is not trusted itself.
fn certified(
    s: &mut Scenario,
    change: impl FnOnce(CertificateBuilder) -> CertificateBuilder,
) -> (Identity, Vec<u8>) {
    let root = Identity::issuer_root(s.issuer_key.curve(), s.now_ms);
    let signer = root.issuer_of_sd_jwts(&s.issuer_key, s.now_ms).builder;
    let signer = change(signer).sign(&root.key);
    s.trust.keys.clear();
    s.trust.sd_jwt_roots = vec![root.der.clone()];
    s.attest(|c| c.x5c(&[&signer]));
    (root, signer)
}

fn over_an_intermediate(s: &mut Scenario) -> [Vec<u8>; 2] {
    let (root, _) = certified(s, |signer| signer);
    let key = SigningKey::from_seed(s.issuer_key.curve(), "intermediate");
    let ca = CertificateBuilder::issuer_root(Name::new("UT", "CA"), &key, s.now_ms).under(&root);
    let ca = ca.issue(&root, &key);
    [ca.issuer_of_sd_jwts(&s.issuer_key, s.now_ms).der, ca.der]
}

fn other_root(s: &Scenario) -> Identity {
    let key = signatures::stranger(&s.issuer_key);
    let name = Name::new("UT", "Utopia issuers");
    CertificateBuilder::issuer_root(name, &key, s.now_ms).self_sign(&key)
}
