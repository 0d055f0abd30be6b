//! Samples for phones with the real program: from the offer to VERIFIED and to
//! `credential_revoked`, what an outsider reaches through a tunnel, and a gateway without a
//! sandbox.

mod log;
mod tunnel;

use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::openid4vci::{WalletJwt, read_offer_link, received_mdoc, received_sd_jwt};
use idgate_testkit::openid4vp::{Expected, Keys, Link, Prefix, Query, Request as Asked};
use idgate_testkit::wallet::Wallet;
use idgate_testkit::x509::{CertificateBuilder, Name};

use super::*;
use crate::tenant::{Created, Gateway, now_ms};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:pre-authorized_code";

/// A phone's wallet: the offer that it received, and the address of the sandbox's public listener.
struct Phone {
    at: SocketAddr,
    offer: Value,
    tx_code: Option<String>,
    issuer: String,
    key: SigningKey,
}

impl Phone {
    fn scan(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let told = sandbox.offer(arguments);
        assert_eq!(told.code, 0, "{told:?}");
        let told: Value = serde_json::from_str(&told.stdout).unwrap();
        let at = sandbox.gateway();
        let base = sandbox.text("base_url");
        let offer = match read_offer_link(told["link"].as_str().unwrap()).unwrap() {
            Ok(offer) => offer,
            Err(uri) => {
                assert_eq!(told["credential_offer_uri"], json!(uri));
                let path = uri.strip_prefix(base).unwrap();
                json_of(ask(at, "GET", path, &[], ""), 200)
            }
        };
        assert_eq!(told["credential_offer"], offer);
        let issuer = offer["credential_issuer"].as_str().unwrap().to_owned();
        let tx_code = told["tx_code"].as_str().map(String::from);
        let key = SigningKey::generate(Curve::P256).unwrap();
        Self { at, offer, tx_code, issuer, key }
    }

    fn configuration(&self) -> String {
        self.offer["credential_configuration_ids"][0].as_str().unwrap().to_owned()
    }

    /// The path of one of the issuer's endpoints.
    fn path(&self, endpoint: &str) -> String {
        let (_, path) = self.issuer.split_once("://").unwrap().1.split_once('/').unwrap();
        format!("/{path}/{endpoint}")
    }

    fn metadata(&self) -> Value {
        let (_, name) = self.issuer.rsplit_once('/').unwrap();
        let path = format!("/.well-known/openid-credential-issuer/{name}");
        json_of(ask(self.at, "GET", &path, &[], ""), 200)
    }

    /// Requests a token, with these headers.
    fn redeem(&self, headers: &[(&str, &str)]) -> Answer {
        let code = self.offer["grants"][GRANT]["pre-authorized_code"].as_str().unwrap();
        let mut form = format!("grant_type={}&pre-authorized_code={code}", encoded(GRANT));
        if let Some(tx_code) = &self.tx_code {
            form.push_str(&format!("&tx_code={tx_code}"));
        }
        let own = [("Content-Type", "application/x-www-form-urlencoded")];
        ask(self.at, "POST", &self.path("token"), &[&own, headers].concat(), &form)
    }

    fn nonce(&self) -> String {
        let answer = json_of(ask(self.at, "POST", &self.path("nonce"), &[], ""), 200);
        answer["c_nonce"].as_str().unwrap().to_owned()
    }

    /// Posts JSON to an endpoint with a token: a bearer token, or one with a DPoP proof.
    fn post(&self, endpoint: &str, token: &str, dpop: Option<&str>, body: &Value) -> Answer {
        let scheme = if dpop.is_some() { "DPoP" } else { "Bearer" };
        let authorization = format!("{scheme} {token}");
        let mut headers =
            vec![("Content-Type", "application/json"), ("Authorization", &*authorization)];
        headers.extend(dpop.map(|dpop| ("DPoP", dpop)));
        ask(self.at, "POST", &self.path(endpoint), &headers, &body.to_string())
    }

    fn request_with(&self, proof: &str) -> Value {
        json!({
            "credential_configuration_id": self.configuration(),
            "proofs": { "jwt": [proof] },
        })
    }

    /// Redeems the offer for a credential bound to its only key.
    fn receive(&self) -> String {
        let configurations = self.metadata()["credential_configurations_supported"].clone();
        assert!(configurations[self.configuration()].is_object(), "{configurations}");
        let token = json_of(self.redeem(&[]), 200);
        assert_eq!(token["token_type"], "Bearer");
        let token = token["access_token"].as_str().unwrap().to_owned();
        let nonce = self.nonce();
        let proof = WalletJwt::proof(&self.key, &self.issuer, &nonce, now_ms()).sign(&self.key);
        let answer = self.post("credential", &token, None, &self.request_with(&proof));
        let answer = json_of(answer, 200);
        let accepted = json!({
            "notification_id": answer["notification_id"],
            "event": "credential_accepted",
        });
        let stored = self.post("notification", &token, None, &accepted);
        assert_eq!(stored.status, 204, "{stored:?}");
        answer["credentials"][0]["credential"].as_str().unwrap().to_owned()
    }

