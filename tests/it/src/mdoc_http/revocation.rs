//! Revocation of mdocs: CRLs that the operator gives, CRLs and status lists that are fetched.

use idgate_testkit::mdoc::Cbor;
use idgate_testkit::status::{Crl, StatusCwt, StatusList};
use idgate_testkit::time::{DAY_MS, compact_utc, numeric_date};
use idgate_testkit::x509::{
    CRL_DISTRIBUTION_POINTS, Identity, distribution_points, key_identifier,
};

use serde_json::json;

use super::desk::{Desk, add_root};
use super::host::Host;
use crate::mdoc_tamper::{Authority, ISSUER_ID, Scenario, VERIFIED, mdl_request};
use crate::server::Installation;
use crate::tenant::now_ms;

pub(super) const CRL: &str = "application/pkix-crl";
pub(super) const CWT: &str = "application/statuslist+cwt";
pub(super) const SERIAL: [u8; 3] = [0x10, 0x20, 0x30];

/// A CRL of the sample root, made a day ago and good for `days` from then.
pub(super) fn crl(authority: &Authority, days: u64, revoked: &[&[u8]]) -> Vec<u8> {
    let root = &authority.root;
    let made = now_ms() - DAY_MS + 3_600_000;
    let (issuer, identifier) = (root.builder.subject.der(), key_identifier(&root.key));
    let next = compact_utc(made + days * DAY_MS - 7_200_000);
    let empty = Crl::new(&issuer, &identifier, &compact_utc(made), &next);
    revoked.iter().fold(empty, |crl, serial| crl.revoke(serial)).sign(&root.key)
}

#[test]
fn a_crl_that_the_operator_gives_replaces_the_fetch() {
    for (revoked, days, expected) in [
        (&[][..], 8, VERIFIED),
        (&[&[0x77][..]][..], 8, VERIFIED),
        (&[&SERIAL[..]][..], 8, "certificate_revoked"),
        (&[][..], 1, "revocation_unknown"),
        (&[&SERIAL[..]][..], 1, "revocation_unknown"),
    ] {
        let installation = Installation::new();
        let client = installation.create_client("shop", false);
        let mut authority = Authority::new(now_ms());
        authority.certify(|c| c.with(|c| c.serial = SERIAL.to_vec()));
        let file = installation.file("iaca.crl", crl(&authority, days, revoked));
        add_root(&installation, &authority, &["--crl", file.to_str().unwrap()]);
        let mut desk = Desk::serve(installation, client, authority);
        let created = desk.tenant.create(&mdl_request());
        let body = desk.scenario(&created).body();
        assert_eq!(desk.settle(&created, &body), expected);
        if expected == VERIFIED {
            let session = desk.tenant.read(&created.id);
            let credential = &session["verification_details"]["credentials"][0];
            assert_eq!(credential["revocation"], "signer_good", "{session}");
            let details = json!({ "credential": "not_published", "signer": "good" });
            assert_eq!(credential["revocation_details"], details);
        }
    }
}

/// Whoever gives CRLs renews them: one that is out of date is not replaced by a fetch.
#[test]
fn an_expired_crl_of_the_operator_is_unknown_and_nothing_is_fetched() {
    let mut desk = fetching(true);
    let host = Host::start();
    let uri = host.put("/crl", CRL, crl(&desk.authority, 8, &[]));
    let expired = crl(&desk.authority, 1, &[]);
    let file = desk.gateway.installation.file("iaca.crl", expired);
    let add = ["trust", "add", ISSUER_ID, "--crl", file.to_str().unwrap()];
    assert_eq!(desk.gateway.installation.run(&add).code, 0);
    assert_eq!(desk.outcome_of(|s| with_crl_at(s, &uri)), "revocation_unknown");
    assert_eq!(host.asked("/crl"), 0);
    let renewed = crl(&desk.authority, 8, &[]);
    desk.gateway.installation.file("iaca.crl", renewed);
    assert_eq!(desk.gateway.installation.run(&add).code, 0);
    assert_eq!(desk.outcome_of(|s| with_crl_at(s, &uri)), VERIFIED);
}

