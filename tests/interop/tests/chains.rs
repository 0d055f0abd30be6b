//! certval and idgate on the same certificate paths and CRLs: chains in the profile of ISO/IEC 18013-5
//! and broken ones, and the cases of x509-limbo. Where the two disagree, the row or
//! `chain_divergences.json` says why. An unlisted difference fails, and so does a listed one that
//! disappeared.

use std::collections::BTreeMap;

use idgate_interop::chain_peer::Question;
use idgate_testkit::codec::HashAlg;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::limbo;
use idgate_testkit::status::Crl;
use idgate_testkit::time::{DAY_MS, SAMPLE_NOW_MS as NOW, compact_utc};
use idgate_testkit::x509::{
    BASIC_CONSTRAINTS, CertificateBuilder, Identity, KEY_USAGE, Name, basic_constraints,
    key_identifier, key_usage,
};

/// nameConstraints
const NAME_CONSTRAINTS: &str = "2.5.29.30";
/// Not registered.
const PRIVATE_EXTENSION: &str = "1.3.6.1.4.1.55555.1";

fn root() -> Identity {
    Identity::iaca(Curve::P256, NOW)
}

fn signer() -> CertificateBuilder {
    CertificateBuilder::document_signer(&root(), Name::new("UT", "Signer"), &key("signer"), NOW)
}

fn key(seed: &str) -> SigningKey {
    SigningKey::from_seed(Curve::P256, seed)
}

/// `leaf` under the sample root.
fn under_root(leaf: &CertificateBuilder) -> Question {
    let root = root();
    Question {
        leaf: leaf.sign(&root.key),
        roots: vec![root.der],
        now_ms: NOW,
        ..Question::default()
    }
}

/// A signer under an intermediate that `changed` edits, under a root without pathLen.
fn over(changed: impl FnOnce(CertificateBuilder) -> CertificateBuilder) -> Question {
    let root = root().builder.set(BASIC_CONSTRAINTS, true, basic_constraints(true, None));
    let root = root.self_sign(&SigningKey::from_seed(Curve::P256, "idgate sample IACA"));
    let ca = key("intermediate");
    let name = Name::new("UT", "Intermediate");
    let ca = changed(CertificateBuilder::intermediate(&root, name, &ca, NOW)).issue(&root, &ca);
    let leaf = CertificateBuilder::document_signer(&ca, Name::new("UT", "S"), &key("s"), NOW);
    Question {
        leaf: leaf.sign(&ca.key),
        intermediates: vec![ca.der],
        roots: vec![root.der],
        now_ms: NOW,
        ..Question::default()
    }
}

/// The signer under the root, with a CRL of `issuer`'s name and key.
fn with_crl(from_ms: u64, until_ms: u64, revoked: &[u8], signing: &SigningKey) -> Question {
    let root = root();
    let (this, next) = (compact_utc(from_ms), compact_utc(until_ms));
    let crl = Crl::new(&root.builder.subject.der(), &key_identifier(&root.key), &this, &next);
    let crl = if revoked.is_empty() { crl } else { crl.revoke(revoked) };
    Question { crls: vec![crl.sign(signing)], ..under_root(&signer()) }
}

#[track_caller]
fn both(question: &Question, accept: bool) {
    let verdicts = (question.idgate_accepts(), question.certval_accepts());
    assert_eq!(verdicts, (accept, accept), "idgate, certval");
}

#[track_caller]
fn only_certval_accepts(question: &Question) {
    assert_eq!((question.idgate_accepts(), question.certval_accepts()), (false, true));
}

#[test]
fn signers_on_every_curve_are_accepted() {
    for root_curve in Curve::ALL {
        for curve in Curve::ALL {
            let root = Identity::iaca(root_curve, NOW);
            let leaf = root.document_signer(curve, NOW).der;
            let roots = vec![root.der];
            both(&Question { leaf, roots, now_ms: NOW, ..Question::default() }, true);
        }
    }
}

#[test]
fn a_hash_of_another_size_than_the_curve_is_accepted() {
    for hash in [HashAlg::Sha256, HashAlg::Sha384, HashAlg::Sha512] {
        both(&under_root(&signer().with(|leaf| leaf.hash = Some(hash))), true);
    }
}

#[test]
fn another_key_or_name_than_the_roots_is_refused() {
    let forged = Question { leaf: signer().sign(&key("other")), ..under_root(&signer()) };
    both(&forged, false);
    let renamed = signer().with(|leaf| leaf.issuer = Name::new("UT", "Another"));
    both(&under_root(&renamed), false);
    both(&Question { roots: Vec::new(), ..under_root(&signer()) }, false);
}

#[test]
fn one_changed_bit_anywhere_is_refused() {
    let good = under_root(&signer());
    for at in (0..good.leaf.len()).step_by(7) {
        let mut changed = good.clone();
        changed.leaf[at] ^= 1;
        both(&changed, false);
    }
}

