//! The sandbox is isolated: where it starts, who can reach it, and what it leaves behind.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::webhook::{Attempt, SigningSecret};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::*;
use crate::server::{eventually, outlives_terminals};
use crate::tenant::now_ms;
use crate::webhooks::receiver::Receiver;

#[test]
fn the_sandbox_does_not_start_in_production_or_staging() {
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
fn sandbox_listeners_are_on_loopback_only() {
    for (flags, code, why) in [
        (&["--page-listen", "0.0.0.0:0"][..], 2, "is not loopback"),
        (&["--https-listen", "192.0.2.1:8443"], 2, "is not loopback"),
        (&["--page-listen", "127.0.0.2:0"], 2, "must be on 127.0.0.1"),
        (&["--https-listen", "[::1]:0"], 2, "must be on 127.0.0.1"),
        (&["--https-listen", "[::ffff:127.0.0.1]:0"], 2, "must be on 127.0.0.1"),
        (&["--lan=0.0.0.0"], 2, "is not the address of one machine"),
        (&["--lan=::"], 2, "is not the address of one machine"),
        (&["--lan=::ffff:0.0.0.0"], 2, "is not the address of one machine"),
        (&["--lan=224.0.0.251"], 2, "is not the address of one machine"),
        (&["--lan=ff02::1"], 2, "is not the address of one machine"),
        (&["--lan=255.255.255.255"], 2, "is not the address of one machine"),
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
            "use --lan",
        ),
        (&["--name", "a/b"], 2, "is not a host name"),
        (&["--tls-cert", "cert.pem", "--tls-key", "key.pem"], 1, "has its own https"),
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
fn the_console_checks_host_and_origin() {
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
        assert_eq!(sandbox.post("/webhooks", &headers, &fields).status, 403, "{headers:?}");
        for path in ["/hosts", "/keys", "/offers", "/withdraw", "/webhooks/test", "/webhooks/retry"]
        {
            assert_eq!(sandbox.post(path, &headers, &fields).status, 403, "{path} {headers:?}");
        }
    }
    assert_eq!(tenant.read(&made.id)["status"], "PENDING", "nothing was answered");
    let page = sandbox.get("/");
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    assert!(page.head.contains("frame-ancestors 'none'"), "{}", page.head);
    let large = "x".repeat(1024 * 1024 + 1);
    assert_eq!(sandbox.press("/answer", &[("uri", &large)]).status, 413);
}

/// Ends it like service managers, Ctrl-C and closing a terminal.
#[test]
fn the_sandbox_leaves_nothing_behind() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        if signal == "-HUP" && outlives_terminals() {
            eprintln!("skipped: these tests were begun so that they outlive their terminal");
            continue;
        }
        let mut sandbox = Sandbox::start();
        let folders = || std::fs::read_dir(sandbox.temporary.path()).unwrap().count();
        assert_eq!(folders(), 1);
        let pid = sandbox.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert!(sandbox.child.wait().unwrap().success(), "{signal}");
        assert_eq!(std::fs::read_dir(sandbox.temporary.path()).unwrap().count(), 0, "{signal}");
    }
}

/// A developer's own service, under a name that has to be reviewed.
#[test]
fn a_held_webhook_shows_on_the_console_and_can_be_approved() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let key = tenant.api_key.clone();
    for (host, by_button) in [("127.0.0.3", true), ("127.0.0.4", false)] {
        let service = Receiver::start_at(host.parse().unwrap());
        assert!(!sandbox.get("/webhooks").body.contains(host));
        let url = json!({ "url": service.url("/hook") });
        let put = Request::new("PUT", "/v1/webhook-endpoint").bearer(&key).json(&url);
        let put = tenant.http.send(&put).expect_status(200).json();
        assert_eq!(put["host_status"], "PENDING");
        let page = sandbox.get("/webhooks").body;
        let command = page.split_once("idgate webhook-host approve ").unwrap().1;
        let command = command.split_once("</code>").unwrap().0.replace("&#39;", "'");
        assert!(page.contains("held") && command.starts_with(host), "{page}");
        let made = tenant.create(&request("vc+sd-jwt", "https://issuer.example", "1.0"));
        sandbox.press("/answer", &[("session", &made.id), ("do", "accept")]);
        eventually("the notification waits", || {
            let pending = Request::get("/v1/webhooks/pending").bearer(&key);
            let pending = tenant.http.send(&pending).expect_status(200).json();
            pending["pending"][0]["held"] == true
        });
        if by_button {
            let pressed = sandbox.press("/hosts", &[("host", host)]);
            assert_eq!(pressed.status, 303, "{pressed:?}");
        } else {
            let folder = command.split_once("--data-dir '").unwrap().1.trim_end_matches('\'');
            let approve = ["webhook-host", "approve", host, "--data-dir", folder];
            let approved = output(&mut sandbox.installation.command(&approve));
            assert_eq!(approved.code, 0, "{approved:?}");
        }
        service.wait_for(1);
        assert_eq!(service.sessions(), [made.id]);
        let page = sandbox.get("/webhooks").body;
        assert!(!page.contains("webhook-host approve"), "{page}");
    }
    sandbox.press("/hosts", &[("host", "a/b")]);
    assert!(sandbox.get("/webhooks").body.contains("that is not a host name"));
}