/// The signer is known from the first answer on, and its revocation is still asked.
#[test]
fn a_known_signer_is_refused_once_it_is_revoked() {
    let mut desk = fetching(true);
    let host = Host::start();
    let uri = host.uri("/crl");
    assert_eq!(desk.outcome_of(|s| with_crl_at(s, &uri)), "revocation_unknown");
    host.put("/crl", CRL, crl(&desk.authority, 8, &[&SERIAL]));
    assert_eq!(desk.outcome_of(|s| with_crl_at(s, &uri)), "certificate_revoked");
}

#[test]
fn a_signer_without_a_distribution_point_publishes_nothing() {
    for (policy, expected) in
        [("if_published", VERIFIED), ("required", "revocation_unknown"), ("off", VERIFIED)]
    {
        let mut desk = Desk::start(Installation::new(), true, &["--revocation", policy]);
        let outcome = desk.outcome_of(|s| s.certify(|c| c.without(CRL_DISTRIBUTION_POINTS)));
        assert_eq!(outcome, expected, "{policy}");
    }
}

/// A server that may fetch from loopback.
pub(super) fn fetching(host_allowed: bool) -> Desk {
    let installation = Installation::new();
    let installation = match host_allowed {
        true => installation.with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8"),
        false => installation,
    };
    Desk::start(installation, true, &[])
}

/// The answer names this CRL and no status list.
fn with_crl_at(scenario: &mut Scenario, uri: &str) {
    let points = distribution_points(&[uri]);
    scenario.certify(|c| {
        c.set(CRL_DISTRIBUTION_POINTS, false, points).with(|c| c.serial = SERIAL.to_vec())
    });
}

#[test]
fn the_signers_crl_is_fetched_and_decides() {
    let mut desk = fetching(true);
    let host = Host::start();
    let authority = desk.authority.clone();
    let stranger = {
        let mut other = authority.clone();
        other.root.key = authority.signer.key.clone();
        other
    };
    let damaged = {
        let mut der = crl(&authority, 8, &[]);
        let last = der.len() - 1;
        der[last] ^= 1;
        der
    };
    for (path, content, expected) in [
        ("/good", crl(&authority, 8, &[]), VERIFIED),
        ("/others", crl(&authority, 8, &[&[0x77]]), VERIFIED),
        ("/revoked", crl(&authority, 8, &[&SERIAL]), "certificate_revoked"),
        ("/expired", crl(&authority, 1, &[]), "revocation_unknown"),
        ("/damaged", damaged, "revocation_unknown"),
        ("/stranger", crl(&stranger, 8, &[]), "revocation_unknown"),
        ("/no-crl", b"<html>".to_vec(), "revocation_unknown"),
    ] {
        let uri = host.put(path, CRL, content);
        assert_eq!(desk.outcome_of(|s| with_crl_at(s, &uri)), expected, "{path}");
        assert_eq!(host.asked(path), 1, "{path}");
    }
    let missing = host.uri("/missing");
    assert_eq!(desk.outcome_of(|s| with_crl_at(s, &missing)), "revocation_unknown");
}

#[test]
fn a_good_crl_is_fetched_once() {
    let mut desk = fetching(true);
    let host = Host::start();
    let uri = host.put("/crl", CRL, crl(&desk.authority, 8, &[]));
    for _ in 0..3 {
        assert_eq!(desk.outcome_of(|s| with_crl_at(s, &uri)), VERIFIED);
    }
    assert_eq!(host.asked("/crl"), 1);
}

#[test]
fn nothing_is_fetched_for_a_credential_that_fails_anything_else() {
    let mut desk = fetching(true);
    let host = Host::start();
    let uri = host.put("/crl", CRL, crl(&desk.authority, 8, &[]));
    let outcome = desk.outcome_of(|s| {
        with_crl_at(s, &uri);
        s.transcript = vec![0xf6];
    });
    assert_eq!((outcome.as_str(), host.asked("/crl")), ("device_auth_invalid", 0));
}