#[test]
fn validity_is_compared_to_the_second() {
    let good = under_root(&signer());
    let (first, last) = (signer().not_before_ms, signer().not_after_ms);
    for (now_ms, accept) in
        [(first, true), (first - 1000, false), (last, true), (last + 1000, false)]
    {
        both(&Question { now_ms, ..good.clone() }, accept);
    }
    let old = root().builder.with(|root| root.not_after_ms = NOW - DAY_MS / 2);
    both(&Question { roots: vec![old.sign(&root().key)], ..good }, false);
}

#[test]
fn an_intermediate_is_a_ca_within_path_len() {
    let path_len =
        |path_len| over(|ca| ca.set(BASIC_CONSTRAINTS, true, basic_constraints(true, path_len)));
    both(&path_len(Some(0)), true);
    both(&path_len(None), true);
    both(&over(|ca| ca.set(BASIC_CONSTRAINTS, true, basic_constraints(false, None))), false);
    both(&over(|ca| ca.without(BASIC_CONSTRAINTS)), false);
    both(&over(|ca| ca.set(KEY_USAGE, true, key_usage(0x80))), false);
    both(&over(|ca| ca.with(|ca| ca.not_after_ms = NOW - 1000)), false);
    both(&Question { intermediates: Vec::new(), ..path_len(None) }, false);
}

#[test]
fn an_unknown_critical_extension_is_refused_in_every_certificate() {
    let value = vec![5, 0];
    for critical in [false, true] {
        let leaf = signer().set(PRIVATE_EXTENSION, critical, value.clone());
        both(&under_root(&leaf), !critical);
        both(&over(|ca| ca.set(PRIVATE_EXTENSION, critical, value.clone())), !critical);
    }
}

/// The root inside the chain, its next generation, and its link certificate.
#[test]
fn a_root_in_the_chain_is_not_trusted_and_a_link_certificate_is_followed() {
    let (next, link) = root().rolled_over("next", NOW);
    let leaf = CertificateBuilder::document_signer(&next, Name::new("UT", "S"), &key("s"), NOW);
    let sent = Question {
        leaf: leaf.sign(&next.key),
        intermediates: vec![next.der.clone()],
        roots: vec![root().der],
        now_ms: NOW,
        ..Question::default()
    };
    both(&sent, false);
    both(&Question { intermediates: vec![link.der.clone()], ..sent.clone() }, true);
    both(&Question { roots: vec![root().der, next.der], ..sent.clone() }, true);
    both(&Question { roots: vec![link.der], ..sent }, true);
}

#[test]
fn a_crl_of_the_root_decides() {
    // An INTEGER: positive, even if its first bit is set.
    let (root, serial) = (root().key, [&[0], &signer().serial[..]].concat());
    let day = |revoked| with_crl(NOW - DAY_MS, NOW + DAY_MS, revoked, &root);
    both(&day(&[]), true);
    both(&day(&[7]), true);
    both(&day(&serial), false);
    both(&with_crl(NOW - 2 * DAY_MS, NOW - DAY_MS, &[], &root), false);
    both(&with_crl(NOW + DAY_MS, NOW + 2 * DAY_MS, &[], &root), false);
    both(&with_crl(NOW - DAY_MS, NOW + DAY_MS, &[], &key("other")), false);
}

/// ISO/IEC 18013-5 Annex B forbids nameConstraints: certificates that satisfy them are refused too.
#[test]
fn only_idgate_refuses_name_constraints() {
    let permitted = {
        use idgate_testkit::der::{sequence, tlv};
        let name = tlv(0xa4, &[&Name::new("UT", "S").der()]);
        sequence(&[&tlv(0xa0, &[&sequence(&[&name])])])
    };
    only_certval_accepts(&over(|ca| ca.set(NAME_CONSTRAINTS, true, permitted)));
}

#[test]
fn x509_limbo() {
    let Some(cases) = limbo::cases() else {
        eprintln!("skipped: no x509-limbo under IDGATE_VECTORS");
        return;
    };
    let mut divergences = divergences();
    let mut wrong = Vec::new();
    for case in &cases.unwrap() {
        if matches!(case.group(), "webpki" | "online") {
            continue;
        }
        let question = Question::of(case, NOW);
        let (own, peer) = (question.idgate_accepts(), question.certval_accepts());
        match (own == peer, divergences.remove(&case.id)) {
            (true, None) => {}
            (true, Some(_)) => wrong.push(format!("{}: listed, and no divergence", case.id)),
            (false, Some(idgate)) if idgate == own => {}
            (false, _) => wrong.push(format!("{}: idgate {own}, certval {peer}", case.id)),
        }
    }
    wrong.extend(divergences.into_keys().map(|id| format!("{id}: listed, and no such case")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether idgate accepts, by id.
fn divergences() -> BTreeMap<String, bool> {
    let listed: serde_json::Value =
        serde_json::from_str(include_str!("chain_divergences.json")).unwrap();
    let divergence = |entry: &serde_json::Value| {
        assert!(entry["reason"].as_str().unwrap().len() > 20, "{entry}");
        (entry["id"].as_str().unwrap().to_owned(), entry["idgate"] == "accepts")
    };
    listed.as_array().unwrap().iter().map(divergence).collect()
}
