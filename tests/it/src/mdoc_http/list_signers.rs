//! The signers of an mdoc's status lists, and the validity of these lists, with the real binary.

use std::thread;
use std::time::Duration;

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::status::{StatusCwt, StatusList};
use idgate_testkit::time::{DAY_MS, numeric_date};
use idgate_testkit::x509::{self, CRL_DISTRIBUTION_POINTS, CertificateBuilder, Identity, Name};
use serde_json::json;

use super::desk::{Desk, add_root};
use super::host::Host;
use super::revocation::{CRL, CWT, SERIAL, crl, fetching, silent, with_status_at};
use crate::mdoc_tamper::{ISSUER_ID, VERIFIED, mdl_request};
use crate::server::{Installation, eventually};
use crate::tenant::now_ms;

const UNKNOWN: &str = "revocation_unknown";

/// Puts a list of `host` at `path`, signed by `signer`.
fn put_list(host: &Host, path: &str, signer: &Identity) -> String {
    let uri = host.uri(path);
    let token =
        StatusCwt::new(&StatusList::new(1, 64), &uri, numeric_date(now_ms()), &[&signer.der]);
    host.put(path, CWT, token.sign(&signer.key))
}

/// Puts a list of `host` at `path`, signed by `signer`, and presents a credential that refers to
/// it.
pub(super) fn outcome_by(desk: &mut Desk, host: &Host, path: &str, signer: &Identity) -> String {
    let uri = put_list(host, path, signer);
    desk.outcome_of(|scenario| with_status_at(scenario, &uri, 0))
}

/// A root with this name.
pub(super) fn iaca(name: &str) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, name);
    CertificateBuilder::iaca_root(Name::new("UT", name), &key, now_ms()).self_sign(&key)
}

/// Another root, with its own signer that names no CRL.
fn other_authority() -> (Identity, Identity) {
    let root = iaca("List IACA");
    let signer = root.document_signer(Curve::P256, now_ms());
    let builder = signer.builder.without(CRL_DISTRIBUTION_POINTS);
    let signer = builder.issue(&root, &signer.key);
    (root, signer)
}

#[test]
fn a_status_list_signer_chains_to_the_credentials_root_or_a_status_root() {
    let mut desk = fetching(true);
    let host = Host::start();
    let (root, signer) = other_authority();
    let file = desk.gateway.installation.file("other.der", &root.der);
    let file = file.to_str().unwrap();
    assert_eq!(outcome_by(&mut desk, &host, "/stranger", &signer), UNKNOWN);
    // Another root of the same entry did not certify this credential.
    let add = ["trust", "add", ISSUER_ID, "--root", file];
    assert_eq!(desk.gateway.installation.run(&add).code, 0);
    assert_eq!(outcome_by(&mut desk, &host, "/other-root", &signer), UNKNOWN);
    let add = ["trust", "add", ISSUER_ID, "--status-root", file];
    assert_eq!(desk.gateway.installation.run(&add).code, 0);
    assert_eq!(outcome_by(&mut desk, &host, "/status-root", &signer), VERIFIED);
    let own = silent(&desk.authority);
    assert_eq!(outcome_by(&mut desk, &host, "/own-root", &own), VERIFIED);
    // When it is removed, it no longer counts from the next request on, although its list is
    // cached.
    let shown = desk.gateway.installation.run(&["trust", "show", ISSUER_ID, "--json"]).json();
    let sha256 = shown["status_roots"][0]["sha256"].as_str().unwrap();
    let remove = ["trust", "remove", ISSUER_ID, "--sha256", sha256];
    assert_eq!(desk.gateway.installation.run(&remove).code, 0);
    assert_eq!(outcome_by(&mut desk, &host, "/status-root", &signer), UNKNOWN);
}

