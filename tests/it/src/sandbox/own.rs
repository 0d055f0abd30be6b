//! What keeps a sandbox to itself: where it starts, who reaches it, and what it leaves.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::*;
use crate::server::eventually;

#[test]
fn it_does_not_start_in_production_or_staging() {
    for environment in ["production", "staging"] {
        let installation = Installation::in_directory().with("IDGATE_ENVIRONMENT", environment);
        let temporary = tempfile::TempDir::new().unwrap();
        let refused = output(&mut command(&installation, &temporary, &[]));
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("for development only"), "{refused:?}");
        assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
    }
}

#[test]
fn its_own_listeners_and_its_gateway_are_on_loopback_alone() {
    for (flags, code, why) in [
        (&["--page-listen", "0.0.0.0:0"][..], 2, "is not loopback"),
        (&["--https-listen", "192.0.2.1:8443"], 2, "is not loopback"),
        (
            &[
                "--listen",
                "0.0.0.0:0",
                "--base-url",
                "https://a.example",
                "--behind-tls-proxy",
                "true",
                "--page-listen",
                "127.0.0.1:0",
                "--https-listen",
                "127.0.0.1:0",
            ],
            1,
            "by --lan",
        ),
        (&["--name", "a/b"], 2, "is not a host name"),
        (&["--tls-cert", "cert.pem", "--tls-key", "key.pem"], 1, "brings its own https"),
    ] {
        let temporary = tempfile::TempDir::new().unwrap();
        let installation = Installation::in_directory();
        let mut run = installation.command(&[&["sandbox", "--json"], flags].concat());
        let refused = output(run.env("TMPDIR", temporary.path()));
        assert_eq!(refused.code, code, "{flags:?}: {refused:?}");
        assert!(refused.stderr.contains(why), "{flags:?}: {refused:?}");
    }
}

#[test]
fn a_gateways_own_folder_is_not_made_a_sandbox() {
    let installation = Installation::in_directory();
    installation.create_client("shop", false);
    let folder = installation.data_dir();
    let temporary = tempfile::TempDir::new().unwrap();
    let flags = ["--data-dir", folder.to_str().unwrap()];
    let refused = output(&mut command(&installation, &temporary, &flags));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("is a gateway's data directory"), "{refused:?}");
}

#[test]
fn the_page_answers_to_its_own_name_and_takes_no_form_of_another_page() {
    let sandbox = Sandbox::start();
    let own = sandbox.page().to_string();
    for host in ["evil.example", "localhost:1", "192.168.0.1"] {
        let refused = exchange(sandbox.page(), "GET", "/", &[("Host", host)], "");
        assert_eq!(refused.status, 421, "{host}: {refused:?}");
        let refused = sandbox.post("/answer", &[("Host", host)], &[("do", "accept")]);
        assert_eq!(refused.status, 421, "{host}: {refused:?}");
    }
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&request("vc+sd-jwt", "https://issuer.example", "1.0"));
    for headers in [
        &[("Origin", "https://evil.example")][..],
        &[("Origin", "null")],
        &[("Sec-Fetch-Site", "cross-site")],
    ] {
        let headers = [&[("Host", &*own)], headers].concat();
        let fields = [("session", &*made.id), ("do", "accept")];
        assert_eq!(sandbox.post("/answer", &headers, &fields).status, 403, "{headers:?}");
        assert_eq!(sandbox.post("/sessions", &headers, &fields).status, 403, "{headers:?}");
        assert_eq!(sandbox.post("/providers", &headers, &fields).status, 403, "{headers:?}");
    }
    assert_eq!(tenant.read(&made.id)["status"], "PENDING", "nothing was answered");
    let page = sandbox.get("/");
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    assert!(page.head.contains("frame-ancestors 'none'"), "{}", page.head);
    let large = "x".repeat(1024 * 1024 + 1);
    assert_eq!(sandbox.press("/answer", &[("uri", &large)]).status, 413);
}

