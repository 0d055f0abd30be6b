//! `own_shell` over a real socket, with the sample wallet.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may stop at the first surprise

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use idgate_examples::now;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::samples::{Sample, issue_sample};
use idgate_testkit::wallet::{Body, Transcript, Wallet};
use serde_json::{Value, json};

/// The running program, ended with the test.
struct Shell {
    child: Child,
    address: String,
}

struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Shell {
    fn start(profile: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_own_shell"));
        let mut child =
            command.args([profile, "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on http://").unwrap().to_owned();
        Self { child, address }
    }

    fn send(&self, method: &str, path: &str, body: Option<&Body>) -> Reply {
        let (media_type, bytes) =
            body.map_or(("text/plain", &[][..]), |body| (&*body.content_type, &*body.bytes));
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            bytes.len(),
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(bytes).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Reply {
        self.send("GET", path, None)
    }

    /// A new check: its id and its link.
    fn create(&self) -> (String, String) {
        let created = self.send("POST", "/checks", None).expect(201).json();
        let text = |name: &str| created[name].as_str().unwrap().to_owned();
        (text("id"), text("link"))
    }

    fn answer(&self, id: &str, body: &Body) -> Reply {
        self.send("POST", &format!("/v1/oid4vp/response/{id}"), Some(body))
    }

    fn read(&self, id: &str) -> Value {
        self.get(&format!("/checks/{id}")).expect(200).json()
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

fn wallet() -> Wallet {
    let Sample { holder_key, credential, .. } = issue_sample(now().0);
    Wallet::new(holder_key).with(credential)
}

fn verified() -> Value {
    let claims = json!({"pid": {"given_name": "Erika", "birthdate": "1984-08-12"}});
    json!({"status": "VERIFIED", "reason": null, "claims": claims})
}

#[test]
fn an_inline_check_goes_from_the_link_to_the_claims() {
    let shell = Shell::start("inline");
    let (id, link) = shell.create();
    let pending = json!({"status": "PENDING", "reason": null, "claims": null});
    assert_eq!(shell.read(&id), pending);
    shell.get(&format!("/v1/oid4vp/request/{id}")).expect(404);

    let answer = wallet().answer_uri(&link, now().0).unwrap();
    assert_eq!(answer.response_uri, format!("http://{}/v1/oid4vp/response/{id}", shell.address));
    let body = answer.form_body();
    let reply = shell.answer(&id, &body).expect(200);
    assert_eq!(reply.json(), json!({"status": "ok"}));
    assert!(reply.head.contains("cache-control: no-store"), "{}", reply.head);
    assert_eq!(shell.read(&id), verified());

    let again = shell.answer(&id, &body).expect(409);
    assert_eq!(again.json(), json!({"error": "session_not_pending"}));
}

#[test]
fn a_jar_check_goes_from_the_signed_request_to_the_claims() {
    let shell = Shell::start("jar");
    let (id, link) = shell.create();
    assert_eq!(shell.read(&id)["status"], "CREATED");
    let request = shell.get(&format!("/v1/oid4vp/request/{id}")).expect(200);
    assert!(request.head.contains("content-type: application/oauth-authz-req+jwt"));
    assert_eq!(shell.read(&id)["status"], "PENDING");

    let did_document = shell.get("/.well-known/did.json").expect(200).json();
    let link = JarLink::parse(&link).unwrap();
    let jar = JarRequest::verify(&link, &request.body, &did_document, now().0).unwrap();
    let answer = wallet().answer_jar(&jar, Transcript::OpenId4Vp, false, now().0).unwrap();
    shell.answer(&id, &answer.form_body()).expect(200);
    assert_eq!(shell.read(&id), verified());
    shell.get(&format!("/v1/oid4vp/request/{id}")).expect(404);
}

#[test]
fn a_stolen_credential_is_refused_without_a_reason_for_the_wallet() {
    let shell = Shell::start("inline");
    let (id, link) = shell.create();
    let Sample { issuer_key, credential, .. } = issue_sample(now().0);
    let thief = Wallet::new(issuer_key).with(credential);
    let body = thief.answer_uri(&link, now().0).unwrap().form_body();
    let refused = shell.answer(&id, &body).expect(400);
    assert_eq!(refused.json(), json!({"error": "invalid_presentation"}));
    let failed = json!({"status": "FAILED", "reason": "holder_binding_invalid", "claims": null});
    assert_eq!(shell.read(&id), failed);
}

#[test]
fn of_answers_at_once_one_settles_the_check() {
    let shell = Shell::start("inline");
    let (id, link) = shell.create();
    let body = wallet().answer_uri(&link, now().0).unwrap().form_body();
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let send = || shell.answer(&id, &body).status;
        let posts: Vec<_> = (0..8).map(|_| scope.spawn(send)).collect();
        posts.into_iter().map(|post| post.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(shell.read(&id), verified());
}

#[test]
fn what_is_unknown_or_malformed_changes_nothing() {
    let shell = Shell::start("inline");
    let (id, link) = shell.create();
    let body = wallet().answer_uri(&link, now().0).unwrap().form_body();
    shell.answer("ses_unknown", &body).expect(409);
    shell.get("/checks/ses_unknown").expect(404);
    let malformed = Body { bytes: b"vp_token=a&vp_token=b".to_vec(), ..body.clone() };
    assert_eq!(
        shell.answer(&id, &malformed).expect(400).json(),
        json!({"error": "invalid_response"})
    );
    let large = Body { bytes: vec![b'a'; 1024 * 1024 + 1], ..body };
    shell.answer(&id, &large).expect(413);
    assert_eq!(shell.read(&id)["status"], "PENDING");
}