#[test]
fn the_signer_of_a_status_list_is_checked_for_revocation() {
    let mut desk = fetching(true);
    let host = Host::start();
    let authority = desk.authority.clone();
    for (path, revoked, expected) in [
        ("/good.crl", &[][..], VERIFIED),
        ("/others.crl", &[&[0x77][..]][..], VERIFIED),
        ("/revoked.crl", &[&SERIAL[..]][..], UNKNOWN),
    ] {
        let uri = host.put(path, CRL, crl(&authority, 8, revoked));
        let own = silent(&authority);
        let builder = own.builder.with(|c| c.serial = SERIAL.to_vec());
        let points = x509::distribution_points(&[&uri]);
        let signer = builder.set(CRL_DISTRIBUTION_POINTS, false, points);
        let signer = signer.issue(&authority.root, &own.key);
        let list = format!("/list-of{path}");
        assert_eq!(outcome_by(&mut desk, &host, &list, &signer), expected, "{path}");
        assert_eq!((host.asked(&list), host.asked(path)), (1, 1), "{path}");
        // The second time both are cached, and the verdict is the same.
        let again = desk.outcome_of(|scenario| with_status_at(scenario, &host.uri(&list), 0));
        assert_eq!(again, expected, "{path}");
        assert_eq!((host.asked(&list), host.asked(path)), (1, 1), "{path}");
    }
    // A CRL from the operator counts as well.
    let file = desk.gateway.installation.file("iaca.crl", crl(&authority, 8, &[&SERIAL]));
    add_root(&desk.gateway.installation, &authority, &["--crl", file.to_str().unwrap()]);
    let own = silent(&authority);
    let revoked = own.builder.with(|c| c.serial = SERIAL.to_vec());
    let revoked = revoked.issue(&authority.root, &own.key);
    assert_eq!(outcome_by(&mut desk, &host, "/operator", &revoked), UNKNOWN);
}

/// The list takes 3 s, and so does its signer's CRL, which is fetched after it.
#[test]
fn all_status_fetches_of_an_answer_share_five_seconds() {
    let installation = Installation::new().with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8");
    let mut desk = Desk::start(installation.with_machine(), true, &[]);
    let machine = desk.gateway.installation.machine().clone();
    let host = Host::start();
    let authority = desk.authority.clone();
    let crl_uri = host.put("/list.crl", CRL, crl(&authority, 8, &[]));
    let own = silent(&authority);
    let points = x509::distribution_points(&[&crl_uri]);
    let builder = own.builder.set(CRL_DISTRIBUTION_POINTS, false, points);
    let signer = builder.issue(&authority.root, &own.key);
    let uri = put_list(&host, "/list", &signer);
    machine.freeze();
    let mut answer = || {
        let created = desk.tenant.create(&mdl_request());
        let mut scenario = desk.scenario(&created);
        with_status_at(&mut scenario, &uri, 0);
        (created, scenario.body())
    };
    let [(late, late_body), (again, again_body)] = [answer(), answer()];
    let Desk { gateway, tenant, .. } = &mut desk;
    let (server, mut wallet) = (&gateway.server, gateway.tenant());
    let wait_for = |path: &str, times: usize, ms: u64| {
        host.wait_until_asked(path, times);
        server.rest();
        machine.jump(Duration::from_millis(ms));
    };
    host.hold("/list");
    host.hold("/list.crl");
    thread::scope(|scope| {
        let answering = scope.spawn(|| wallet.post_answer(&late.id, &late_body));
        wait_for("/list", 1, 3000);
        host.release("/list");
        wait_for("/list.crl", 1, 1900);
        server.rest();
        assert_eq!(tenant.read(&late.id)["status"], "VERIFYING");
        server.rest();
        machine.jump(Duration::from_millis(200));
        answering.join().unwrap().expect_error(400, "invalid_presentation");
    });
    tenant.expect_failed(&late, UNKNOWN);
    assert_eq!((host.asked("/list"), host.asked("/list.crl")), (1, 1));
    // Each alone is quick enough, and the list is cached by now.
    thread::scope(|scope| {
        let answering = scope.spawn(|| wallet.post_answer(&again.id, &again_body));
        wait_for("/list.crl", 2, 3000);
        host.release("/list.crl");
        answering.join().unwrap().expect_status(200);
    });
    assert_eq!(tenant.read(&again.id)["status"], VERIFIED);
}

