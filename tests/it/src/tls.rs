//! TLS in-process: the certificate, its renewal by SIGHUP, and the cost of peers that have sent
//! nothing.

use std::io::{BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use idgate_testkit::keys::{Curve, SigningKey, pem};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::contract;
use crate::http::{Request, Response, connect, exchange, read_response, read_to_close};
use crate::server::{Installation, Server, eventually};
use crate::tenant::{now_ms, request_for, sample_trust};
use crate::ws;

const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";
/// The limit of connections from one address (decisions 17).
const PER_PEER: usize = 256;

type Stream = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// A private CA, an installation with a certificate from it, and the files of both.
struct Site {
    root: Identity,
    installation: Installation,
}

impl Site {
    fn new() -> Self {
        let key = SigningKey::from_seed(Curve::P256, "tls root");
        let name = Name::new("UT", "Utopia TLS root");
        let root = CertificateBuilder::iaca_root(name, &key, now_ms()).self_sign(&key);
        let installation = Installation::new();
        let path = |name| installation.file(name, "").to_str().unwrap().to_owned();
        let (cert, key) = (path("tls.pem"), path("tls.key"));
        let installation = installation.with("IDGATE_TLS_CERT", &cert);
        let site = Self { root, installation: installation.with("IDGATE_TLS_KEY", &key) };
        site.install(&site.certificate("first"));
        site
    }

    fn certificate(&self, seed: &str) -> Identity {
        let key = SigningKey::from_seed(Curve::P256, seed);
        let name = Name::new("UT", seed);
        CertificateBuilder::new(name.clone(), name, &key, now_ms(), 30)
            .set(x509::SUBJECT_ALT_NAME, false, x509::ip_names([127, 0, 0, 1]))
            .set(x509::EXT_KEY_USAGE, false, x509::ext_key_usage(&[SERVER_AUTH]))
            .under(&self.root)
            .issue(&self.root, &key)
    }

    fn install(&self, identity: &Identity) {
        self.installation.file("tls.key", identity.key.private_pem());
        self.installation.file("tls.pem", pem("CERTIFICATE", &identity.der));
    }

    /// A connection that trusts only this CA.
    fn connect(&self, address: SocketAddr) -> Stream {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.root.der.clone())).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::from(address.ip());
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        BufReader::new(StreamOwned::new(connection, connect(address).unwrap()))
    }

    /// The certificate that a new connection gets.
    fn shown(&self, server: &Server) -> Vec<u8> {
        let mut stream = self.connect(server.address);
        get(&mut stream, "/healthz").expect_status(200);
        stream.get_ref().conn.peer_certificates().unwrap()[0].to_vec()
    }
}

fn get(stream: &mut Stream, path: &str) -> Response {
    let head = format!("GET {path} HTTP/1.1\r\nHost: gateway.example\r\n\r\n");
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    let response = read_response(stream, "GET").unwrap();
    contract::check("GET", path, &response);
    response
}

#[test]
fn a_websocket_works_over_tls() {
    let site = Site::new();
    let client = site.installation.create_client("shop", true);
    site.installation.trust(&sample_trust(), &[]);
    let server = site.installation.serve();
    let mut http = site.connect(server.address);
    let body = request_for(&["given_name"]);
    let create = Request::post("/v1/sessions").bearer(&client.api_key).json(&body);
    http.get_mut().write_all(&create.encode(server.address)).unwrap();
    let created = read_response(&mut http, "POST").unwrap().expect_status(201).json();
    let target = format!("{}/ws", created["session_id"].as_str().unwrap());
    let connection = site.connect(server.address);
    let mut stream =
        ws::Stream::over(connection, server.address, &target, &client.api_key).unwrap();
    assert_eq!(stream.statuses(2), ["CREATED", "PENDING"]);
    server.terminate();
    assert_eq!(stream.close(), Some(1001));
}

#[test]
fn a_gateway_with_a_certificate_speaks_tls_and_says_so_in_its_links() {
    let site = Site::new();
    let client = site.installation.create_client("shop", true);
    site.installation.trust(&sample_trust(), &[]);
    let server = site.installation.serve();
    assert!(server.base_url.starts_with("https://127.0.0.1:"), "{}", server.base_url);
    let mut stream = site.connect(server.address);
    get(&mut stream, "/readyz").expect_status(200);
    let body = request_for(&["given_name"]).to_string();
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        client.api_key,
        body.len()
    );
    stream.get_mut().write_all(head.as_bytes()).unwrap();
    let created = read_response(&mut stream, "POST").unwrap().expect_status(201).json();
    let link = created["qr_code_url"].as_str().unwrap();
    assert!(link.contains("response_uri=https%3A%2F%2F127.0.0.1"), "{link}");
    // The same port does not answer unencrypted requests.
    let plain = exchange(server.address, b"GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n");
    assert!(!plain.contains("HTTP/1.1"), "{plain}");
}

