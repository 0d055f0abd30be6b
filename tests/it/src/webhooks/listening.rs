//! `idgate listen`: a test client's notifications, delivered to an address of this machine.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use super::receiver::Receiver;
use super::{failures, notifying, settle};
use crate::http::Request;
use crate::tenant::{Gateway, request_for};

/// The running command, which ends with the test.
struct Listening {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Listening {
    fn start(gateway: &Gateway, receiver: &Receiver) -> Self {
        let to = receiver.url("/local?x=1");
        let key = &gateway.client.api_key;
        let arguments = ["listen", "--forward", &to, "--api-key", key, "--json"];
        let mut command = gateway.installation.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut listening = Self { child, lines };
        let begun = listening.line();
        assert_eq!(begun["listening"], gateway.client.client_id);
        assert_eq!(begun["forward"], to);
        listening
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn listen_posts_the_same_signed_body_as_the_webhook() {
    let (webhook, local) = (Receiver::start(), Receiver::start());
    let (gateway, secret) = notifying(&webhook);
    let mut tenant = gateway.tenant();
    let before = settle(&mut tenant);
    let mut listening = Listening::start(&gateway, &local);
    let verified = settle(&mut tenant);
    let told = listening.line();
    assert_eq!(
        (&told["session_id"], &told["http_status"]),
        (&verified.clone().into(), &200.into())
    );
    let refused = tenant.create(&request_for(&["given_name"]));
    let stale = crate::tenant::sample_wallet().answer_uri(&refused.uri, 0).unwrap();
    tenant.post_answer(&refused.id, &stale.form_body()).expect_status(400);
    assert_eq!(listening.line()["status"], "FAILED");
    webhook.wait_for(3);
    assert!(local.of_session(&before).is_empty(), "it follows what comes");
    for id in [&verified, &refused.id] {
        let (sent, posted) = (&local.of_session(id)[0], &webhook.of_session(id)[0]);
        assert_eq!(sent.request_line, "POST /local?x=1 HTTP/1.1");
        assert_eq!(sent.body, posted.body);
        assert_eq!(sent.header("webhook-id"), posted.header("webhook-id"));
        sent.verify(&secret);
    }
}

#[test]
fn listen_needs_no_endpoint_and_reports_failures() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let local = Receiver::start();
    local.answer("500 Internal Server Error", "");
    let mut listening = Listening::start(&gateway, &local);
    let id = settle(&mut tenant);
    let told = listening.line();
    assert_eq!((&told["session_id"], &told["http_status"]), (&id.into(), &500.into()));
    local.all()[0].verify(&gateway.client.signing_secret);
    assert_eq!(failures(&mut tenant), [] as [Value; 0]);
    // It ends when the key is revoked.
    let keys = Request::get("/v1/api-keys").bearer(&tenant.api_key);
    let key = tenant.http.send(&keys).json()["api_keys"][0]["id"].as_str().unwrap().to_owned();
    let revoke = Request::delete(format!("/v1/api-keys/{key}")).bearer(&tenant.api_key);
    tenant.http.send(&revoke).expect_status(204);
    assert!(listening.line()["error"].as_str().unwrap().contains("revoked"));
    assert_eq!(listening.child.wait().unwrap().code(), Some(1));
}

#[test]
fn listen_rejects_live_clients_and_remote_targets() {
    let gateway = Gateway::start();
    let live = gateway.installation.create_client("live", false).api_key;
    let test = gateway.client.api_key.clone();
    let here = "http://127.0.0.1:9/";
    for (to, key, code) in [
        (here, &*live, 2),
        (here, "sk_test_x", 2),
        ("http://shop.example/", &test, 2),
        ("https://127.0.0.1:9/", &test, 2),
        ("http://10.0.0.1/", &test, 2),
    ] {
        let ended = gateway.installation.run(&["listen", "--forward", to, "--api-key", key]);
        assert_eq!(ended.code, code, "{to} {ended:?}");
        assert!(!ended.stderr.contains(key), "the key is repeated");
    }
    let elsewhere = Gateway::start().client.api_key.clone();
    let unknown = ["listen", "--forward", here, "--api-key", &elsewhere];
    assert_eq!(gateway.installation.run(&unknown).code, 1);
}