#[test]
fn a_status_token_without_exp_is_valid_for_status_max_age() {
    let mut desk = fetching(true);
    let host = Host::start();
    let authority = desk.authority.clone();
    let own = silent(&authority);
    let long = own.builder.with(|c| c.not_before_ms -= 60 * DAY_MS);
    let signer = long.issue(&authority.root, &own.key);
    let put = |path: &str, days: u64| {
        let uri = host.uri(path);
        let iat = numeric_date(now_ms() - days * DAY_MS);
        let token = StatusCwt::new(&StatusList::new(1, 64), &uri, iat, &[&signer.der]);
        host.put(path, CWT, token.without(4).sign(&signer.key))
    };
    for (path, days, expected) in [("/six", 6, VERIFIED), ("/eight", 8, UNKNOWN)] {
        let uri = put(path, days);
        assert_eq!(desk.outcome_of(|s| with_status_at(s, &uri, 0)), expected, "{path}");
    }
    let add = ["trust", "add", ISSUER_ID, "--status-max-age", "30"];
    assert_eq!(desk.gateway.installation.run(&add).code, 0);
    for (path, days, expected) in [("/eight", 8, VERIFIED), ("/forty", 40, UNKNOWN)] {
        let uri = put(path, days);
        assert_eq!(desk.outcome_of(|s| with_status_at(s, &uri, 0)), expected, "{path}");
    }
    for days in ["0", "-1", "3651", "x"] {
        let add = ["trust", "add", ISSUER_ID, "--status-max-age", days];
        assert_eq!(desk.gateway.installation.run(&add).code, 2, "{days}");
    }
}

#[test]
fn policy_required_needs_a_credential_status_and_reports_both_statuses() {
    let mut desk = fetching(true);
    let host = Host::start();
    let authority = desk.authority.clone();
    let uri = host.put("/good.crl", CRL, crl(&authority, 8, &[]));
    let list = host.uri("/list");
    let signer = silent(&authority);
    let token =
        StatusCwt::new(&StatusList::new(1, 64), &list, numeric_date(now_ms()), &[&signer.der]);
    host.put("/list", CWT, token.sign(&signer.key));
    for (policy, has_status, has_crl, expected) in [
        ("if_published", true, true, Ok(("good", "good", "good"))),
        ("if_published", true, false, Ok(("good", "good", "not_published"))),
        ("if_published", false, true, Ok(("signer_good", "not_published", "good"))),
        ("if_published", false, false, Ok(("not_published", "not_published", "not_published"))),
        ("required", true, true, Ok(("good", "good", "good"))),
        ("required", true, false, Ok(("good", "good", "not_published"))),
        ("required", false, true, Err(UNKNOWN)),
        ("required", false, false, Err(UNKNOWN)),
        ("off", true, true, Ok(("off", "off", "off"))),
    ] {
        let set = ["trust", "add", ISSUER_ID, "--revocation", policy];
        assert_eq!(desk.gateway.installation.run(&set).code, 0);
        let created = desk.tenant.create(&mdl_request());
        let mut scenario = desk.scenario(&created);
        if has_status {
            with_status_at(&mut scenario, &list, 0);
        }
        scenario.certify(|c| match has_crl {
            true => c.set(CRL_DISTRIBUTION_POINTS, false, x509::distribution_points(&[&uri])),
            false => c.without(CRL_DISTRIBUTION_POINTS),
        });
        let case = format!("{policy}, status {has_status}, CRL {has_crl}");
        let outcome = desk.settle(&created, &scenario.body());
        match expected {
            Err(reason) => assert_eq!(outcome, reason, "{case}"),
            Ok((revocation, credential, signer)) => {
                assert_eq!(outcome, VERIFIED, "{case}");
                let session = desk.tenant.read(&created.id);
                let told = &session["verification_details"]["credentials"][0];
                assert_eq!(told["revocation"], revocation, "{case}");
                let details = json!({ "credential": credential, "signer": signer });
                assert_eq!(told["revocation_details"], details, "{case}");
            }
        }
    }
}

#[test]
fn a_crl_without_number_is_taken_when_it_is_fetched_and_logged() {
    let mut desk = fetching(true);
    let host = Host::start();
    let uri = host.put("/unnumbered.crl", CRL, super::trust::unnumbered(&desk.authority));
    let outcome = desk.outcome_of(|scenario| {
        scenario
            .certify(|c| c.set(CRL_DISTRIBUTION_POINTS, false, x509::distribution_points(&[&uri])));
    });
    assert_eq!(outcome, VERIFIED);
    let is_logged =
        || desk.gateway.installation.log().contains("a CRL without CRLNumber was accepted");
    eventually("the warning is logged", is_logged);
}
