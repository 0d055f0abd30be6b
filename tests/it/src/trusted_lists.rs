//! European trusted lists through the real binary: imports from files and from a server over TLS,
//! and the effect of a changed list on credentials.

mod attacks;
mod fixed;
mod lotl;
mod nodes;
mod xml;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use idgate_testkit::codec::HashAlg;
use idgate_testkit::gzip::gzip;
use idgate_testkit::keys::{Curve, SigningKey, pem};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::trusted_list::{Kind, TrustedList, list_signer, provider};
use idgate_testkit::x509::{self, CertificateBuilder, Identity, Name};
use serde_json::{Value, json};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::mdoc_tamper::{Authority, ISSUER_ID, Scenario, VERIFIED, mdl_request};
use crate::server::{Client, Installation, Output};
use crate::tenant::{Created, Gateway, Tenant, now_ms};

const SERVER_AUTH: &str = "1.3.6.1.5.5.7.3.1";

/// The signer of all lists in this run. Its certificate is always the same.
fn the_signer() -> Identity {
    static MADE_AT: OnceLock<u64> = OnceLock::new();
    list_signer(*MADE_AT.get_or_init(now_ms))
}

/// A list of issuers of driving licences.
pub(crate) fn mdl_list(number: u64, certificates: &[&[u8]]) -> TrustedList {
    let list = TrustedList::new(Kind::Mdl, now_ms()).numbered(number);
    match certificates.is_empty() {
        true => list,
        false => {
            let services = [Kind::Mdl.issuance(certificates)];
            list.with(provider("Utopia roads", "NTRUT-1", "UT", &services))
        }
    }
}

pub(crate) fn token(list: &TrustedList) -> String {
    list.sign(&the_signer())
}

#[track_caller]
pub(crate) fn import(installation: &Installation, place: &str, more: &[&str]) -> Output {
    let anchor = installation.file("list-signer.der", the_signer().der);
    let anchor = anchor.to_str().unwrap();
    let add = ["trust", "add", ISSUER_ID, "--trusted-list", place, "--list-signer-ca", anchor];
    installation.run(&[&add[..], &["--revocation", "off", "--json"], more].concat())
}

fn production() -> Installation {
    Installation::new().with("IDGATE_ENVIRONMENT", "production")
}

/// A gateway and a tenant.
struct Desk {
    gateway: Gateway,
    tenant: Tenant,
    authority: Authority,
}

impl Desk {
    /// A gateway in production whose entry follows a list with this certificate of an authority.
    fn listing(certificate: fn(&Authority) -> &Identity) -> Self {
        Self::listing_for(production(), certificate, &[])
    }

    fn listing_for(
        installation: Installation,
        certificate: fn(&Authority) -> &Identity,
        more: &[&str],
    ) -> Self {
        let client = installation.create_client("shop", false);
        let authority = Authority::new(now_ms());
        let list = mdl_list(7, &[&certificate(&authority).der]);
        let file = installation.file("list.jwt", token(&list));
        let taken = import(&installation, file.to_str().unwrap(), more);
        assert_eq!(taken.code, 0, "{taken:?}");
        Self::serve(installation, client, authority)
    }

    fn serve(installation: Installation, client: Client, authority: Authority) -> Self {
        let server = installation.serve();
        let gateway = Gateway { server, client, installation };
        let tenant = gateway.tenant();
        Self { gateway, tenant, authority }
    }

    /// The state of a session after an answer with a licence of the authority.
    fn session(&mut self) -> Value {
        let created = self.tenant.create(&mdl_request());
        self.answered(&created)
    }

    fn answered(&mut self, created: &Created) -> Value {
        let request = AuthorizationRequest::parse(&created.uri).unwrap();
        let now_ms = self.gateway.installation.now_ms();
        let body = Scenario::answering(&self.authority, request, now_ms).body();
        self.tenant.post_answer(&created.id, &body);
        self.tenant.read(&created.id)
    }

    fn outcome(&mut self) -> String {
        let created = self.tenant.create(&mdl_request());
        self.answer(&created)
    }

