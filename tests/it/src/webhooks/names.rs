//! Host names whose answers an attacker controls, for webhooks and status list fetches of the real
//! binary: `names.c` is loaded before the system's resolver.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::thread;

use idgate_testkit::keys::Curve;
use idgate_testkit::samples;
use idgate_testkit::status::status_claim;
use idgate_testkit::wallet::Wallet;
use rusqlite::Connection;

use super::receiver::Receiver;
use super::{approve, deliver, put_url, settle};
use crate::server::{Installation, free_address};
use crate::tenant::{Gateway, form, now_ms, request_for};

/// A gateway whose host names resolve by the script, and which may reach 127.0.0.1.
struct Resolving {
    gateway: Gateway,
    script: PathBuf,
}

impl Resolving {
    fn start(script: &str) -> Self {
        let installation = Installation::new();
        let script = installation.file("names", script);
        let installation = installation
            .with("IDGATE_WEBHOOK_ALLOW_CIDRS", "127.0.0.1/32")
            .with("IDGATE_WEBHOOK_ALLOW_HTTP", "true")
            .with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.1/32")
            .with("IDGATE_NAMES", script.to_str().unwrap())
            .with_machine();
        let gateway = Gateway::start_on(installation);
        // A blocked notification is retried after some seconds.
        gateway.installation.machine().freeze();
        approve(&gateway, "shop.example");
        Self { gateway, script }
    }

    /// How often a name was resolved.
    fn asked(&self) -> usize {
        let notes = self.script.with_extension("asked");
        fs::read_to_string(notes).unwrap_or_default().lines().count()
    }

    /// The error of the only waiting notification.
    fn error(&self) -> Option<String> {
        let database = self.gateway.installation.data_dir().join("idgate.db");
        let sql = "SELECT error_message FROM webhook_deliveries";
        Connection::open(database).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// An internal host that listens on this port, which no other test uses there. Connections need no
/// waiting.
fn inside(port: u16) -> (IpAddr, TcpListener) {
    let host = free_address().ip();
    let listener = TcpListener::bind((host, port)).unwrap();
    listener.set_nonblocking(true).unwrap();
    (host, listener)
}

#[test]
fn dns_is_resolved_once_per_attempt() {
    let receiver = Receiver::start();
    let port = receiver.address().port();
    let (host, inside) = inside(port);
    // The first one is for the PUT, whose port is unusual.
    let outside = "shop.example 127.0.0.1\n";
    let resolving = Resolving::start(&format!("{outside}{outside}shop.example {host}\n"));
    let mut tenant = resolving.gateway.tenant();
    put_url(&mut tenant, &format!("http://shop.example:{port}/")).expect_status(200);
    assert_eq!(resolving.asked(), 1);
    settle(&mut tenant);
    deliver(&resolving.gateway, "it is delivered", || !receiver.all().is_empty());
    assert_eq!(receiver.all()[0].header("host"), format!("shop.example:{port}"));
    assert_eq!(resolving.asked(), 2);
    // Now that it resolves to an internal address, nothing is sent.
    settle(&mut tenant);
    deliver(&resolving.gateway, "it is blocked", || {
        resolving.error().as_deref() == Some("address_blocked")
    });
    assert!(inside.accept().is_err() && receiver.all().len() == 1);
    assert_eq!(resolving.asked(), 3);
}

#[test]
fn hosts_that_resolve_to_internal_addresses_are_not_notified() {
    let (_, inside) = inside(0);
    let port = inside.local_addr().unwrap().port();
    for (url, answer) in [
        ("https://shop.example/", "169.254.169.254"),
        ("https://shop.example/", "10.0.0.1"),
        ("https://shop.example/", "::1"),
        ("https://shop.example/", "fd00:ec2::254"),
        ("https://shop.example:8443/", "127.0.0.1,10.0.0.1"),
        ("https://shop.example:8443/", "::ffff:10.0.0.1"),
    ] {
        let resolving = Resolving::start(&format!("shop.example {answer}\n"));
        let mut tenant = resolving.gateway.tenant();
        // Nothing needs to be resolved before there is something to send.
        put_url(&mut tenant, url).expect_status(200);
        assert_eq!(resolving.asked(), 0);
        let odd = put_url(&mut tenant, &format!("https://shop.example:{port}/"));
        odd.expect_error(400, "invalid_webhook_endpoint");
        settle(&mut tenant);
        deliver(&resolving.gateway, "it is blocked", || {
            resolving.error().as_deref() == Some("address_blocked")
        });
        resolving.gateway.server.rest();
        assert!(inside.accept().is_err(), "{answer}");
        assert_eq!(resolving.asked(), 2, "{answer}");
    }
}

/// A wallet whose credential publishes its status at `uri`.
fn wallet_with_status(uri: &str) -> Wallet {
    let holder = samples::holder_key(Curve::P256);
    let credential = samples::identity(&holder, now_ms()).plain("status", status_claim(0, uri));
    Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)))
}

/// Presents a credential whose status cannot be determined.
fn present(gateway: &Gateway, uri: &str) {
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let answer = form(&wallet_with_status(uri), &created);
    tenant.post_answer(&created.id, &answer).expect_status(400);
    tenant.expect_failed(&created, "revocation_unknown");
}

#[test]
fn status_hosts_are_resolved_once_and_never_internal() {
    let list = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = list.local_addr().unwrap().port();
    let (host, inside) = inside(port);
    let uri = format!("http://list.example:{port}/1");
    // It resolves to the list when it is checked, and to an internal address after that.
    let resolving = Resolving::start(&format!("list.example 127.0.0.1\nlist.example {host}\n"));
    thread::scope(|scope| {
        let fetched = scope.spawn(|| {
            let (mut stream, _) = list.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let elsewhere = "Location: http://169.254.169.254/latest/meta-data/";
            let answer = format!("HTTP/1.1 302 Found\r\n{elsewhere}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        });
        present(&resolving.gateway, &uri);
        fetched.join().unwrap();
    });
    assert_eq!(resolving.asked(), 1);
    list.set_nonblocking(true).unwrap();
    let [alone, second] = [host.to_string(), format!("127.0.0.1,{host}")];
    for answer in [&*alone, &*second, "169.254.169.254", "10.0.0.1", "::1"] {
        let resolving = Resolving::start(&format!("list.example {answer}\n"));
        present(&resolving.gateway, &uri);
        assert_eq!(resolving.asked(), 1, "{answer}");
        assert!(list.accept().is_err() && inside.accept().is_err(), "{answer}");
    }
}
