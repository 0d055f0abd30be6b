//! Revocation of mdocs by fetched CRLs and status lists.

use idgate_testkit::jws;
use idgate_testkit::mdoc::Cbor;
use idgate_testkit::status::{Crl, StatusCwt, StatusJwt, StatusList};
use idgate_testkit::time::{DAY_MS, compact_utc, numeric_date};
use idgate_testkit::x509::{
    CRL_DISTRIBUTION_POINTS, Identity, distribution_points, key_identifier,
};

use super::desk::Desk;
use super::host::Host;
use crate::mdoc_tamper::{Authority, Scenario, VERIFIED};
use crate::server::Installation;
use crate::tenant::now_ms;

pub(super) const CRL: &str = "application/pkix-crl";
const JWT: &str = "application/statuslist+jwt";
pub(super) const CWT: &str = "application/statuslist+cwt";
pub(super) const SERIAL: [u8; 3] = [0x10, 0x20, 0x30];

/// A CRL of the sample root, made a day ago and valid for `days` from then.
pub(super) fn crl(authority: &Authority, days: u64, revoked: &[&[u8]]) -> Vec<u8> {
    let root = &authority.root;
    let made = now_ms() - DAY_MS + 3_600_000;
    let (issuer, identifier) = (root.builder.subject.der(), key_identifier(&root.key));
    let next = compact_utc(made + days * DAY_MS - 7_200_000);
    let empty = Crl::new(&issuer, &identifier, &compact_utc(made), &next);
    revoked.iter().fold(empty, |crl, serial| crl.revoke(serial)).sign(&root.key)
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

/// Makes the answer name this CRL and no status list.
fn with_crl_at(scenario: &mut Scenario, uri: &str) {
    let points = distribution_points(&[uri]);
    scenario.certify(|c| {
        c.set(CRL_DISTRIBUTION_POINTS, false, points).with(|c| c.serial = SERIAL.to_vec())
    });
}

#[test]
fn the_document_signers_crl_is_fetched_and_decides() {
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
    // Nothing is fetched for a credential that fails another check.
    let uri = host.put("/untouched", CRL, crl(&authority, 8, &[]));
    let outcome = desk.outcome_of(|s| {
        with_crl_at(s, &uri);
        s.transcript = vec![0xf6];
    });
    assert_eq!((outcome.as_str(), host.asked("/untouched")), ("device_auth_invalid", 0));
}

#[test]
fn no_status_is_fetched_from_loopback_unless_the_operator_allows_it() {
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

/// Makes the answer name index `idx` of the status list at `uri`, and no CRL of its signer.
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

/// With everything that real hosts do: a redirect, the other form, compression, and a strict
/// `Accept`.
#[test]
fn a_status_list_is_fetched_across_a_redirect() {
    let mut desk = fetching(true);
    let (host, elsewhere) = (Host::start(), Host::start());
    elsewhere.be_particular();
    let list = StatusList::new(2, 64).with(3, 1);
    let (signer, iat) = (silent(&desk.authority), numeric_date(now_ms()));
    let uri = host.redirect("/list", &elsewhere.uri("/jwt"));
    let token = StatusJwt::new(&list, &uri, iat)
        .with_header("x5c", jws::x5c(std::slice::from_ref(&signer.der)));
    elsewhere.put("/jwt", JWT, token.sign(&signer.key).into_bytes());
    let of_cwt = host.redirect("/cwt", &elsewhere.uri("/cwt"));
    let token = StatusCwt::new(&list, &of_cwt, iat, &[&signer.der]).sign(&signer.key);
    elsewhere.put("/cwt", CWT, token);
    for uri in [&uri, &of_cwt] {
        for (idx, expected) in [(0, VERIFIED), (3, "credential_revoked")] {
            assert_eq!(desk.outcome_of(|s| with_status_at(s, uri, idx)), expected, "{uri} {idx}");
        }
    }
    // First as CWT, then as JWT.
    assert_eq!((host.asked("/list"), elsewhere.asked("/jwt")), (2, 2));
    assert_eq!((host.asked("/cwt"), elsewhere.asked("/cwt")), (1, 1));
    // The same for the CRL of a signer.
    let moved = host.redirect("/crl", &elsewhere.uri("/crl"));
    elsewhere.put("/crl", CRL, crl(&desk.authority, 8, &[&SERIAL]));
    assert_eq!(desk.outcome_of(|s| with_crl_at(s, &moved)), "certificate_revoked");
}

const IDENTIFIERS: &str = "application/identifierlist+cwt";

/// Makes the answer name an identifier in the list at `uri`, and no CRL of its signer.
fn with_identifier_at(scenario: &mut Scenario, uri: &str, identifier: &[u8]) {
    scenario.certify(|c| c.without(CRL_DISTRIBUTION_POINTS));
    scenario
        .issued()
        .mso
        .set("status", Cbor::map([("identifier_list", identifier_list(uri, identifier))]));
}

fn identifier_list(uri: &str, identifier: &[u8]) -> Cbor {
    Cbor::map([("id", Cbor::Bytes(identifier.to_vec())), ("uri", uri.into())])
}

/// ISO/IEC 18013-5 second edition 12.3.6.
#[test]
fn the_identifier_list_is_fetched_and_decides() {
    let mut desk = fetching(true);
    let host = Host::start();
    let (signer, iat) = (silent(&desk.authority), numeric_date(now_ms()));
    let put = |path: &str, change: fn(StatusCwt) -> StatusCwt| {
        let uri = host.uri(path);
        let list = StatusCwt::identifiers(&[b"revoked", b"other"], &uri, iat, &[&signer.der]);
        host.put(path, IDENTIFIERS, change(list).sign(&signer.key))
    };
    let uri = put("/identifiers", |list| list);
    for (identifier, expected) in [
        (&b"good"[..], VERIFIED),
        (b"revoked", "credential_revoked"),
        (b"other", "credential_revoked"),
    ] {
        assert_eq!(desk.outcome_of(|s| with_identifier_at(s, &uri, identifier)), expected);
    }
    assert_eq!(host.asked("/identifiers"), 1);
    let past = put("/expired", |list| list.with(4, StatusCwt::integer(1_000_000_000)));
    let elsewhere =
        put("/elsewhere", |list| list.with(2, StatusCwt::text("https://other.example")));
    let missing = host.uri("/missing");
    for uri in [past, elsewhere, missing] {
        let outcome = desk.outcome_of(|s| with_identifier_at(s, &uri, b"good"));
        assert_eq!(outcome, "revocation_unknown", "{uri}");
    }
}

#[test]
fn an_unavailable_status_list_is_not_replaced_by_an_identifier_list() {
    let mut desk = fetching(true);
    let host = Host::start();
    let (signer, iat) = (silent(&desk.authority), numeric_date(now_ms()));
    let identifiers = host.uri("/identifiers");
    let list = StatusCwt::identifiers(&[b"revoked"], &identifiers, iat, &[&signer.der]);
    host.put("/identifiers", IDENTIFIERS, list.sign(&signer.key));
    let statuses = host.uri("/list");
    let list = StatusCwt::new(&StatusList::new(1, 8), &statuses, iat, &[&signer.der]);
    host.put("/list", CWT, list.sign(&signer.key));
    let missing = host.uri("/missing");
    for (uri, identifier, expected) in
        [(&statuses, &b"revoked"[..], VERIFIED), (&missing, b"good", "revocation_unknown")]
    {
        let outcome = desk.outcome_of(|scenario| {
            scenario.certify(|c| c.without(CRL_DISTRIBUTION_POINTS));
            let list = Cbor::map([("idx", 0.into()), ("uri", uri.as_str().into())]);
            let both = [
                ("identifier_list", identifier_list(&identifiers, identifier)),
                ("status_list", list),
            ];
            scenario.issued().mso.set("status", Cbor::map(both));
        });
        assert_eq!(outcome, expected, "{uri}");
    }
    assert_eq!(host.asked("/identifiers"), 0);
}