    /// The reason or else the status of a session after an answer.
    fn answer(&mut self, created: &Created) -> String {
        let session = self.answered(created);
        let outcome = session["reason"].as_str().or(session["status"].as_str());
        outcome.unwrap_or_default().to_owned()
    }
}

#[test]
fn a_live_session_in_production_trusts_listed_roots_and_names_their_provider() {
    let mut desk = Desk::listing(|authority| &authority.root);
    let session = desk.session();
    assert_eq!(session["status"], VERIFIED, "{session}");
    let credential = &session["verification_details"]["credentials"][0];
    assert_eq!(credential["trust"], "x5chain");
    assert_eq!(
        credential["provider"],
        json!({ "name": "Utopia roads", "identifier": "NTRUT-1", "country": "UT",
            "list_type": "mdl", "list_sequence": 7 })
    );
    // The next issue names no provider. It is in force without a restart.
    let file = desk.gateway.installation.file("list.jwt", token(&mdl_list(8, &[])));
    assert_eq!(import(&desk.gateway.installation, file.to_str().unwrap(), &[]).code, 0);
    let refused = desk.tenant.post_session(&mdl_request());
    assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
    let older = desk.gateway.installation.file("list.jwt", token(&mdl_list(7, &[])));
    assert_eq!(import(&desk.gateway.installation, older.to_str().unwrap(), &[]).code, 3);
}

#[test]
fn an_entry_with_a_list_and_a_key_accepts_only_types_that_it_names() {
    let installation = production();
    let key = SigningKey::from_seed(Curve::P256, "own key").public_jwk().to_string();
    let key = installation.file("own.jwk", key);
    let own = ["--jwk", key.to_str().unwrap(), "--claims", "given_name"];
    let mut desk = Desk::listing_for(installation, |authority| &authority.root, &own);
    let sd_jwt = json!({ "credentials": [
        { "format": "vc+sd-jwt", "issuer_id": ISSUER_ID, "claims": ["given_name"] }] });
    let refused = desk.tenant.post_session(&sd_jwt).expect_error(400, "unknown_issuer");
    assert!(refused.message().contains("--vct"), "{}", refused.message());
    assert_eq!(desk.outcome(), VERIFIED);
    // A request without a format is for the type that the entry names.
    let created = desk.tenant.create(&json!({ "issuer_id": ISSUER_ID }));
    assert!(created.uri.contains("mso_mdoc"), "{}", created.uri);
    let named = ["trust", "add", ISSUER_ID, "--vct", "urn:own:1"];
    assert_eq!(desk.gateway.installation.run(&named).code, 0);
    desk.tenant.create(&sd_jwt);
}

#[test]
fn an_entry_with_a_list_and_a_root_accepts_only_mdoc_types_that_it_names() {
    let installation = production();
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    let issuer = authority.root.der.clone();
    let services = [Kind::Pid.issuance(&[&issuer])];
    let list = TrustedList::new(Kind::Pid, now_ms());
    let list = list.with(provider("Utopia people", "NTRUT-2", "UT", &services));
    let file = installation.file("list.jwt", token(&list));
    let root = installation.file("own.der", &issuer);
    let own = ["--vct", "urn:pid:1", "--root", root.to_str().unwrap()];
    let taken = import(&installation, file.to_str().unwrap(), &own);
    assert_eq!(taken.code, 0, "{taken:?}");
    let mut desk = Desk::serve(installation, client, authority);
    let refused = desk.tenant.post_session(&mdl_request()).expect_error(400, "unknown_issuer");
    assert!(refused.message().contains("--doc-type"), "{}", refused.message());
    let shown = desk.gateway.installation.run(&["trust", "check"]);
    assert!(!format!("{shown:?}").contains("mdocs of any type"), "{shown:?}");
    let named = ["trust", "add", ISSUER_ID, "--doc-type", "org.iso.18013.5.1.mDL"];
    assert_eq!(desk.gateway.installation.run(&named).code, 0);
    assert_eq!(desk.outcome(), VERIFIED);
}

