//! The demo with settings: where it listens, what it runs, and what it does not touch.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;

use super::*;
use crate::http::{Http, Request};
use crate::server::free_address;
use crate::tamper::scenario::Trust;
use crate::tenant::sample_trust;

fn told(installation: &Installation, flags: &[&str]) -> Value {
    installation.run_json(&[&["demo", "--once", "--json"], flags].concat())
}

#[test]
fn the_demo_walks_the_listed_profiles_in_order() {
    let installation = Installation::new();
    for (listed, profiles) in [
        ("1.0", &[["1.0", "jar"]][..]),
        ("haip", &[["haip", "jar"]]),
        ("draft", &[["draft", "inline"]]),
        ("haip,1.0", &[["haip", "jar"], ["1.0", "jar"]]),
        ("draft,haip", &[["draft", "inline"], ["haip", "jar"]]),
    ] {
        let walked = walks(&told(&installation, &["--profiles", listed]));
        assert_eq!(walked, in_both_formats(profiles), "{listed}");
    }
}

#[test]
fn one_mode_that_is_chosen_is_that_of_every_profile_but_haip() {
    let installation = Installation::new();
    for mode in ["inline", "jar"] {
        let walked = walks(&told(&installation, &["--oid4vp-request-mode", mode]));
        let expected = in_both_formats(&[["1.0", mode], ["haip", "jar"], ["draft", mode]]);
        assert_eq!(walked, expected);
    }
    let jar = told(&installation, &["--oid4vp-request-mode", "jar", "--profiles", "draft"]);
    let client = jar["walks"][0]["qr_code_url"].as_str().unwrap();
    assert!(client.contains("client_id=did%3Aweb%3A"), "{client}");
}

#[test]
fn the_demo_accepts_every_option_of_profile_1_0() {
    let installation = Installation::new();
    let base_url = ["--base-url", "https://gateway.example", "--profiles", "1.0"];
    for (flags, client, encrypted) in [
        (&["--client-id", "did"][..], "decentralized_identifier%3A", true),
        (&["--client-id", "x509_hash"], "x509_hash%3A", true),
        (&["--client-id", "x509_san_dns"], "x509_san_dns%3Agateway.example", true),
        (&["--request-uri-method", "post"], "request_uri_method=post", true),
        (&["--response-mode", "direct_post"], "decentralized_identifier%3A", false),
    ] {
        let output = installation.run(&[&["demo", "--once"], &base_url[..], flags].concat());
        assert_eq!(output.code, 0, "{output:?}");
        let part = if encrypted { "an encrypted answer" } else { "a plain answer" };
        assert!(output.stdout.contains(part), "{flags:?}: {}", output.stdout);
        assert!(output.stdout.contains(client), "{flags:?}: {}", output.stdout);
    }
}

