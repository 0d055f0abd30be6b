//! Live sessions apply the profile strictly. In staging and production they reject test material
//! and pinned signers (decisions 3, 7).

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::Cbor;
use idgate_testkit::x509::{
    BASIC_CONSTRAINTS, CRL_DISTRIBUTION_POINTS, CertificateBuilder, ISSUER_ALT_NAME, Name,
    basic_constraints,
};

use super::desk::{Desk, add_root};
use crate::mdoc_tamper::{Authority, ISSUER_ID, Row, Scenario, VERIFIED, mdl_request};
use crate::server::Installation;
use crate::tenant::now_ms;

/// Deviations that test-mode sessions tolerate, and the reason why live sessions reject them.
const TOLERATED: &[Row] = &[
    Row::refused("no issuerAltName", "chain_invalid", |s| {
        s.certify(|c| c.without(ISSUER_ALT_NAME))
    }),
    Row::refused("no CRL distribution point", "chain_invalid", |s| {
        s.certify(|c| c.without(CRL_DISTRIBUTION_POINTS));
    }),
];

#[test]
fn test_sessions_accept_issuers_that_live_sessions_reject() {
    for test in [true, false] {
        let mut desk = Desk::start(Installation::new(), test, &["--revocation", "off"]);
        for Row { title, change, expected, .. } in TOLERATED {
            let expected = expected.reason().filter(|_| !test).unwrap_or(VERIFIED);
            assert_eq!(desk.outcome_of(*change), expected, "{title} (test: {test})");
        }
    }
}

/// If the root's pathLenConstraint allows it (RFC 5280 4.2.1.9); ISO/IEC 18013-5 roots have 0.
#[test]
fn an_intermediate_serves_test_sessions_only() {
    for (path_len, test, expected) in [
        (None, true, VERIFIED),
        (Some(1), true, VERIFIED),
        (Some(0), true, "chain_invalid"),
        (None, false, "chain_invalid"),
    ] {
        let installation = Installation::new();
        let client = installation.create_client("shop", test);
        let mut authority = Authority::new(now_ms());
        let constraints = basic_constraints(true, path_len);
        let root = authority.root.builder.set(BASIC_CONSTRAINTS, true, constraints);
        authority.root = root.self_sign(&authority.root.key);
        add_root(&installation, &authority, &["--revocation", "off"]);
        let mut desk = Desk::serve(installation, client, authority);
        let outcome = desk.outcome_of(signed_below_an_intermediate);
        assert_eq!(outcome, expected, "test: {test}, pathLen: {path_len:?}");
    }
}

fn signed_below_an_intermediate(scenario: &mut Scenario) {
    let (root, now_ms) = (&scenario.authority.root, scenario.now_ms);
    let key = SigningKey::from_seed(Curve::P256, "intermediate");
    let name = Name::new("UT", "Utopia intermediate");
    let between = CertificateBuilder::intermediate(root, name, &key, now_ms).issue(root, &key);
    let signer = between.document_signer(Curve::P256, now_ms);
    let chain = [signer.der, between.der].map(Cbor::Bytes).to_vec();
    scenario.issued().unprotected.set(33, Cbor::Array(chain));
}

fn environment(name: &str) -> Installation {
    Installation::new().with("IDGATE_ENVIRONMENT", name)
}

#[test]
fn live_sessions_accept_roots_from_files_in_every_environment() {
    for name in ["development", "staging", "production"] {
        let mut desk = Desk::start(environment(name), false, &["--revocation", "off"]);
        assert_eq!(desk.outcome_of(|_| {}), VERIFIED, "{name}");
    }
}

#[test]
fn live_sessions_refuse_test_material() {
    for name in ["development", "staging", "production"] {
        let mut desk = Desk::start(environment(name), false, &["--revocation", "off", "--test"]);
        desk.tenant.post_session(&mdl_request()).expect_error(400, "unknown_issuer");
        let tester = desk.gateway.installation.create_client("tester", true);
        desk.tenant = desk.gateway.tenant_of(&tester);
        assert_eq!(desk.outcome_of(|_| {}), VERIFIED, "{name}");
    }
}

#[test]
fn live_sessions_refuse_pinned_signers_in_staging_and_production() {
    for (name, test, serves) in [
        ("development", false, true),
        ("staging", false, false),
        ("production", false, false),
        ("staging", true, true),
        ("production", true, true),
    ] {
        let installation = environment(name);
        let client = installation.create_client("shop", test);
        let authority = Authority::new(now_ms());
        let signer = installation.file("signer.der", &authority.signer.der);
        let signer = signer.to_str().unwrap();
        let add = ["trust", "add", ISSUER_ID, "--pinned-signer", signer, "--revocation", "off"];
        let added = installation.run(&add);
        assert_eq!(added.code, 0, "{added:?}");
        let mut desk = Desk::serve(installation, client, authority);
        if !serves {
            desk.tenant.post_session(&mdl_request()).expect_error(400, "unknown_issuer");
            continue;
        }
        let created = desk.tenant.create(&mdl_request());
        let body = desk.scenario(&created).body();
        assert_eq!(desk.settle(&created, &body), VERIFIED, "{name}, test: {test}");
        let session = desk.tenant.read(&created.id);
        let trust = &session["verification_details"]["credentials"][0]["trust"];
        assert_eq!(trust, "pinned_signer");
    }
}