    /// The wallet that holds the credential.
    fn wallet(&self) -> Wallet {
        let credential = self.receive();
        let wallet = Wallet::new(self.key.clone());
        match received_sd_jwt(&credential) {
            Some(issued) => wallet.with(issued),
            None => wallet.with_mdoc(received_mdoc(&credential, &self.key).unwrap()),
        }
    }
}

/// A request to the public listener.
fn ask(at: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let host = at.to_string();
    exchange(at, method, path, &[&[("Host", &*host)], headers].concat(), body)
}

#[track_caller]
fn json_of(answer: Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

/// Answers an OpenID4VP 1.0 session as the wallet.
fn present(tenant: &mut Tenant, made: &Created, wallet: &Wallet) {
    let Link::ByValue(given) = Link::read(&made.uri).0 else { panic!("{}", made.uri) };
    let query = given["dcql_query"].clone();
    let query = query.as_str().map_or(query.clone(), |text| serde_json::from_str(text).unwrap());
    let formats = Query::read(&query);
    let expected = Expected {
        prefix: Prefix::RedirectUri,
        encrypted: given["response_mode"] == "direct_post.jwt",
        formats: formats.credentials.iter().map(|one| one.format).collect(),
        haip: false,
        transaction_data: false,
        anchor: None,
        did_document: None,
        now_ms: made.made_ms,
    };
    let (asked, _) = Asked::read(&made.uri, None, &expected, &mut Keys::default());
    let answer = wallet.answer_1_0(&asked, made.made_ms).unwrap();
    tenant.post_answer(&made.id, &answer.body());
}

/// A tenant's request for this sample.
fn asking(sample: &str) -> Value {
    let credential = match sample {
        "pid" => json!({
            "format": "dc+sd-jwt", "issuer_id": "phones", "claims": ["given_name", "family_name"],
        }),
        "membership" => json!({
            "format": "dc+sd-jwt", "issuer_id": "phone-membership", "claims": ["level"],
        }),
        "mdl" => json!({
            "format": "mso_mdoc", "issuer_id": "phones", "claims": ["family_name", "age_over_18"],
        }),
        "pid-mdoc" => json!({
            "format": "mso_mdoc", "issuer_id": "phones", "claims": ["family_name"],
            "doc_type": "eu.europa.ec.eudi.pid.1", "namespace": "eu.europa.ec.eudi.pid.1",
        }),
        _ => json!({
            "format": "mso_mdoc", "issuer_id": "phones", "claims": ["age_over_18"],
            "doc_type": "eu.europa.ec.av.1", "namespace": "eu.europa.ec.av.1",
        }),
    };
    json!({ "credentials": [credential], "profile": "1.0" })
}

fn offers(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.get("/api/offers");
    assert_eq!(listed.status, 200, "{listed:?}");
    let listed: Value = serde_json::from_str(&listed.body).unwrap();
    listed["offers"].as_array().unwrap().clone()
}

#[test]
fn every_sample_is_issued_verified_and_revocable() {
    let sandbox = Sandbox::start();
    let mut tenant = sandbox.tenant();
    for (sample, more) in [
        ("pid", &[][..]),
        ("membership", &["--by-reference"]),
        ("mdl", &["--tx-code"]),
        ("pid-mdoc", &[]),
        ("age", &["--by-reference", "--tx-code"]),
    ] {
        let phone = Phone::scan(&sandbox, &[&[sample], more].concat());
        let wallet = phone.wallet();
        let line = offers(&sandbox).remove(0);
        assert_eq!((&line["state"], &line["issued"]), (&json!("stored"), &json!(1)), "{sample}");
        let made = tenant.create(&asking(sample));
        present(&mut tenant, &made, &wallet);
        assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED", "{sample}");
        let id = line["id"].as_str().unwrap();
        let host = sandbox.page().to_string();
        let path = format!("/api/offers/{id}/withdraw");
        let gone = exchange(sandbox.page(), "POST", &path, &[("Host", &host)], "");
        assert_eq!((gone.status, &*gone.body), (200, r#"{"withdrawn":1}"#), "{sample}");
        let made = tenant.create(&asking(sample));
        present(&mut tenant, &made, &wallet);
        assert_eq!(outcome(&tenant.read(&made.id)), "credential_revoked", "{sample}");
    }
}

#[test]
fn the_console_creates_offers_and_withdraws_issued_credentials() {
    let sandbox = Sandbox::start();
    sandbox.press("/offers", &[("type", "pid"), ("tx_code", "true")]);
    let page = sandbox.get("/receive").body;
    for part in ["Offers so far", "offered", "class=\"qr\"", "Code to type in your wallet"] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    Phone::scan(&sandbox, &["mdl"]).receive();
    let id = offers(&sandbox)[0]["id"].as_str().unwrap().to_owned();
    assert!(sandbox.get("/receive").body.contains("Withdraw"));
    assert_eq!(sandbox.press("/withdraw", &[("offer", &id)]).status, 303);
    assert_eq!(offers(&sandbox)[0]["withdrawn"], 1);
    sandbox.press("/offers", &[("type", "passport")]);
    assert!(sandbox.get("/receive").body.contains("there is no sample passport"));
}

#[test]
fn oversized_issuer_requests_are_rejected_and_offers_show_their_state() {
    let sandbox = Sandbox::start();
    let phone = Phone::scan(&sandbox, &["pid"]);
    let token = json_of(phone.redeem(&[]), 200);
    let token = token["access_token"].as_str().unwrap();
    let large = json!({ "x": "x".repeat(64 * 1024) });
    let refused = json_of(phone.post("credential", token, None, &large), 413);
    assert_eq!(refused["error"], "invalid_credential_request");
    let proof = WalletJwt::proof(&phone.key, "https://other.example", &phone.nonce(), now_ms());
    let body = phone.request_with(&proof.sign(&phone.key));
    let refused = json_of(phone.post("credential", token, None, &body), 400);
    assert_eq!(refused["error"], "invalid_proof");
    let line = offers(&sandbox).remove(0);
    assert_eq!(line["state"], "failed");
    assert_eq!(line["rule"], "aud is not the identifier of this issuer");
    assert_eq!(line["issued"], 0);
    assert!(sandbox.get("/receive").body.contains("aud is not the identifier"));
}

#[test]
fn the_attested_issuer_serves_only_attested_keys() {
    let sandbox = Sandbox::start();
    let phone = Phone::scan(&sandbox, &["mdl", "--attested", "--haip"]);
    let issuer = phone.issuer.clone();
    assert!(issuer.ends_with("/vci-attested"), "{issuer}");
    let (provider, instance) = ("provider", "instance");
    let [provider, instance] =
        [provider, instance].map(|seed| SigningKey::from_seed(Curve::P256, seed));
    let attestation = WalletJwt::client_attestation(&provider, &instance, now_ms());
    let attestation = attestation.sign(&provider);
    let pop = WalletJwt::attestation_pop(&issuer, "once", now_ms()).sign(&instance);
    let headers =
        [("OAuth-Client-Attestation", &*attestation), ("OAuth-Client-Attestation-PoP", &*pop)];
    let token = json_of(phone.redeem(&headers), 200);
    let token = token["access_token"].as_str().unwrap();
    let nonce = phone.nonce();
    let keys = std::slice::from_ref(&phone.key);
    let attested = WalletJwt::key_attestation(&provider, keys, None, now_ms()).sign(&provider);
    let proof = || WalletJwt::proof(&phone.key, &issuer, &nonce, now_ms());
    let bare = phone.request_with(&proof().sign(&phone.key));
    let refused = json_of(phone.post("credential", token, None, &bare), 400);
    assert_eq!(refused["error"], "invalid_proof");
    let proof = proof().header("key_attestation", attested).sign(&phone.key);
    let body = phone.request_with(&proof);
    let answer = json_of(phone.post("credential", token, None, &body), 200);
    let text = answer["credentials"][0]["credential"].as_str().unwrap();
    let document = received_mdoc(text, &phone.key).unwrap();
    let mut tenant = sandbox.tenant();
    let made = tenant.create(&asking("mdl"));
    present(&mut tenant, &made, &Wallet::new(phone.key.clone()).with_mdoc(document));
    assert_eq!(outcome(&tenant.read(&made.id)), "VERIFIED");
}

#[test]
fn serve_has_no_sample_issuer() {
    let gateway = Gateway::start();
    for (method, paths) in [
        (
            "GET",
            &[
                "/.well-known/openid-credential-issuer/vci",
                "/.well-known/oauth-authorization-server/vci",
                "/vci/.well-known/openid-credential-issuer",
                "/vci/status.jwt",
                "/vci/logo.png",
            ][..],
        ),
        ("POST", &["/vci/token", "/vci/nonce", "/vci/credential", "/vci-attested/token"]),
    ] {
        for path in paths {
            let answer = ask(gateway.server.address, method, path, &[], "");
            assert_eq!(answer.status, 404, "{path}: {answer:?}");
        }
    }
}

#[test]
fn an_offer_needs_a_running_sandbox_and_a_known_sample() {
    let installation = Installation::in_directory();
    let temporary = tempfile::TempDir::new().unwrap();
    let offer = |arguments: &[&str]| {
        let mut command = installation.command(&[&["sandbox", "offer"], arguments].concat());
        output(command.env("TMPDIR", temporary.path()))
    };
    let refused = offer(&["pid"]);
    assert!(refused.code == 1 && refused.stderr.contains("no sandbox runs"), "{refused:?}");
    let refused = offer(&["passport"]);
    assert!(refused.code == 2 && refused.stderr.contains("pid-mdoc"), "{refused:?}");
}

#[test]
fn an_offer_in_a_terminal_is_a_qr_code_and_a_link() {
    let sandbox = Sandbox::start();
    let mut command = sandbox.installation.command(&["sandbox", "offer", "age", "--tx-code"]);
    let told = output(command.env("TMPDIR", sandbox.temporary.path()));
    assert_eq!(told.code, 0, "{told:?}");
    for part in ["█", "openid-credential-offer://credential_offer?", "proof_of_age", "code to type"]
    {
        assert!(told.stdout.contains(part), "no {part} in {}", told.stdout);
    }
    assert!(told.stdout.contains("only on this machine"), "{}", told.stdout);
}

/// A folder of a program version whose samples had no mark.
#[test]
fn an_older_sandbox_folder_gets_new_roots_and_says_so() {
    let parent = tempfile::TempDir::new().unwrap();
    let folder = parent.path().join("sandbox");
    let flags = ["--data-dir", folder.to_str().unwrap()];
    let first = Sandbox::with(&flags);
    let installation = Installation::in_directory();
    drop(first);
    let path = folder.join("sandbox.json");
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let seed = kept["seed"].as_str().unwrap().to_owned();
    let made_at = kept["made_at"].as_u64().unwrap();
    kept.as_object_mut().unwrap().remove("marked");
    std::fs::write(&path, kept.to_string()).unwrap();
    // The root and the key of that version, without the mark.
    let key = SigningKey::from_seed(Curve::P256, format!("{seed} utopia root"));
    let name = Name::new("UT", "Utopia Registry root");
    let former = CertificateBuilder::iaca_root(name, &key, made_at).self_sign(&key);
    let file = installation.file("former.der", &former.der);
    let add = ["trust", "add", "https://iaca.example", "--test", "--root", file.to_str().unwrap()];
    let added = output(&mut installation.command(&[&add[..], &flags].concat()));
    assert_eq!(added.code, 0, "{added:?}");
    let key = SigningKey::from_seed(Curve::P256, format!("{seed} utopia signer"));
    let key = key.with_kid("utopia").public_jwk().to_string();
    let file = installation.file("former.jwk.json", key.as_bytes());
    let identities = "https://issuer.example";
    let add = ["trust", "add", identities, "--test", "--jwk", file.to_str().unwrap()];
    let added = output(&mut installation.command(&[&add[..], &flags].concat()));
    assert_eq!(added.code, 0, "{added:?}");
    let mut again = command(&installation, &parent, &flags);
    let mut child = again.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    let show = |issuer_id: &str| {
        let show = ["trust", "show", issuer_id, "--json"];
        let shown = output(&mut installation.command(&[&show[..], &flags].concat()));
        serde_json::from_str::<Value>(&shown.stdout).unwrap()
    };
    let (of_licences, of_identities) = (show("https://iaca.example"), show(identities));
    child.kill().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    child.wait().unwrap();
    assert!(stderr.contains("have new roots and keys"), "{stderr}");
    assert_eq!(told["api_key"], Value::Null, "it is the same sandbox");
    for (shown, kind) in [(of_licences, "roots"), (of_identities, "keys")] {
        let left = shown[kind].as_array().unwrap_or_else(|| panic!("{shown}"));
        assert_eq!(left.len(), 1, "{shown}");
    }
}

#[test]
fn sample_roots_are_trusted_in_test_mode_only() {
    let sandbox = Sandbox::start();
    let installation = Installation::in_directory();
    let file = installation.file("iaca.pem", sandbox.get("/files/iaca.pem").body);
    let add =
        ["trust", "add", "samples", "--root", file.to_str().unwrap(), "--vct", "urn:eudi:pid:1"];
    let refused = installation.run(&add);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("add it with --test"), "{refused:?}");
    assert_eq!(installation.run(&[&add[..], &["--test"]].concat()).code, 0);
    let live = installation.create_client("shop", false);
    let server = installation.serve();
    let mut tenant = Tenant::at(&server, &live.api_key);
    let refused = tenant.post_session(&json!({ "credentials": [
        { "format": "mso_mdoc", "issuer_id": "samples", "claims": ["family_name"] },
    ]}));
    let refused = refused.expect_status(400).json();
    assert_eq!(refused["error"], "unknown_issuer");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("sandbox's sample certificates"), "{message}");
}
