//! A certificate that expires while the gateway runs: no new session uses it, and open ones are
//! still served.

use std::path::PathBuf;

use idgate_testkit::iso_mdoc::IsoMdocRequest;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::samples;
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};
use serde_json::json;

use super::signing::{fetch, started, wish};
use super::*;
use crate::server::eventually;
use crate::tenant::{Created, Gateway};

/// Long enough to be imported and used.
const VALID_MS: u64 = 5_000;

/// A CA's certificate for this request that expires soon.
fn short_lived(ca: &Ca, csr: &str) -> PathBuf {
    std::fs::write(ca.path("csr.pem"), csr).unwrap();
    ca.openssl("req -in csr.pem -noout -pubkey -out public.pem");
    ca.openssl("pkey -pubin -in public.pem -outform DER -out public.der");
    let spki = std::fs::read(ca.path("public.der")).unwrap();
    let now = now_ms();
    let root = Identity::iaca(Curve::P256, now);
    let (name, unused) = (Name::new("UT", "shop"), SigningKey::from_seed(Curve::P256, "unused"));
    let builder = CertificateBuilder::new(name.clone(), name, &unused, now, 1).under(&root);
    let builder = builder.with(|own| {
        own.spki = spki;
        own.not_after_ms = now + VALID_MS;
    });
    std::fs::write(ca.path("leaf.der"), builder.sign(&root.key)).unwrap();
    ca.path("leaf.der")
}

fn certificates_of(doctor: &Value) -> Vec<&Value> {
    let checks = doctor["checks"].as_array().unwrap();
    checks.iter().filter(|check| check["check"] == "certificates").collect()
}

#[test]
fn the_log_says_at_the_start_that_a_certificate_has_expired() {
    let ((gateway, mut tenant), ca) = (started("haip", &[]), Ca::new());
    let Gateway { server, installation, .. } = gateway;
    let asked = csr(&installation, &[]);
    import(&installation, &short_lived(&ca, asked["csr"].as_str().unwrap()), &[]);
    eventually("the certificate expires", || tenant.post_session(&wish()).status == 400);
    assert!(!installation.log().contains("a certificate has expired"));
    server.kill();
    let _server = installation.serve();
    eventually("the log says so", || installation.log().contains("a certificate has expired"));
}

#[test]
fn an_expired_certificate_creates_no_session_and_is_reported_everywhere() {
    let ((gateway, mut tenant), ca) = (started("haip,draft", &[]), Ca::new());
    let installation = &gateway.installation;
    let asked = csr(installation, &[]);
    import(installation, &short_lived(&ca, asked["csr"].as_str().unwrap()), &[]);
    let open = tenant.create(&wish());
    eventually("the certificate expires", || tenant.post_session(&wish()).status == 400);
    let refused = tenant.post_session(&wish());
    assert!(refused.message().contains("has expired"), "{refused:?}");
    refused.expect_error(400, "unsupported_profile");
    // A profile that needs no certificate still works, and open sessions are signed to their end.
    let mut draft = wish();
    draft["profile"] = "draft".into();
    tenant.create(&draft);
    fetch(&mut tenant, &open);
    let doctor = installation.run(&["doctor", "--json"]);
    let report = doctor.json();
    let found = certificates_of(&report);
    assert_eq!((found.len(), &found[0]["status"]), (1, &"failed".into()), "{report}");
    assert!(found[0]["message"].as_str().unwrap().contains("expired"), "{report}");
    let token = installation.run_json(&["admin-token", "create", "--json"]);
    let request = Request::get("/metrics").bearer(token["admin_token"].as_str().unwrap());
    let body = String::from_utf8(tenant.http.send(&request).expect_status(200).body).unwrap();
    let name = "idgate_certificate_expiry_seconds{of=\"gateway\"} ";
    let seconds = body.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    assert!(seconds.parse::<i64>().unwrap() <= 0, "{seconds}");
    let listed = installation.run(&["keys", "list"]).stdout;
    assert!(listed.contains("expired at"), "{listed}");
    // A renewal fixes it.
    certify(installation, &ca, 90, &[]);
    tenant.create(&wish());
}

/// With a DID, the other requests are still signed. The expired certificate must not sign
/// readerAuth (ISO/IEC 18013-5 9.1.4).
#[test]
fn an_expired_certificate_leaves_no_request_to_browsers_unsigned() {
    let settings = [("OID4VP_REQUEST_MODE", "jar"), ("IDGATE_DC_API", "signed")];
    let ((gateway, mut tenant), ca) = (started("1.0", &settings), Ca::new());
    let installation = &gateway.installation;
    let licence = samples::issue_mdl(now_ms());
    let root = installation.file("iaca.der", &licence.root.der);
    let added =
        installation.run(&["trust", "add", samples::MDL_ISSUER, "--root", root.to_str().unwrap()]);
    assert_eq!(added.code, 0, "{added:?}");
    let mut body = json!({
        "credentials": [{ "format": "mso_mdoc", "issuer_id": samples::MDL_ISSUER,
            "claims": ["family_name"] }],
        "dc_api": { "origins": ["https://shop.example"] },
    });
    let reader_auth = |created: &Created| {
        let requests = created.answer["dc_api"]["requests"].as_array().unwrap();
        let data = &requests.last().unwrap()["data"];
        IsoMdocRequest::read(data, "https://shop.example").unwrap().reader()
    };
    // A client without a certificate does not sign; a client with one does.
    assert!(reader_auth(&tenant.create(&body)).is_none());
    let asked = csr(installation, &[]);
    import(installation, &short_lived(&ca, asked["csr"].as_str().unwrap()), &[]);
    assert!(reader_auth(&tenant.create(&body)).is_some());
    eventually("the certificate expires", || tenant.post_session(&body).status == 400);
    let refused = tenant.post_session(&body);
    assert!(refused.message().contains("dc_api.iso_mdoc"), "{refused:?}");
    refused.expect_error(400, "unsupported_profile");
    body["dc_api"]["iso_mdoc"] = false.into();
    let created = tenant.create(&body);
    let requests = created.answer["dc_api"]["requests"].as_array().unwrap();
    assert!(requests.iter().all(|one| one["protocol"] != "org-iso-mdoc"), "{requests:?}");
}