#[test]
fn the_demo_does_not_start_in_production_or_staging() {
    for environment in ["production", "staging"] {
        let refused =
            Installation::new().with("IDGATE_ENVIRONMENT", environment).run(&["demo", "--once"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("for development only"), "{refused:?}");
    }
}

#[test]
fn the_demo_works_with_browser_requests_enabled() {
    let installation = Installation::new();
    for flags in [&["--dc-api", "unsigned"][..], &["--dc-api", "signed", "--profiles", "1.0,draft"]]
    {
        assert!(!walks(&told(&installation, flags)).is_empty(), "{flags:?}");
    }
}

#[test]
fn the_demo_accepts_any_loopback_address() {
    for profiles in ["draft", "1.0"] {
        let flags = ["--listen", "127.0.0.5:0", "--profiles", profiles];
        assert_eq!(walks(&told(&Installation::new(), &flags)).len(), 2, "{profiles}");
    }
}

#[test]
fn the_settings_come_from_flags_environment_and_file() {
    let expected = in_both_formats(&[["haip", "jar"]]);
    let of_environment = Installation::new().with("IDGATE_PROFILES", "haip");
    assert_eq!(walks(&told(&of_environment, &[])), expected);
    let file = of_environment.file("idgate.toml", "profiles = \"1.0\"\n");
    let file = ["--config", file.to_str().unwrap()];
    assert_eq!(walks(&told(&of_environment, &file)), expected, "the environment wins");
    let of_file = Installation::new();
    let walked = walks(&told(&of_file, &file));
    assert_eq!(walked, in_both_formats(&[["1.0", "jar"]]));
}

#[test]
fn the_demo_keeps_serving_at_the_configured_address() {
    let free = free_address();
    let installation = Installation::new();
    let listen = free.to_string();
    let mut command = installation.command(&["demo", "--json", "--listen", &listen]);
    let mut demo = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(demo.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(told["base_url"], format!("http://{free}"));
    assert_eq!(walks(&told).len(), 6);
    Http::new(free).send(&Request::get("/healthz")).expect_status(200);
    Command::new("kill").args(["-TERM", &demo.id().to_string()]).status().unwrap();
    assert!(demo.wait().unwrap().success());
}

#[test]
fn requests_name_the_base_url() {
    let told = told(&Installation::new(), &["--base-url", "https://gateway.example"]);
    assert_eq!(told["base_url"], "https://gateway.example");
    for walk in &told["walks"].as_array().unwrap()[..4] {
        let link = walk["qr_code_url"].as_str().unwrap();
        assert!(link.contains("request_uri=https%3A%2F%2Fgateway.example%2Fv1"), "{link}");
    }
}

#[test]
fn a_named_data_directory_is_kept_and_reused_by_the_demo() {
    let installation = Installation::new();
    let folder = installation.data_dir().with_file_name("demo");
    let flags = ["--data-dir", folder.to_str().unwrap()];
    for _ in 0..2 {
        assert_eq!(walks(&told(&installation, &flags)).len(), 6);
    }
    let issuers = installation.run_json(&[&["trust", "list", "--json"], &flags[..]].concat());
    assert!(issuers.to_string().contains("https://issuer.example"), "{issuers}");
    let certificates = installation.run_json(&[&["keys", "list", "--json"], &flags[..]].concat());
    assert_eq!(certificates["certificates"][0]["in_force"], true);
    assert!(!installation.data_dir().exists());
}

#[test]
fn the_demo_does_not_touch_a_directory_with_other_clients_or_issuers() {
    let with_client = Installation::new();
    with_client.create_client("shop", false);
    let with_issuer = Installation::new();
    with_issuer.trust(&Trust { issuer_id: "https://own.example".into(), ..sample_trust() }, &[]);
    for installation in [with_client, with_issuer] {
        let before = contents(&installation);
        let folder = installation.data_dir();
        let output = installation.run(&["demo", "--once", "--data-dir", folder.to_str().unwrap()]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("has clients or issuers of its own"), "{output:?}");
        assert_eq!(contents(&installation), before);
    }
}

/// The clients, issuers and certificates of an installation.
fn contents(installation: &Installation) -> [Value; 3] {
    [["client", "list"], ["trust", "list"], ["keys", "list"]]
        .map(|[noun, verb]| installation.run_json(&[noun, verb, "--json"]))
}

#[test]
fn the_demo_refuses_tls_settings_and_names_the_alternative() {
    let installation = Installation::new();
    let pem = installation.file("gateway.pem", "a certificate\n");
    let pem = pem.to_str().unwrap();
    let output = installation.run(&["demo", "--once", "--tls-cert", pem, "--tls-key", pem]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("IDGATE_TLS_CERT: the demo's tenant"), "{output:?}");
}

#[test]
fn the_demo_uses_free_ports_by_default() {
    let installation = Installation::new();
    // reason: the default port of `serve`, taken by this test or by another program
    let _taken = TcpListener::bind("127.0.0.1:8080");
    let mut command = installation.command(&["demo", "--once", "--json"]);
    let output = command.env_remove("IDGATE_LISTEN").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(walks(&serde_json::from_slice(&output.stdout).unwrap()).len(), 6);
}

#[test]
fn the_demo_does_not_write_to_a_gateways_checkpoint_file() {
    let kept = tempfile::TempDir::new().unwrap();
    let file = kept.path().join("checkpoints");
    let file = file.to_str().unwrap();
    let installation = Installation::new().with("IDGATE_AUDIT_CHECKPOINT_FILE", file);
    assert_eq!(walks(&told(&installation, &[])).len(), 6);
    assert!(!kept.path().join("checkpoints").exists());
}

#[test]
fn the_demo_rejects_invalid_settings_like_serve() {
    let installation = Installation::new();
    for flags in [
        &["--profiles", "2.0"][..],
        &["--profiles", "haip,haip"],
        &["--oid4vp-request-mode", "jwt"],
        &["--listen", "nowhere"],
        &["--listen", "192.0.2.1:8080"],
        &["--base-url", "http://gateway.example"],
        &["--client-id", "x509"],
        &["--data-dir", ""],
        &["--tls-cert", "no-such-file"],
        &["--config", "no-such-file.toml"],
    ] {
        let demo = installation.run(&[&["demo", "--once"], flags].concat());
        let serve = installation.run(&[&["serve"], flags].concat());
        assert_eq!((demo.code, serve.code), (1, 1), "{flags:?}: {demo:?} {serve:?}");
        assert_eq!(demo.stderr, serve.stderr, "{flags:?}");
        assert_eq!(demo.stdout, "", "{flags:?}");
    }
    let unknown = installation.run(&["demo", "--profile", "1.0"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

#[test]
fn the_demo_names_an_address_that_is_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let output = Installation::new().run(&["demo", "--once", "--listen", &listen]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("IDGATE_LISTEN: cannot listen on"), "{output:?}");
}

#[test]
fn a_failing_demo_ends_with_its_reason_and_code_1() {
    let flags = ["demo", "--once", "--client-id", "x509_san_dns"];
    // A certificate names no host if the base URL has none.
    let output = Installation::new().run(&flags);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("unsupported_profile"), "{output:?}");
}