#[test]
fn a_listed_signer_serves_live_sessions_in_production() {
    let mut desk = Desk::listing(|authority| &authority.signer);
    let signer = desk.authority.signer.der.clone();
    let session = desk.session();
    assert_eq!(session["status"], VERIFIED, "{session}");
    let credential = &session["verification_details"]["credentials"][0];
    assert_eq!(credential["trust"], "listed_signer");
    let hash: String = HashAlg::Sha256.hash(&signer).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(credential["trust_anchor_sha256"], hash);
    assert_eq!(credential["provider"]["identifier"], "NTRUT-1");
}

#[test]
fn an_overdue_list_is_refused_without_allow_stale() {
    let installation = production();
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    // The import refuses an overdue list, and accepts it with --allow-stale.
    let stale = mdl_list(7, &[&authority.root.der])
        .scheme("NextUpdate", json!(idgate_testkit::mdoc::rfc3339(now_ms() - 1000)));
    let file = installation.file("list.jwt", token(&stale));
    let file = file.to_str().unwrap().to_owned();
    let refused = import(&installation, &file, &[]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("was due to be replaced on"), "{refused:?}");
    assert_eq!(import(&installation, &file, &["--allow-stale"]).code, 0);
    let mut desk = Desk::serve(installation, client, authority);
    assert_eq!(desk.outcome(), VERIFIED);
}

/// A server of lists over TLS.
struct Lists {
    url: String,
    ca: Identity,
    served: Arc<Served>,
}

#[derive(Default)]
struct Served {
    answer: Mutex<Vec<u8>>,
    /// Called before each byte of an answer, if it is sent byte by byte.
    before_each: Mutex<Option<Box<dyn FnMut() + Send>>>,
    /// The number of requests.
    asked: AtomicUsize,
}

impl Lists {
    fn start() -> Self {
        let key = SigningKey::from_seed(Curve::P256, "lists TLS root");
        let name = Name::new("UT", "Lists TLS root");
        let ca = CertificateBuilder::iaca_root(name, &key, now_ms()).self_sign(&key);
        let key = SigningKey::from_seed(Curve::P256, "lists TLS");
        let name = Name::new("UT", "lists");
        let leaf = CertificateBuilder::new(name.clone(), name, &key, now_ms(), 30)
            .set(x509::SUBJECT_ALT_NAME, false, x509::ip_names([127, 0, 0, 1]))
            .set(x509::EXT_KEY_USAGE, false, x509::ext_key_usage(&[SERVER_AUTH]))
            .under(&ca)
            .issue(&ca, &key);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/mdl.json", listener.local_addr().unwrap());
        let (served, config) = (Arc::<Served>::default(), config_of(&leaf));
        let of_thread = served.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = ServerConnection::new(config.clone()).unwrap();
                let stream = BufReader::new(StreamOwned::new(connection, stream));
                let served = of_thread.clone();
                thread::spawn(move || served.serve(stream));
            }
        });
        Self { url, ca, served }
    }

    /// Answers byte by byte from now on, and calls `before_each` before each byte.
    fn drip(&self, before_each: impl FnMut() + Send + 'static) {
        *self.served.before_each.lock().unwrap() = Some(Box::new(before_each));
    }

    fn asked(&self) -> usize {
        self.served.asked.load(Ordering::SeqCst)
    }

    fn give(&self, head: &str, body: &[u8]) {
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len());
        *self.served.answer.lock().unwrap() = [head.as_bytes(), body].concat();
    }

    fn installation(&self) -> Installation {
        self.reached_from(Installation::new())
    }

    fn reached_from(&self, installation: Installation) -> Installation {
        let installation = installation.with("IDGATE_FETCH_ALLOW_CIDRS", "127.0.0.0/8");
        let ca = installation.file("lists-ca.pem", pem("CERTIFICATE", &self.ca.der));
        installation.with("IDGATE_EXTRA_CA_FILE", ca.to_str().unwrap())
    }
}

