//! `own_shell` over a real socket, with a wallet of OpenID4VP 1.0 and HAIP.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may stop at the first surprise

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use idgate_examples::now;
use idgate_testkit::keys::{Curve, SigningKey, pem};
use idgate_testkit::openid4vp::{Expected, Fetched, Format, Keys, Prefix, Request};
use idgate_testkit::samples;
use idgate_testkit::status::{StatusJwt, StatusList, status_claim};
use idgate_testkit::time::numeric_date;
use idgate_testkit::wallet::{Body, Wallet};
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};
use serde_json::{Value, json};

const FORM: &str = "application/x-www-form-urlencoded";

/// The running program, ended with the test.
struct Shell {
    child: Child,
    address: String,
    root: Vec<u8>,
}

struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Shell {
    fn start() -> Self {
        let root = Identity::iaca(Curve::P256, now().0);
        let key = SigningKey::from_seed(Curve::P256, "shop");
        let name = Name::new("UT", "shop.example");
        let leaf = CertificateBuilder::document_signer(&root, name, &key, now().0);
        let chain = pem("CERTIFICATE", &leaf.issue(&root, &key).der);
        let folder = tempfile::tempdir().unwrap();
        let (key_file, chain_file) =
            (folder.path().join("key.pem"), folder.path().join("chain.pem"));
        std::fs::write(&key_file, key.private_pem()).unwrap();
        std::fs::write(&chain_file, chain).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_own_shell"));
        command.arg(key_file).arg(chain_file).args(["127.0.0.1:0", "127.0.0.0/8"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on http://").unwrap().to_owned();
        Self { child, address, root: root.der }
    }

    fn send(&self, method: &str, path: &str, body: Option<&Body>) -> Reply {
        let (media_type, bytes) =
            body.map_or(("text/plain", &[][..]), |body| (&*body.content_type, &*body.bytes));
        self.exchange(&format!("{method} {path}"), media_type, bytes.len(), bytes)
    }

    /// Announces a form of that length and sends nothing of it. The reply must not wait for it.
    fn announce(&self, path: &str, length: usize) -> Reply {
        self.exchange(&format!("POST {path}"), FORM, length, &[])
    }

    fn exchange(&self, line: &str, media_type: &str, length: usize, bytes: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n",
            self.address,
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(bytes).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Reply {
        self.send("GET", path, None)
    }

    /// A new check: its id, and a link for each profile.
    fn create(&self) -> (String, [String; 2]) {
        let created = self.send("POST", "/checks", None).expect(200).json();
        let link = |n: usize| created["links"][n].as_str().unwrap().to_owned();
        (created["id"].as_str().unwrap().to_owned(), [link(0), link(1)])
    }

    /// The request of a link, fetched and verified.
    fn fetch(&self, link: &str, haip: bool) -> Request {
        let (_, uri) = link.split_once("request_uri=").unwrap();
        let handle = uri.split('&').next().unwrap().rsplit("%2F").next().unwrap().to_owned();
        let reply = self.get(&format!("/v1/oid4vp/request/{handle}")).expect(200);
        assert!(reply.head.contains("cache-control: no-store"), "{}", reply.head);
        let content_type = "application/oauth-authz-req+jwt".to_owned();
        assert!(reply.head.contains(&content_type), "{}", reply.head);
        let fetched = Fetched { content_type, jwt: reply.body, wallet_nonce: None };
        let expected = Expected {
            prefix: Prefix::X509Hash,
            encrypted: true,
            formats: vec![Format::SdJwtVc],
            haip,
            transaction_data: false,
            anchor: Some(self.root.clone()),
            did_document: None,
            now_ms: now().0,
        };
        let (request, findings) =
            Request::read(link, Some(&fetched), &expected, &mut Keys::default());
        // There is no TLS on the loopback.
        assert_eq!(findings.checks(), ["request_uri_https", "response_uri"], "{findings:?}");
        request
    }

    fn post(&self, request: &Request, body: &Body) -> Reply {
        let path = request.response_uri.split_once(&self.address).unwrap().1;
        self.send("POST", path, Some(body))
    }

    fn read(&self, id: &str, code: Option<&str>) -> Value {
        let query = code.map(|code| format!("?response_code={code}")).unwrap_or_default();
        self.get(&format!("/checks/{id}{query}")).expect(200).json()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reply {
    #[track_caller]
    fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.body);
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A wallet with the sample credential, which has that status.
fn wallet(status: Option<(u64, &str)>) -> Wallet {
    let holder = samples::holder_key(Curve::P256);
    let mut credential = samples::identity(&holder, now().0);
    if let Some((idx, uri)) = status {
        credential = credential.plain("status", status_claim(idx, uri));
    }
    Wallet::new(holder).with(credential.issue(&samples::issuer_key(Curve::P256)))
}

fn code_of(reply: &Reply) -> String {
    let uri = reply.json()["redirect_uri"].as_str().unwrap().to_owned();
    uri.split_once("response_code=").unwrap().1.to_owned()
}

#[test]
fn a_check_is_verified_in_each_profile_and_read_with_the_code() {
    let shell = Shell::start();
    for (n, haip) in [(0, false), (1, true)] {
        let (id, links) = shell.create();
        assert_eq!(shell.read(&id, None)["status"], "CREATED");
        let request = shell.fetch(&links[n], haip);
        assert_eq!(shell.read(&id, None)["status"], "PENDING");
        let body = wallet(None).answer_1_0(&request, now().0).unwrap().body();
        let reply = shell.post(&request, &body).expect(200);
        // Another browser has no code.
        let others = json!({"status": "VERIFIED", "reason": null, "given_name": null});
        assert_eq!(shell.read(&id, None), others);
        assert_eq!(shell.read(&id, Some(&code_of(&reply)))["given_name"], "Erika");

        let again = shell.post(&request, &body).expect(409);
        assert_eq!(again.json()["error"], "session_not_pending");
    }
}

/// Serves one status list, which revokes 1, for as long as the test runs.
fn status_list() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}/list", listener.local_addr().unwrap());
    let list = StatusJwt::new(&StatusList::new(2, 8).with(1, 1), &uri, numeric_date(now().0));
    let list = list.sign(&samples::issuer_key(Curve::P256));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while reader.read_line(&mut line).unwrap() > 2 {
                line.clear();
            }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/statuslist+jwt\r\n";
            write!(stream, "{head}Content-Length: {}\r\n\r\n{list}", list.len()).unwrap();
        }
    });
    uri
}

