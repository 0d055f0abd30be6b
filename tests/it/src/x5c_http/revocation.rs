//! CRLs of the issuer's certificate, and status lists signed with `x5c`.

use idgate_testkit::jws;
use idgate_testkit::status::{Crl, StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{DAY_MS, compact_utc, numeric_date};
use idgate_testkit::x509::{CRL_DISTRIBUTION_POINTS, distribution_points, key_identifier};

use super::*;
use crate::http::Request;
use crate::mdoc_http::Host;
use crate::server::free_address;

const CRL: &str = "application/pkix-crl";
const JWT: &str = "application/statuslist+jwt";
const SERIAL: [u8; 3] = [0x10, 0x20, 0x30];

fn fetching() -> Desk {
    Desk::start_on(Installation::new().with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8"))
}

/// A CRL of `issuer`.
fn crl(issuer: &Identity, revoked: &[&[u8]]) -> Vec<u8> {
    let [made, next] = [now_ms() - DAY_MS / 2, now_ms() + DAY_MS].map(compact_utc);
    let (name, identifier) = (issuer.builder.subject.der(), key_identifier(&issuer.key));
    let empty = Crl::new(&name, &identifier, &made, &next);
    revoked.iter().fold(empty, |crl, serial| crl.revoke(serial)).sign(&issuer.key)
}

fn at(uri: &str) -> impl FnOnce(CertificateBuilder) -> CertificateBuilder {
    let points = distribution_points(&[uri]);
    move |signer| {
        signer.set(CRL_DISTRIBUTION_POINTS, false, points).with(|own| own.serial = SERIAL.to_vec())
    }
}

#[test]
fn the_issuer_certificates_crl_is_fetched_and_decides() {
    let mut desk = fetching();
    let host = Host::start();
    let stranger = Identity::iaca(Curve::P256, now_ms());
    for (path, content, expected) in [
        ("/good", Some(crl(&desk.root, &[])), "VERIFIED"),
        ("/revoked", Some(crl(&desk.root, &[&SERIAL])), "certificate_revoked"),
        ("/stranger", Some(crl(&stranger, &[])), "revocation_unknown"),
        ("/absent", None, "revocation_unknown"),
    ] {
        let uri = host.uri(path);
        if let Some(content) = content {
            host.put(path, CRL, content);
        }
        let credential = desk.credential(at(&uri));
        assert_eq!(desk.outcome_of(credential), expected, "{path}");
    }
    let credential = desk.credential(at(&host.uri("/good")));
    let session = desk.session_of(credential);
    let details = &session["verification_details"]["credentials"][0];
    assert_eq!(details["revocation"], "signer_good");
    let both = json!({ "credential": "not_published", "signer": "good" });
    assert_eq!(details["revocation_details"], both);
}

#[test]
fn below_an_intermediate_the_intermediates_crl_applies() {
    let mut desk = fetching();
    let (host, ca) = (Host::start(), desk.intermediate(|ca| ca));
    for (path, content, expected) in [
        ("/good", crl(&ca, &[]), "VERIFIED"),
        ("/revoked", crl(&ca, &[&SERIAL]), "certificate_revoked"),
        ("/root", crl(&desk.root, &[]), "revocation_unknown"),
    ] {
        host.put(path, CRL, content);
        let credential = desk.credential_over(&ca, at(&host.uri(path)));
        assert_eq!(desk.outcome_of(credential), expected, "{path}");
    }
}

/// A CA that names no CRL is not looked up, but a CRL from the operator counts.
#[test]
fn an_operators_crl_that_lists_an_intermediate_counts() {
    let mut desk = Desk::start();
    let good = desk.intermediate(|ca| ca);
    let revoked = desk.intermediate(|ca| ca.with(|own| own.serial = SERIAL.to_vec()));
    let outcomes = |desk: &mut Desk| {
        [&good, &revoked].map(|ca| {
            let credential = desk.credential_over(ca, |signer| signer);
            desk.outcome_of(credential)
        })
    };
    assert_eq!(outcomes(&mut desk), ["VERIFIED", "VERIFIED"]);
    let file = desk.gateway.installation.file("root.crl", crl(&desk.root, &[&SERIAL]));
    let add = ["trust", "add", samples::ISSUER, "--crl", file.to_str().unwrap()];
    assert_eq!(desk.gateway.installation.run(&add).code, 0);
    assert_eq!(outcomes(&mut desk), ["VERIFIED", "certificate_revoked"]);
}

/// The issuer of the EU's reference wallet is such a host.
#[test]
fn a_status_list_is_fetched_from_a_host_that_matches_accept_exactly() {
    let mut desk = fetching();
    let host = Host::start();
    host.be_particular();
    let uri = host.uri("/list");
    let list = StatusList::new(1, 16).with(3, 1);
    let certificate = desk.root.issuer_of_sd_jwts(&issuer_key(), now_ms()).der;
    let token = StatusJwt::new(&list, &uri, numeric_date(now_ms()) - 10);
    let token = token.with_header("x5c", jws::x5c(&[certificate]));
    host.put("/list", JWT, token.sign(&issuer_key()).into_bytes());
    for (idx, expected) in [(2, "VERIFIED"), (3, "credential_revoked")] {
        let made = desk.credential(|signer| signer).plain("status", status_claim(idx, &uri));
        assert_eq!(desk.outcome_of(made), expected, "{idx}");
    }
    assert_eq!(host.asked("/list"), 1);
}

#[test]
fn a_report_names_the_fetch_failure_without_the_url() {
    let mut desk = fetching();
    let host = Host::start();
    host.put("/large", JWT, vec![b'a'; 11 * 1024 * 1024]);
    let nowhere = format!("http://{}/list", free_address());
    for (uri, why) in [
        (host.uri("/absent"), "its host answers with an error status"),
        (host.uri("/large"), "it is too large"),
        (nowhere, "its host cannot be reached"),
    ] {
        let made = desk.credential(|signer| signer).plain("status", status_claim(2, &uri));
        let session = desk.session_of(made);
        assert_eq!(session["reason"], "revocation_unknown", "{uri}");
        let report = format!("/v1/sessions/{}/report", session["session_id"].as_str().unwrap());
        let request = Request::get(report).bearer(&desk.gateway.client.api_key);
        let report = desk.gateway.http().send(&request).expect_status(200).json().to_string();
        assert!(report.contains(why), "{uri}: {report}");
        assert!(!report.contains("127.0.0.1") && !report.contains("/list"), "{report}");
    }
}

/// HAIP 6.1: the list includes its certificate, like the credential.
#[test]
fn the_status_list_is_signed_by_x5c_below_the_same_root() {
    let mut desk = fetching();
    let host = Host::start();
    let key = SigningKey::from_seed(Curve::P256, "status service");
    let service = |root: &Identity| {
        let name = Name::new("UT", "Status service");
        CertificateBuilder::issuer_of_sd_jwts(root, name, &key, now_ms()).sign(&root.key)
    };
    let other = {
        let key = SigningKey::from_seed(Curve::P256, "another root");
        CertificateBuilder::issuer_root(Name::new("UT", "Other"), &key, now_ms()).self_sign(&key)
    };
    let list = StatusList::new(1, 16).with(3, 1);
    let put = |path: &str, chain: Option<Vec<u8>>, key: &SigningKey| {
        let uri = host.uri(path);
        let token = StatusJwt::new(&list, &uri, numeric_date(now_ms()) - 10);
        let token = match chain {
            Some(der) => token.with_header("x5c", jws::x5c(&[der])),
            None => token,
        };
        host.put(path, JWT, token.sign(key).into_bytes())
    };
    let credential = |desk: &Desk, uri: &str, idx: u64| {
        desk.credential(|signer| signer).plain("status", status_claim(idx, uri))
    };
    let good = put("/list", Some(service(&desk.root)), &key);
    for (idx, expected) in [(2, "VERIFIED"), (3, "credential_revoked"), (99, "revocation_unknown")]
    {
        let made = credential(&desk, &good, idx);
        assert_eq!(desk.outcome_of(made), expected, "{idx}");
    }
    let made = credential(&desk, &good, 2);
    let session = desk.session_of(made);
    let details = &session["verification_details"]["credentials"][0];
    let both = json!({ "credential": "good", "signer": "not_published" });
    assert_eq!((&details["revocation"], &details["revocation_details"]), (&json!("good"), &both));

    let under_the_other = put("/other", Some(service(&other)), &key);
    let bare = put("/bare", None, &issuer_key());
    let wrong_key = put("/wrong", Some(service(&desk.root)), &issuer_key());
    for uri in [&under_the_other, &bare, &wrong_key] {
        let made = credential(&desk, uri, 2);
        assert_eq!(desk.outcome_of(made), "revocation_unknown", "{uri}");
    }
    // The operator trusts the other root for status lists only.
    let file = desk.gateway.installation.file("other.der", &other.der);
    let add = ["trust", "add", samples::ISSUER, "--status-root", file.to_str().unwrap()];
    assert_eq!(desk.gateway.installation.run(&add).code, 0);
    let made = credential(&desk, &under_the_other, 2);
    assert_eq!(desk.outcome_of(made), "VERIFIED");
    let by_the_other = samples::identity(&holder_key(), now_ms());
    let chain = [other.issuer_of_sd_jwts(&issuer_key(), now_ms()).der];
    assert_eq!(desk.outcome_of(by_the_other.x5c(&chain)), "chain_invalid");
}