impl Served {
    fn serve(&self, mut stream: BufReader<StreamOwned<ServerConnection, TcpStream>>) {
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
            line.clear();
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.lock().unwrap().clone();
        let stream = stream.get_mut();
        // The client may have disconnected.
        let _ = match &mut *self.before_each.lock().unwrap() {
            None => stream.write_all(&answer),
            Some(before) => answer.iter().try_for_each(|byte| {
                before();
                stream.write_all(&[*byte])?;
                stream.flush()
            }),
        };
        stream.conn.send_close_notify();
        let _ = stream.flush();
    }
}

fn config_of(leaf: &Identity) -> Arc<ServerConfig> {
    let key = leaf.key.private_pem();
    let body: String = key.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = base64_of(&body);
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(leaf.der.clone())],
            PrivatePkcs8KeyDer::from(der).into(),
        );
    Arc::new(config.unwrap())
}

fn base64_of(text: &str) -> Vec<u8> {
    let text = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
    idgate_testkit::codec::from_base64url(&text).unwrap()
}

#[test]
fn a_list_is_fetched_over_tls_and_a_bad_answer_changes_nothing() {
    let lists = Lists::start();
    let installation = lists.installation();
    let client = installation.create_client("shop", false);
    let authority = Authority::new(now_ms());
    lists.give(
        "200 OK\r\nContent-Type: text/html",
        token(&mdl_list(7, &[&authority.root.der])).as_bytes(),
    );
    let taken = import(&installation, &lists.url, &["--etsi-tl"]);
    assert_eq!(taken.code, 0, "{taken:?}");
    let mut desk = Desk::serve(installation, client, authority);
    assert_eq!(desk.outcome(), VERIFIED);
    let installation = &desk.gateway.installation;
    let refresh = || installation.run(&["trust", "refresh", "--json"]);
    let good = token(&mdl_list(9, &[]));
    for (head, body, outcome, why) in [
        ("200 OK", &b"<html>log in</html>"[..], "refused", "is XML"),
        ("503 Service Unavailable", b"", "fetch_failed", "http_status_503"),
        ("200 OK\r\nContent-Encoding: br", good.as_bytes(), "fetch_failed", "content_encoding"),
        ("200 OK\r\nContent-Encoding: gzip", good.as_bytes(), "fetch_failed", "bad_gzip"),
        ("302 Found\r\nLocation: http://127.0.0.1/", b"", "fetch_failed", "redirect_refused"),
        ("302 Found\r\nLocation: https://10.0.0.1/", b"", "fetch_failed", "redirect_blocked"),
        ("302 Found\r\nLocation: /again", b"", "fetch_failed", "too_many_redirects"),
        (
            "200 OK",
            token(&mdl_list(6, &[])).as_bytes(),
            "rollback",
            "has number 6, and 7 was seen on",
        ),
    ] {
        lists.give(head, body);
        let refreshed = refresh();
        let told = &refreshed.json()["lists"][0];
        assert_eq!(told["outcome"], outcome, "{head}: {refreshed:?}");
        assert!(told["why"].as_str().unwrap().contains(why), "{head}: {told}");
    }
    let cut = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{good}", good.len() + 1);
    *lists.served.answer.lock().unwrap() = cut.into_bytes();
    assert_eq!(refresh().json()["lists"][0]["outcome"], "fetch_failed");
    assert_eq!(desk.outcome(), VERIFIED, "the former list is still in force");
    let installation = &desk.gateway.installation;
    lists.give("200 OK\r\nContent-Encoding: gzip", &gzip(good.as_bytes()));
    let refreshed = installation.run(&["trust", "refresh", "--json"]);
    assert_eq!(refreshed.json()["lists"][0]["outcome"], "new");
    let refused = desk.tenant.post_session(&mdl_request());
    assert_eq!((refused.status, refused.error()), (400, "unknown_issuer".into()));
}

#[test]
fn a_list_is_not_fetched_from_private_addresses_unless_allowed() {
    let lists = Lists::start();
    let installation = lists.installation().with("IDGATE_FETCH_ALLOW_CIDRS", "");
    lists.give("200 OK", token(&mdl_list(7, &[])).as_bytes());
    let refused = import(&installation, &lists.url, &[]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("address_blocked"), "{refused:?}");
}
