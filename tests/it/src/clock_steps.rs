//! The clock is set while the real binary runs: see [`crate::machine`].

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use idgate_testkit::patience::patience;
use serde_json::json;

use crate::disk;
use crate::http::Request;
use crate::server::{Installation, eventually};
use crate::tenant::{Gateway, request_for, sample_wallet};

#[test]
fn a_clock_set_forward_removes_no_keys_sessions_or_audit_entries() {
    let installation = Installation::new().with_machine();
    let machine = installation.machine().clone();
    let gateway = Gateway::start_on(installation.with("IDGATE_AUDIT_RETENTION", "30"));
    let mut tenant = gateway.tenant();
    let settled = tenant.verified(&request_for(&["given_name"]), &sample_wallet()).id;
    let wish = json!({ "scopes": ["session:read"], "expires_at": "2029-01-01T00:00:00Z" });
    let wish = Request::post("/v1/api-keys").bearer(&tenant.api_key).json(&wish);
    tenant.http.send(&wish).expect_status(201);
    machine.set_clock(3650 * 24 * 3600 * 1000);
    eventually("it is noticed", || gateway.installation.log().contains("the clock was set"));
    let Gateway { server, installation, .. } = gateway;
    server.terminate();
    assert!(server.wait().0.success());
    let server = installation.serve();
    eventually("old entries are looked for", || {
        installation.log().contains("no data is removed by age for a day")
    });
    let report = installation.run_json(&["audit", "verify", "--json"]);
    assert_eq!((&report["removed"], &report["intact"]), (&0.into(), &true.into()), "{report}");
    tenant.http = server.http();
    assert_eq!(tenant.read(&settled)["status"], "VERIFIED");
    let list = tenant.http.send(&Request::get("/v1/api-keys").bearer(&tenant.api_key)).json();
    assert_eq!(list["api_keys"].as_array().unwrap().len(), 2, "{list}");
}

#[test]
fn a_clock_set_back_does_not_extend_claims_and_is_logged_and_counted() {
    let installation = Installation::new().with_machine();
    let machine = installation.machine().clone();
    let gateway = Gateway::start_on(installation);
    let mut tenant = gateway.tenant();
    let created = tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    assert!(tenant.read(&created.id).get("claims").is_some());
    let dir = gateway.installation.data_dir();
    let sealed = disk::sealed_results(&dir);
    let sealed: Vec<_> = sealed.iter().flat_map(|blob| disk::pieces(blob)).collect();
    assert!(!disk::files_with(&dir, &sealed).is_empty());
    machine.freeze();
    machine.set_clock(-3_600_000);
    machine.jump(Duration::from_secs(32));
    eventually("claims are gone", || tenant.read(&created.id).get("claims").is_none());
    eventually("every file is empty of them", || disk::files_with(&dir, &sealed).is_empty());
    let session = tenant.read(&created.id);
    assert_eq!(session["status"], "VERIFIED", "{session}");
    eventually("it is logged", || gateway.installation.log().contains("the clock was set"));
    let token = gateway.installation.run_json(&["admin-token", "create", "--json"]);
    let token = token["admin_token"].as_str().unwrap();
    let metrics = tenant.http.send(&Request::get("/metrics").bearer(token)).expect_status(200);
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(metrics.contains(r#"idgate_clock_steps_total{direction="back"} 1"#), "{metrics}");
    // It resumes when the clock is right again.
    machine.thaw();
    machine.set_clock(0);
    eventually("sessions are made again", || {
        tenant.post_session(&request_for(&["given_name"])).status == 201
    });
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
}

#[test]
fn a_clock_jump_ends_waits_and_a_frozen_clock_ends_none() {
    let installation = Installation::new().with_machine();
    let gateway = Gateway::start_on(installation);
    let machine = gateway.installation.machine().clone();
    machine.freeze();
    let mut slow = TcpStream::connect(gateway.server.address).unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let mut tenant = gateway.tenant();
    let before = machine.now_ms();
    // While the clock stands still, the head may stay unfinished; other requests are answered.
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    gateway.server.rest();
    machine.jump(Duration::from_secs(9));
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    gateway.server.rest();
    slow.set_nonblocking(true).unwrap();
    let still = slow.read(&mut [0; 1]).unwrap_err();
    assert_eq!(still.kind(), ErrorKind::WouldBlock, "closed before its time");
    machine.jump(Duration::from_secs(2));
    slow.set_nonblocking(false).unwrap();
    slow.set_read_timeout(Some(patience())).unwrap();
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).expect("closed after ten seconds of the server's time");
    assert_eq!(machine.now_ms() - before, 11_000);
}