#[test]
fn sighup_loads_the_new_certificate_unless_its_files_are_bad() {
    let site = Site::new();
    let first = site.certificate("first");
    site.install(&first);
    let server = site.installation.serve();
    assert_eq!(site.shown(&server), first.der);
    let mut older = site.connect(server.address);
    get(&mut older, "/healthz").expect_status(200);
    // Nothing changes before the signal.
    let second = site.certificate("second");
    site.install(&second);
    assert_eq!(site.shown(&server), first.der);
    server.signal("HUP");
    eventually("the new certificate is shown", || site.shown(&server) == second.der);
    get(&mut older, "/healthz").expect_status(200);
    // A key of another certificate, no PEM, no file.
    let refused = || site.installation.log().matches("old certificate stays").count();
    let (other, certificate) = (site.certificate("third"), pem("CERTIFICATE", &second.der));
    let broken: [&dyn Fn(); 3] = [
        &|| drop(site.installation.file("tls.key", other.key.private_pem())),
        &|| drop(site.installation.file("tls.pem", "no certificate")),
        &|| std::fs::remove_file(site.installation.file("tls.pem", &certificate)).unwrap(),
    ];
    for (at, breaks) in broken.iter().enumerate() {
        breaks();
        server.signal("HUP");
        eventually("the refusal is logged", || refused() == at + 1);
        assert_eq!(site.shown(&server), second.der);
    }
    let log = site.installation.log();
    assert!(!log.contains("PRIVATE KEY"), "{log}");
}

#[test]
fn the_live_check_works_over_tls_and_warns_of_an_unloaded_certificate() {
    let site = Site::new();
    let server = site.installation.serve();
    let address = server.address.to_string();
    let ask = || {
        let output = site.installation.run(&["doctor", "--live", "--json", "--listen", &address]);
        let checks = output.json()["checks"].clone();
        let said = checks.as_array().unwrap().iter().map(|it| it["status"].as_str().unwrap());
        (output.code, said.map(str::to_owned).collect::<Vec<_>>())
    };
    assert_eq!(ask(), (0, vec!["ok".to_owned()]));
    let renewed = site.certificate("second");
    site.install(&renewed);
    assert_eq!(ask(), (0, vec!["ok".to_owned(), "warning".to_owned()]));
    server.signal("HUP");
    eventually("the new certificate is shown", || site.shown(&server) == renewed.der);
    assert_eq!(ask(), (0, vec!["ok".to_owned()]));
    // A gateway without TLS has other settings.
    let plain = Installation::new().serve();
    let plain = plain.address.to_string();
    let output = site.installation.run(&["doctor", "--live", "--listen", &plain]);
    assert_eq!(output.code, 3, "{output:?}");
}

#[test]
fn a_key_of_another_certificate_is_refused_at_start() {
    let site = Site::new();
    let other = SigningKey::from_seed(Curve::P256, "other");
    site.installation.file("tls.key", other.private_pem());
    let output = site.installation.run(&["serve"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("IDGATE_TLS_KEY"), "{output:?}");
}

#[test]
fn connections_without_a_tls_handshake_are_limited_and_closed() {
    let mut site = Site::new();
    site.installation = site.installation.with_machine();
    let server = site.installation.serve();
    let machine = site.installation.machine();
    machine.freeze();
    let mut served = site.connect(server.address);
    let mut is_served = || get(&mut served, "/healthz").status == 200;
    assert!(is_served());
    let mut silent: Vec<_> = (1..PER_PEER).map(|_| connect(server.address).unwrap()).collect();
    // One more connection from this address is closed immediately: the others hold their places.
    eventually("all places are taken", || {
        let stream = connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        matches!(stream.peek(&mut [0]), Ok(0))
    });
    server.rest();
    machine.jump(Duration::from_secs(9));
    assert!(is_served());
    server.rest();
    for stream in &mut silent {
        stream.set_nonblocking(true).unwrap();
        assert_eq!(stream.peek(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        stream.set_nonblocking(false).unwrap();
    }
    machine.jump(Duration::from_secs(2));
    for stream in &mut silent {
        assert_eq!(read_to_close(stream), "");
    }
    eventually("there is room again", || {
        site.connect(server.address).get_mut().write_all(b"G").is_ok()
    });
}