#[test]
fn webhooks_arrive_and_forged_ones_are_rejected() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&request("mso_mdoc", "https://iaca.example", "draft"));
    sandbox.press("/answer", &[("session", &made.id), ("do", "accept")]);
    let shown = || sandbox.get("/webhooks").body;
    eventually("the notification is shown", || shown().contains("signature good"));
    assert!(shown().contains(&made.id));
    let host = sandbox.page().to_string();
    let post = |headers: &[(&str, &str)], body: &str| {
        let headers = [&[("Host", &*host)], headers].concat();
        exchange(sandbox.page(), "POST", "/webhooks", &headers, body).status
    };
    let secret = SigningSecret::new(sandbox.text("signing_secret")).unwrap();
    let body = r#"{"session_id":"signed"}"#;
    let at = UnixMillis(now_ms());
    let attempt = Attempt { id: "whf_1", at, number: 1, body: body.as_bytes() };
    let headers = attempt.headers(&PROVIDER, &secret, None);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
    assert_eq!(post(&headers, body), 200);
    assert!(!shown().contains("is not valid"), "{}", shown());
    // The time is right in all of these, so only the signature is wrong.
    let seconds = (at.0 / 1000).to_string();
    let bare = [("webhook-id", "whf_2"), ("webhook-timestamp", &*seconds)];
    let forged = [&bare[..], &[("webhook-signature", "v1,AAAA")]].concat();
    let other = SigningSecret::new("whsec_c2VjcmV0IG9mIDMyIGJ5dGVzIGZvciBhIHRlc3QhISE=").unwrap();
    let others = attempt.headers(&PROVIDER, &other, None);
    let others: Vec<_> = others.iter().map(|(name, value)| (*name, &**value)).collect();
    for (headers, body) in [
        (&headers, r#"{"session_id":"changed"}"#),
        (&forged, r#"{"session_id":"forged"}"#),
        (&bare.to_vec(), r#"{"session_id":"unsigned"}"#),
        (&others, r#"{"session_id":"of-another-secret"}"#),
    ] {
        assert_eq!(post(headers, body), 400, "{body}");
        let shown = shown();
        let (_, newest) = shown.split_once("<div class=\"box\">").unwrap();
        let newest = newest.split("</pre>").next().unwrap();
        assert!(newest.contains("signature is not valid for this secret and body"), "{newest}");
        assert!(newest.contains(body.split('"').nth(3).unwrap()), "{newest}");
    }
    // A valid one from long ago.
    let stale = Attempt { at: UnixMillis(at.0 - 6 * 60 * 1000), ..attempt };
    let stale = stale.headers(&PROVIDER, &secret, None);
    let stale: Vec<_> = stale.iter().map(|(name, value)| (*name, &**value)).collect();
    assert_eq!(post(&stale, body), 400);
    assert!(shown().contains("differs too much"), "{}", shown());
}

/// A browser on a phone that trusts the sandbox's CA.
fn over_tls(sandbox: &Sandbox, at: SocketAddr, name: &str, path: &str) -> Answer {
    talk(tls(sandbox, at, name), "GET", path, &[("Host", name)], "")
}

fn tls(sandbox: &Sandbox, at: SocketAddr, name: &str) -> StreamOwned<ClientConnection, TcpStream> {
    let on_network = at.ip() != std::net::Ipv4Addr::LOCALHOST;
    let ca = if on_network { "/files/phone-ca.pem" } else { "/files/ca.pem" };
    let ca = sandbox.get(ca).body;
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
    StreamOwned::new(connection, TcpStream::connect(at).unwrap())
}

#[test]
fn on_the_lan_https_serves_the_gateway_but_not_the_console() {
    // Another loopback address takes the place of the LAN address.
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
    for name in ["laptop.example", "127.0.0.2"] {
        let fetched = over_tls(&sandbox, lan, name, path);
        assert_eq!(fetched.status, 200, "{name}: {fetched:?}");
        assert!(fetched.head.contains("application/oauth-authz-req+jwt"), "{}", fetched.head);
    }
    for path in ["/sessions", "/keys", "/console.js", "/console.css", "/done"] {
        assert_ne!(sandbox.get(path).status, 404, "{path}");
        assert_eq!(over_tls(&sandbox, lan, name, path).status, 404, "{path}");
    }
    let form = format!("session={}&do=accept&ask=licence&provider=utopia&listed=false", made.id);
    let host = sandbox.gateway().to_string();
    for path in ["/answer", "/sessions", "/providers", "/webhooks", "/hosts", "/keys"] {
        let posted = talk(tls(&sandbox, lan, name), "POST", path, &[("Host", name)], &form);
        // Like the gateway itself, which has no such route.
        let own = exchange(sandbox.gateway(), "POST", path, &[("Host", &host)], &form);
        assert_eq!((posted.status, &posted.body), (404, &own.body), "{path}: {posted:?}");
        assert_eq!(own.status, 404, "{path}: {own:?}");
    }
    assert_eq!(tenant.read(&made.id)["status"], "PENDING", "nothing was answered");
    assert!(!sandbox.get("/issuers").body.contains("withdrawn"));
    assert!(sandbox.get("/webhooks").body.contains("Nothing has arrived yet"));
    let sessions = sandbox.get("/sessions").body;
    assert_eq!(sessions.matches("<li id=\"row-").count(), 1, "{sessions}");
    assert!(!over_tls(&sandbox, lan, name, "/").body.contains("idgate sandbox"));
    assert_eq!(over_tls(&sandbox, lan, name, "/lists/pid.jwt").status, 200);
    // The console and the wallet command answer such links nevertheless.
    sandbox.press("/answer", &[("session", &made.id), ("do", "accept")]);
    assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
    let made = tenant.create(&request("mso_mdoc", "https://iaca.example", "1.0"));
    let answered = sandbox.wallet(&[&made.uri]);
    assert_eq!(answered.code, 0, "{answered:?}");
    assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
}

#[test]
fn requests_by_sandbox_https_cannot_forge_their_address() {
    let installation = Installation::in_directory()
        .with("IDGATE_RATE_LIMITS", "on")
        .with("IDGATE_TRUSTED_PROXIES", "127.0.0.0/8")
        .with_machine();
    let sandbox = Sandbox::on(installation, &[]);
    sandbox.installation.machine().freeze();
    let (_, port) = sandbox.text("https_url").rsplit_once(':').unwrap();
    let at: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    // More failed authentications than one peer may have.
    let told = (0..40).map(|n| {
        let (from, forwarded) = (format!("203.0.113.{n}"), format!("for=203.0.113.{n}"));
        let headers = [
            ("Host", "localhost"),
            ("X-Forwarded-For", &*from),
            ("Forwarded", &*forwarded),
            ("Authorization", "Bearer sk_test_wrong"),
        ];
        talk(tls(&sandbox, at, "localhost"), "GET", "/v1/sessions/ses_1", &headers, "").status
    });
    let told: Vec<_> = told.collect();
    assert_eq!((told[0], told[39]), (401, 429), "{told:?}");
}

/// A developer's command, in a folder without a gateway.
fn developers(sandbox: &Sandbox, temporary: &tempfile::TempDir, arguments: &[&str]) -> Output {
    let folder = tempfile::TempDir::new().unwrap();
    let mut command = sandbox.installation.command(arguments);
    command.env_remove("IDGATE_DATA_DIR").env_remove("IDGATE_DATABASE_URL");
    output(command.env("TMPDIR", temporary.path()).current_dir(folder.path()))
}

#[test]
fn developer_commands_find_the_running_sandbox_and_say_so() {
    let sandbox = Sandbox::start();
    let here = &sandbox.temporary;
    for arguments in [&["client", "list"][..], &["trust", "list"], &["trust", "check"]] {
        let found = developers(&sandbox, here, arguments);
        assert_eq!(found.code, 0, "{arguments:?}: {found:?}");
        assert!(found.stderr.contains("on the running sandbox, in "), "{arguments:?}: {found:?}");
    }
    let clients = developers(&sandbox, here, &["client", "list"]);
    assert!(clients.stdout.contains(sandbox.text("client_id")), "{clients:?}");
    // A setting that names another store takes precedence.
    let named = tempfile::TempDir::new().unwrap();
    let folder = named.path().join("none");
    let other = ["client", "list", "--data-dir", folder.to_str().unwrap()];
    let refused = developers(&sandbox, here, &other);
    assert!(refused.code == 1 && !refused.stderr.contains("running sandbox"), "{refused:?}");
    for environment in ["staging", "production"] {
        let arguments = ["client", "list", "--environment", environment];
        let refused = developers(&sandbox, here, &arguments);
        assert!(refused.code == 1 && !refused.stderr.contains("running sandbox"), "{refused:?}");
    }
    // Other commands do not look for a sandbox.
    let refused = developers(&sandbox, here, &["keys", "list"]);
    assert!(refused.code == 1 && !refused.stderr.contains("running sandbox"), "{refused:?}");
}

#[test]
fn two_running_sandboxes_are_an_error_that_names_both() {
    let first = Sandbox::start();
    let mut second = command(&first.installation, &first.temporary, &["--listen", "127.0.0.1:0"]);
    let mut second = second.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stdout = second.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    let refused = developers(&first, &first.temporary, &["client", "list"]);
    second.kill().unwrap();
    second.wait().unwrap();
    assert_eq!(refused.code, 1, "{refused:?}");
    let folders = std::fs::read_dir(first.temporary.path()).unwrap().flatten();
    let names: Vec<_> = folders
        .map(|folder| folder.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("idgate-sandbox-"))
        .collect();
    assert_eq!(names.len(), 2);
    assert!(names.iter().all(|name| refused.stderr.contains(&**name)), "{refused:?}");
}

#[test]
fn the_wallet_command_names_its_holder_and_has_the_documented_samples() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&request("vc+sd-jwt", "https://issuer.example", "1.0"));
    let shown = sandbox.wallet(&[&made.uri]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let whose = shown.json()["credentials"].as_str().unwrap().to_owned();
    assert!(whose.contains("utopia") && whose.contains("sandbox at"), "{whose}");
    // Signed by issuers that the sandbox does not trust.
    let made = tenant.create(&request("vc+sd-jwt", "https://issuer.example", "1.0"));
    let shown = sandbox.wallet(&["--samples", &made.uri]);
    assert_eq!(shown.code, 3, "{shown:?}");
    assert_eq!(shown.json()["credentials"], "the built-in samples");
    assert_eq!(outcome(&tenant.read(&made.id)), "issuer_signature_invalid");
}

#[test]
fn the_sandbox_ignores_idgate_data_dir_and_says_so() {
    let sandbox = Sandbox::start();
    let temporary = tempfile::TempDir::new().unwrap();
    let named = tempfile::TempDir::new().unwrap();
    let mut run = command(&sandbox.installation, &temporary, &["--listen", "127.0.0.1:0"]);
    run.env("IDGATE_DATA_DIR", named.path()).stdout(std::process::Stdio::piped());
    let mut child = run.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let stderr = child.stderr.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stderr), &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("IDGATE_DATA_DIR") && line.contains("--data-dir"), "{line}");
    assert_eq!(std::fs::read_dir(named.path()).unwrap().count(), 0);
}

#[test]
fn the_first_request_of_the_readme_works_word_for_word() {
    let readme = std::fs::read_to_string("../../README.md").unwrap();
    let (_, over_http) = readme.split_once("## HTTP API").unwrap();
    let (_, body) = over_http.split_once("-d '").unwrap();
    let (body, _) = body.split_once('\'').unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    let created = tenant.create(&body);
    assert_eq!(sandbox.wallet(&[&created.uri]).code, 0);
    let session = tenant.read(&created.id);
    assert_eq!(session["status"], "VERIFIED");
    assert_eq!(session["claims"]["credential_1"]["given_name"], "Erika");
}
