//! A clock that is set while the real binary runs: `clock.c` is preloaded before the C library.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::disk;
use crate::http::{Http, Request};
use crate::server::{Installation, eventually};
use crate::tenant::{Gateway, request_for, sample_wallet};

/// An installation whose servers look at the clock that the file sets, in seconds from the real one.
fn with_clock() -> (Installation, PathBuf) {
    let installation = Installation::new();
    let source = installation.file("clock.c", include_str!("clock_steps/clock.c"));
    let library = source.with_extension("so");
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl");
    assert!(compile.status().unwrap().success(), "a C compiler is needed");
    let offset = installation.file("offset", "0");
    let installation = installation
        .with("IDGATE_CLOCK", offset.to_str().unwrap())
        .with("LD_PRELOAD", library.to_str().unwrap());
    (installation, offset)
}

#[test]
fn a_clock_set_forward_takes_neither_keys_nor_sessions_nor_audit_entries_also_after_a_restart() {
    let (installation, offset) = with_clock();
    let gateway = Gateway::start_on(installation.with("IDGATE_AUDIT_RETENTION", "30"));
    let mut tenant = gateway.tenant();
    let settled = tenant.verified(&request_for(&["given_name"]), &sample_wallet()).id;
    let wish = json!({ "scopes": ["session:read"], "expires_at": "2029-01-01T00:00:00Z" });
    let wish = Request::post("/v1/api-keys").bearer(&tenant.api_key).json(&wish);
    tenant.http.send(&wish).expect_status(201);
    fs::write(&offset, (3650 * 24 * 3600).to_string()).unwrap();
    eventually("it is noticed", || gateway.installation.log().contains("the clock was set"));
    let Gateway { server, installation, .. } = gateway;
    server.terminate();
    assert!(server.wait().0.success());
    let server = installation.serve();
    eventually("old entries are looked for", || {
        installation.log().contains("nothing is removed for its age for a day")
    });
    let report = installation.run_json(&["audit", "verify", "--json"]);
    assert_eq!((&report["removed"], &report["intact"]), (&0.into(), &true.into()), "{report}");
    tenant.http = Http::new(server.address);
    assert_eq!(tenant.read(&settled)["status"], "VERIFIED");
    let list = tenant.http.send(&Request::get("/v1/api-keys").bearer(&tenant.api_key)).json();
    assert_eq!(list["api_keys"].as_array().unwrap().len(), 2, "{list}");
}

#[test]
fn a_clock_set_back_shows_no_claims_for_longer_and_is_logged_and_counted() {
    let (installation, offset) = with_clock();
    let gateway = Gateway::start_on(installation);
    let mut tenant = gateway.tenant();
    let created = tenant.verified(&request_for(&["given_name"]), &sample_wallet());
    assert!(tenant.read(&created.id).get("claims").is_some());
    let dir = gateway.installation.data_dir();
    let sealed = disk::sealed_results(&dir);
    let sealed: Vec<_> = sealed.iter().flat_map(|blob| disk::pieces(blob)).collect();
    assert!(!disk::files_with(&dir, &sealed).is_empty());
    fs::write(&offset, "-3600").unwrap();
    let set = Instant::now();
    let gone_by = |what: &str, gone: &mut dyn FnMut() -> bool| {
        while !gone() {
            assert!(set.elapsed() < Duration::from_secs(40), "never: {what}");
            thread::sleep(Duration::from_millis(50));
        }
    };
    gone_by("claims are gone", &mut || tenant.read(&created.id).get("claims").is_none());
    gone_by("every file is empty of them", &mut || disk::files_with(&dir, &sealed).is_empty());
    let session = tenant.read(&created.id);
    assert_eq!(session["status"], "VERIFIED", "{session}");
    eventually("it is logged", || gateway.installation.log().contains("the clock was set"));
    let token = gateway.installation.run_json(&["admin-token", "create", "--json"]);
    let token = token["admin_token"].as_str().unwrap();
    let metrics = tenant.http.send(&Request::get("/metrics").bearer(token)).expect_status(200);
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(metrics.contains(r#"idgate_clock_steps_total{direction="back"} 1"#), "{metrics}");
    // And it goes on when the clock is right again.
    fs::write(&offset, "0").unwrap();
    eventually("sessions are made again", || {
        tenant.post_session(&request_for(&["given_name"])).status == 201
    });
    tenant.verified(&request_for(&["given_name"]), &sample_wallet());
}