#[test]
fn loopback_is_not_asked_unless_the_operator_allows_it() {
    let mut desk = fetching(false);
    let host = Host::start();
    let uri = host.put("/crl", CRL, crl(&desk.authority, 8, &[]));
    assert_eq!(desk.outcome_of(|s| with_crl_at(s, &uri)), "revocation_unknown");
    assert_eq!(host.asked("/crl"), 0);
}

/// The signer, with a certificate that names no CRL.
pub(super) fn silent(authority: &Authority) -> Identity {
    let mut authority = authority.clone();
    authority.certify(|c| c.without(CRL_DISTRIBUTION_POINTS));
    authority.signer
}

/// The answer names place `idx` of the status list at `uri`, and its signer no CRL.
pub(super) fn with_status_at(scenario: &mut Scenario, uri: &str, idx: i64) {
    scenario.certify(|c| c.without(CRL_DISTRIBUTION_POINTS));
    let list = Cbor::map([("idx", idx.into()), ("uri", uri.into())]);
    scenario.issued().mso.set("status", Cbor::map([("status_list", list)]));
}

#[test]
fn the_status_list_is_fetched_and_decides() {
    let mut desk = fetching(true);
    let host = Host::start();
    let list = StatusList::new(2, 64).with(3, 1).with(4, 2).with(5, 3);
    let uri = host.uri("/list");
    let (signer, iat) = (silent(&desk.authority), numeric_date(now_ms()));
    let token = StatusCwt::new(&list, &uri, iat, &[&signer.der]).sign(&signer.key);
    host.put("/list", CWT, token);
    for (idx, expected) in [
        (0, VERIFIED),
        (3, "credential_revoked"),
        (4, "credential_suspended"),
        (5, "credential_revoked"),
        (63, VERIFIED),
        (64, "revocation_unknown"),
    ] {
        assert_eq!(desk.outcome_of(|s| with_status_at(s, &uri, idx)), expected, "{idx}");
    }
    assert_eq!(host.asked("/list"), 1);
}

#[test]
fn a_status_list_counts_only_from_a_signer_of_the_root_and_for_its_own_place() {
    let mut desk = fetching(true);
    let host = Host::start();
    let list = StatusList::new(1, 64);
    let signer = silent(&desk.authority);
    let iat = numeric_date(now_ms());
    let stranger = {
        let mut other = Authority::new(now_ms());
        other.root.key = signer.key.clone();
        other.certify(|c| c);
        other.signer
    };
    let token = |path: &str| StatusCwt::new(&list, &host.uri(path), iat, &[&signer.der]);
    for (path, content) in [
        ("/wrong-key", token("/wrong-key").sign(&desk.authority.root.key)),
        ("/elsewhere", token("/another").sign(&signer.key)),
        (
            "/wrong-signer",
            StatusCwt::new(&list, &host.uri("/wrong-signer"), iat, &[&stranger.der])
                .sign(&stranger.key),
        ),
        ("/expired", {
            let past = i64::try_from(iat).unwrap() - 3600;
            token("/expired").with(4, StatusCwt::integer(past)).sign(&signer.key)
        }),
        ("/no-token", b"{}".to_vec()),
    ] {
        let uri = host.put(path, CWT, content);
        let outcome = desk.outcome_of(|s| with_status_at(s, &uri, 0));
        assert_eq!(outcome, "revocation_unknown", "{path}");
        assert_eq!(host.asked(path), 1, "{path}");
    }
}

#[test]
fn a_status_of_no_known_mechanism_is_unknown() {
    let mut desk = fetching(true);
    let outcome = desk.outcome_of(|s| {
        s.certify(|c| c.without(CRL_DISTRIBUTION_POINTS));
        s.issued().mso.set("status", Cbor::map([("oracle", "https://status.example".into())]));
    });
    assert_eq!(outcome, "revocation_unknown");
    let off = ["trust", "add", ISSUER_ID, "--revocation", "off"];
    assert_eq!(desk.gateway.installation.run(&off).code, 0);
    let outcome = desk.outcome_of(|s| {
        s.issued().mso.set("status", Cbor::map([("oracle", "https://status.example".into())]));
    });
    assert_eq!(outcome, VERIFIED);
}