#[test]
fn a_status_list_is_fetched_and_a_revoked_credential_refused() {
    let (shell, uri) = (Shell::start(), status_list());
    for (idx, status, reply) in [(0, "VERIFIED", 200), (1, "FAILED", 400)] {
        let (id, links) = shell.create();
        let request = shell.fetch(&links[0], false);
        let wallet = wallet(Some((idx, &uri)));
        let body = wallet.answer_1_0(&request, now().0).unwrap().body();
        let replied = shell.post(&request, &body).expect(reply);
        let read = shell.read(&id, None);
        assert_eq!(read["status"], status);
        if reply == 400 {
            assert_eq!(replied.json()["error"], "invalid_presentation");
            assert_eq!(read["reason"], "credential_revoked");
        }
    }
}

#[test]
fn only_one_of_parallel_answers_settles_the_check() {
    let shell = Shell::start();
    let (id, links) = shell.create();
    let request = shell.fetch(&links[0], false);
    let body = wallet(None).answer_1_0(&request, now().0).unwrap().body();
    let mut statuses: Vec<u16> = thread::scope(|scope| {
        let send = || shell.post(&request, &body).status;
        let posts: Vec<_> = (0..8).map(|_| scope.spawn(send)).collect();
        posts.into_iter().map(|post| post.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(shell.read(&id, None)["status"], "VERIFIED");
}

#[test]
fn strangers_change_nothing() {
    let shell = Shell::start();
    let (id, _) = shell.create();
    shell.get("/checks/ses_unknown").expect(404);
    shell.get("/nothing").expect(404);
    shell.send("POST", "/v1/oid4vp/response/ses_unknown", None).expect(409);
    let body = Body { content_type: FORM.to_owned(), bytes: b"vp_token=a&vp_token=b".to_vec() };
    let path = format!("/v1/oid4vp/response/{id}");
    let malformed = shell.send("POST", &path, Some(&body)).expect(400);
    assert_eq!(malformed.json()["error"], "invalid_response");
    let too_long = 1024 * 1024 + 1;
    shell.announce(&path, too_long).expect(413);
    shell.announce("/v1/oid4vp/response/ses_unknown", too_long).expect(409);
    assert_eq!(shell.read(&id, None)["status"], "CREATED");
}
