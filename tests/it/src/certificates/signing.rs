//! Which key signs a request: that of the certificate in force when the session was created, until
//! the session ends.

use idgate_testkit::codec::from_base64url;
use idgate_testkit::openid4vp::{Expected, Fetched, Format, Keys, Prefix, Request as ReadRequest};
use idgate_testkit::samples::ISSUER;
use serde_json::{Value, json};

use super::{Ca, certify};
use crate::http::Request;
use crate::server::{Installation, free_address};
use crate::tenant::{Created, Gateway, Tenant, now_ms};

pub(super) fn started(profiles: &str, settings: &[(&str, &str)]) -> (Gateway, Tenant) {
    let installation = Installation::new().with("IDGATE_PROFILES", profiles);
    let set =
        |installation: Installation, (name, value): &(&str, &str)| installation.with(name, value);
    let gateway = Gateway::start_on(settings.iter().fold(installation, set));
    let tenant = gateway.tenant();
    (gateway, tenant)
}

pub(super) fn wish() -> Value {
    json!({
        "credentials": [{ "format": "vc+sd-jwt", "issuer_id": ISSUER, "claims": ["given_name"] }],
        "redirect_uri": "https://shop.example/done",
    })
}

/// The Request Object of a session.
pub(super) fn fetch(tenant: &mut Tenant, created: &Created) -> Fetched {
    let path = format!("/v1/oid4vp/request/{}", created.id);
    let answer = tenant.http.send(&Request::get(path)).expect_status(200);
    Fetched {
        content_type: answer.header("content-type").unwrap().into(),
        jwt: String::from_utf8(answer.body).unwrap(),
        wallet_nonce: None,
    }
}

pub(super) fn payload(fetched: &Fetched) -> Value {
    let payload = fetched.jwt.split('.').nth(1).unwrap();
    serde_json::from_slice(&from_base64url(payload).unwrap()).unwrap()
}

fn client_id(fetched: &Fetched) -> String {
    payload(fetched)["client_id"].as_str().unwrap().into()
}

fn made_by(tenant: &mut Tenant) -> (Created, String) {
    let created = tenant.create(&wish());
    let client_id = client_id(&fetch(tenant, &created));
    (created, client_id)
}

fn hash_of(certified: &Value) -> String {
    format!("x509_hash:{}", certified["certificate"]["x509_hash"].as_str().unwrap())
}

/// A strict wallet's only objection to the request is http, which is allowed on loopback only.
#[track_caller]
fn expect_sound(created: &Created, fetched: &Fetched, prefix: Prefix, haip: bool, ca: &Ca) {
    let expected = Expected {
        prefix,
        encrypted: true,
        formats: vec![Format::SdJwtVc],
        haip,
        transaction_data: false,
        anchor: Some(ca.root()),
        did_document: None,
        now_ms: now_ms(),
    };
    let mut keys = Keys::default();
    let (_, findings) = ReadRequest::read(&created.uri, Some(fetched), &expected, &mut keys);
    let wrong = findings.list().iter().any(|finding| !finding.about.starts_with("http://"));
    assert!(!wrong, "{findings:?}");
}

#[test]
fn haip_signs_with_the_certificate_in_force_and_is_refused_without_one() {
    let ((gateway, mut tenant), ca) = (started("haip", &[]), Ca::new());
    tenant.post_session(&wish()).expect_error(400, "unsupported_profile");
    let certified = certify(&gateway.installation, &ca, 90, &[]);
    let created = tenant.create(&wish());
    let fetched = fetch(&mut tenant, &created);
    assert_eq!(client_id(&fetched), hash_of(&certified));
    assert_eq!(client_id(&fetched), format!("x509_hash:{}", ca.hash()));
    expect_sound(&created, &fetched, Prefix::X509Hash, true, &ca);
}

#[test]
fn a_session_keeps_its_certificate_over_renewal_rotation_and_restart() {
    let ((gateway, mut tenant), ca) = (started("haip", &[]), Ca::new());
    let Gateway { server, installation, client } = gateway;
    let old = hash_of(&certify(&installation, &ca, 90, &[]));
    let (first, by) = made_by(&mut tenant);
    assert_eq!(by, old);
    let new = hash_of(&certify(&installation, &ca, 90, &[]));
    assert_eq!(installation.run(&["keys", "rotate"]).code, 0);
    assert_eq!(made_by(&mut tenant).1, new);
    assert_eq!(client_id(&fetch(&mut tenant, &first)), old);
    server.kill();
    let gateway = Gateway { server: installation.serve(), client, installation };
    tenant.http = gateway.http();
    let fetched = fetch(&mut tenant, &first);
    assert_eq!(client_id(&fetched), old);
    expect_sound(&first, &fetched, Prefix::X509Hash, true, &ca);
}

#[test]
fn a_client_signs_with_its_own_certificate_and_others_with_the_gateways() {
    let ((gateway, mut shop), ca) = (started("haip", &[]), Ca::new());
    let client = gateway.installation.create_client("bank", true);
    let mut bank = gateway.tenant_of(&client);
    let own = hash_of(&certify(&gateway.installation, &ca, 90, &["--client", &client.client_id]));
    assert_eq!(made_by(&mut bank).1, own);
    shop.post_session(&wish()).expect_error(400, "unsupported_profile");
    let gateways = hash_of(&certify(&gateway.installation, &ca, 90, &[]));
    assert_eq!(made_by(&mut shop).1, gateways);
    assert_eq!(made_by(&mut bank).1, own);
}

#[test]
fn x509_san_dns_needs_the_host_in_the_certificate() {
    let address = free_address();
    let base_url = format!("http://localhost:{}", address.port());
    let settings = [
        ("IDGATE_LISTEN", &*address.to_string()),
        ("IDGATE_BASE_URL", &*base_url),
        ("OID4VP_REQUEST_MODE", "jar"),
        ("IDGATE_CLIENT_ID", "x509_san_dns"),
    ];
    let ((gateway, mut tenant), ca) = (started("1.0", &settings), Ca::new());
    // A certificate imported for x509_hash need not name a host.
    let by_hash = ["--client-id", "x509_hash", "--base-url", "https://other.example"];
    certify(&gateway.installation, &ca, 90, &by_hash);
    tenant.post_session(&wish()).expect_error(400, "unsupported_profile");
    certify(&gateway.installation, &ca, 90, &[]);
    let created = tenant.create(&wish());
    let fetched = fetch(&mut tenant, &created);
    assert_eq!(client_id(&fetched), "x509_san_dns:localhost");
    expect_sound(&created, &fetched, Prefix::X509SanDns, false, &ca);
}