#[test]
fn the_keys_are_shown_once_and_the_folder_stays_the_same_sandbox() {
    let kept = tempfile::TempDir::new().unwrap();
    let folder = kept.path().join("sandbox");
    let flags = ["--data-dir", folder.to_str().unwrap()];
    let first = Sandbox::with(&flags);
    let (api_key, client_id) =
        (first.text("api_key").to_owned(), first.text("client_id").to_owned());
    assert!(api_key.starts_with("sk_test_"));
    drop(first);
    let second = Sandbox::with(&flags);
    assert_eq!(second.text("client_id"), client_id);
    for secret in ["api_key", "signing_secret"] {
        assert_eq!(second.told[secret], Value::Null, "{}", second.told);
    }
    let mut tenant = Tenant { http: Http::new(second.gateway()), api_key };
    let made = tenant.create(&request("vc+sd-jwt", "eu-pid", "1.0"));
    let answered = second.wallet(&[&made.uri, "--data-dir", folder.to_str().unwrap()]);
    assert_eq!(answered.code, 0, "{answered:?}");
    assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
}

#[test]
fn it_leaves_nothing_behind() {
    let mut sandbox = Sandbox::start();
    let folders = || std::fs::read_dir(sandbox.temporary.path()).unwrap().count();
    assert_eq!(folders(), 1);
    let pid = sandbox.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(sandbox.child.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(sandbox.temporary.path()).unwrap().count(), 0);
}

#[test]
fn webhooks_arrive_and_only_what_the_signing_secret_made_is_believed() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&request("mso_mdoc", "https://iaca.example", "draft"));
    sandbox.press("/answer", &[("session", &made.id), ("do", "accept")]);
    let shown = || sandbox.get("/live").body;
    eventually("the notification is shown", || shown().contains("signature good"));
    assert!(shown().contains(&made.id));
    let host = sandbox.page().to_string();
    let body = r#"{"session_id":"forged"}"#;
    let headers = [
        ("Host", &*host),
        ("webhook-id", "whf_1"),
        ("webhook-timestamp", "1790000000"),
        ("webhook-signature", "v1,AAAA"),
    ];
    let refused = exchange(sandbox.page(), "POST", "/webhooks", &headers, body);
    assert_eq!(refused.status, 400, "{refused:?}");
    let begun = Instant::now();
    while !shown().contains("forged") && begun.elapsed() < Duration::from_secs(5) {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(shown().contains("too far from the present"), "{}", shown());
}

/// A browser on a phone that trusts the sandbox's CA.
fn over_tls(sandbox: &Sandbox, at: SocketAddr, name: &str, path: &str) -> Answer {
    let ca = sandbox.get("/files/ca.pem").body;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = ServerName::try_from(name.to_owned()).unwrap();
    let connection = ClientConnection::new(Arc::new(config), server).unwrap();
    let stream = StreamOwned::new(connection, TcpStream::connect(at).unwrap());
    talk(stream, "GET", path, &[("Host", name)], "")
}

#[test]
fn on_the_lan_links_lead_to_its_https_which_has_the_gateway_and_not_the_page() {
    // Another address of this machine stands for the one of the network.
    let sandbox = Sandbox::with(&["--lan=127.0.0.2", "--name", "laptop.example"]);
    let base = sandbox.text("base_url").to_owned();
    let (name, port) = base.strip_prefix("https://").unwrap().split_once(':').unwrap();
    assert_eq!(name, "laptop.example");
    let lan: SocketAddr = format!("127.0.0.2:{port}").parse().unwrap();
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&request("vc+sd-jwt", "https://issuer.example", "haip"));
    let links = made.uri.replace("%3A", ":").replace("%2F", "/");
    assert!(links.contains(&base), "{links}");
    let (_, request_uri) = links.split_once("request_uri=").unwrap();
    let path = request_uri.strip_prefix(&base).unwrap().split('&').next().unwrap();
    for name in ["laptop.example", "127.0.0.2", "localhost"] {
        let fetched = over_tls(&sandbox, lan, name, path);
        assert_eq!(fetched.status, 200, "{name}: {fetched:?}");
        assert!(fetched.head.contains("application/oauth-authz-req+jwt"), "{}", fetched.head);
    }
    for path in ["/live", "/page.js", "/answer"] {
        assert_eq!(over_tls(&sandbox, lan, name, path).status, 404, "{path}");
    }
    assert!(!over_tls(&sandbox, lan, name, "/").body.contains("idgate sandbox"));
    assert_eq!(over_tls(&sandbox, lan, name, "/lists/pid.jwt").status, 200);
    // The page and the shell answer such links all the same.
    sandbox.press("/answer", &[("session", &made.id), ("do", "accept")]);
    assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
    let made = tenant.create(&request("mso_mdoc", "https://iaca.example", "1.0"));
    let answered = sandbox.wallet(&[&made.uri]);
    assert_eq!(answered.code, 0, "{answered:?}");
    assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
}
