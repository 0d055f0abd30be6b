//! A session without a profile and without newer fields is byte for byte the same on a gateway of
//! `draft` and others as on a gateway of `draft` alone (decisions 31). Also the rejections of a
//! gateway with `draft` alone.

use std::collections::BTreeMap;

use idgate_testkit::keys::Curve;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::samples;
use idgate_testkit::wallet::{Transcript, Wallet};
use serde_json::{Value, json};

use crate::http::{Request, Response};
use crate::machine::Machine;
use crate::server::Installation;
use crate::tenant::{Created, Gateway, Tenant, request_for, sample_trust};

/// Everything that tenant and wallet receive from one gateway, in order.
struct Told {
    tenant: Tenant,
    texts: Vec<String>,
}

impl Told {
    fn take(&mut self, what: &str, response: Response) -> Response {
        let head = response.headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
        let head = head.collect::<String>();
        let body = String::from_utf8_lossy(&response.body).into_owned();
        self.texts.push(format!("{what}\n{}\n{head}\n{body}", response.status));
        response
    }

    fn create(&mut self, what: &str, request: &Value) -> Created {
        let response = self.tenant.post_session(request);
        Created::of(self.take(what, response).expect_status(201).json())
    }

    /// A browser's answer, which a session without a browser request rejects. The texts differ: the
    /// path exists only with IDGATE_DC_API.
    fn relay(&mut self, id: &str) {
        let relay = Request::post(format!("/v1/sessions/{id}/dc-api"));
        let relay =
            relay.bearer(&self.tenant.api_key).json(&json!({ "protocol": "p", "data": {} }));
        self.tenant.http.send(&relay).expect_error(404, "not_found");
    }

    fn read(&mut self, what: &str, target: &str) -> Value {
        let response = self.tenant.get(target);
        self.take(what, response).expect_status(200).json()
    }
}

/// A gateway on `machine`.
fn start(machine: &Machine, mode: &str, (profiles, dc_api): (&str, &str)) -> Gateway {
    let installation = Installation::new()
        .on_machine(machine)
        .with("IDGATE_BASE_URL", "https://gateway.example")
        .with("IDGATE_PAGE", "on")
        .with("OID4VP_REQUEST_MODE", mode)
        .with("IDGATE_PROFILES", profiles)
        .with("IDGATE_DC_API", dc_api);
    let client = installation.create_client("shop", true);
    installation.trust(&sample_trust(), &["--claims", "given_name"]);
    let server = installation.serve();
    Gateway { server, client, installation }
}

/// Sessions of both request forms are created, read, answered and rejected.
fn walked(gateway: &Gateway, mode: &str) -> Vec<String> {
    let now = gateway.installation.now_ms();
    let sample = samples::issue_sample(now);
    let wallet = Wallet::new(sample.holder_key).with(sample.credential.clone());
    let mut told = Told { tenant: gateway.tenant(), texts: Vec::new() };
    let mut custom = request_for(&["given_name"]);
    custom["redirect_uri"] = json!("https://shop.example/back");
    let legacy = json!({ "issuer_id": samples::ISSUER });
    for (what, request) in [("custom", &custom), ("legacy", &legacy)] {
        let created = told.create(what, request);
        told.read("open", &created.id);
        told.relay(&created.id);
        answer(&mut told, &wallet, &created, mode, now).expect_status(200);
        let session = told.read("verified", &created.id);
        assert_eq!(session["status"], "VERIFIED", "{session}");
        told.read("with codes", &format!("{}?response_code=a&response_code=b", created.id));
    }
    let refused = told.create("refused", &custom);
    let thief = Wallet::new(samples::holder_key(Curve::P384)).with(sample.credential);
    answer(&mut told, &thief, &refused, mode, now).expect_error(400, "invalid_presentation");
    assert_eq!(told.read("failed", &refused.id)["status"], "FAILED");
    told.read("report", &format!("{}/report", refused.id));
    told.texts
}

fn answer(told: &mut Told, wallet: &Wallet, created: &Created, mode: &str, now: u64) -> Response {
    let body = match mode {
        "inline" => wallet.answer_uri(&created.uri, now).unwrap().form_body(),
        _ => {
            let jar = fetched(told, created, now);
            wallet.answer_jar(&jar, Transcript::OpenId4Vp, false, now).unwrap().form_body()
        }
    };
    let response = told.tenant.post_answer(&created.id, &body);
    told.take("answer", response)
}

/// The signed request, whose content is compared as well.
fn fetched(told: &mut Told, created: &Created, now: u64) -> JarRequest {
    let link = JarLink::parse(&created.uri).unwrap();
    let document = Request::get("/.well-known/did.json");
    let document = told.tenant.http.send(&document).expect_status(200).json();
    let request = Request::get(format!("/v1/oid4vp/request/{}", created.id));
    let response = told.tenant.http.send(&request).expect_status(200);
    let jwt = String::from_utf8(response.body).unwrap();
    let jar = JarRequest::verify(&link, &jwt, &document, now).unwrap();
    told.texts.push(format!("{} {}", jar.header, jar.claims));
    jar
}

#[test]
fn a_draft_session_is_the_same_with_and_without_other_profiles() {
    for mode in ["inline", "jar"] {
        let machine = Machine::new();
        let gateways = [("draft", "off"), ("draft,1.0", "off"), ("draft,haip,1.0", "unsigned")];
        let gateways = gateways.map(|settings| start(&machine, mode, settings));
        machine.freeze();
        let [alone, others @ ..] = gateways.map(|gateway| walked(&gateway, mode));
        for other in others {
            assert_eq!(alone.len(), other.len());
            for (alone, other) in alone.iter().zip(&other) {
                expect_same_but_for_randomness(alone, other);
            }
        }
    }
}

/// The texts differ only in long random names, and consistently.
#[track_caller]
fn expect_same_but_for_randomness(one: &str, other: &str) {
    let is_part_of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_random = |name: &str| name.len() >= 20;
    let [ones, others] = [one, other]
        .map(|text| text.split_inclusive(|c| !is_part_of_a_name(c)).collect::<Vec<_>>());
    assert_eq!(ones.len(), others.len(), "{one}\n---\n{other}");
    let mut names = BTreeMap::new();
    for (name, opposite) in ones.iter().zip(&others) {
        let is_same = if is_random(name) && name.len() == opposite.len() {
            *names.entry(*name).or_insert(*opposite) == *opposite
        } else {
            name == opposite
        };
        assert!(is_same, "{name} | {opposite}\n{one}\n---\n{other}");
    }
}

/// The default is `draft,1.0`: a tenant reaches current wallets with one field.
#[test]
fn a_gateway_without_settings_speaks_draft_and_1_0() {
    let gateway = Gateway::start();
    let mut tenant = gateway.tenant();
    let plain = tenant.create(&request_for(&["given_name"]));
    assert!(plain.uri.contains("presentation_definition="), "{}", plain.uri);
    assert_eq!(plain.answer.get("profile"), None);
    let mut request = request_for(&["given_name"]);
    request["profiles"] = json!(["1.0"]);
    let newer = tenant.create(&request);
    assert!(newer.uri.contains("dcql_query="), "{}", newer.uri);
    assert_eq!(newer.answer["profile"], "1.0");
    request["profiles"] = json!(["draft"]);
    assert_eq!(tenant.create(&request).answer["profile"], "draft");
}

#[test]
fn with_draft_alone_profiles_are_unsupported_and_newer_fields_need_one() {
    let gateway = Gateway::start_on(Installation::new().with("IDGATE_PROFILES", "draft"));
    let mut tenant = gateway.tenant();
    let refused = |tenant: &mut Tenant, request: Value, code: &str, path: &str| {
        let refused = tenant.post_session(&request);
        let message = refused.message();
        for part in [path, "this gateway speaks only draft", "IDGATE_PROFILES"] {
            assert!(message.contains(part), "{request}: {message}");
        }
        if code == "invalid_request" {
            assert!(message.contains("needs profile 1.0 or haip; "), "{request}: {message}");
        }
        refused.expect_error(400, code);
    };
    let with = |name: &str, value: Value| {
        let mut request = request_for(&["given_name"]);
        request[name] = value;
        request
    };
    for value in [json!(["1.0"]), json!(["draft"]), json!(null)] {
        refused(&mut tenant, with("profiles", value), "unsupported_profile", "profiles");
    }
    refused(&mut tenant, with("profile", json!("haip")), "unsupported_profile", "profile");
    for name in
        ["same_device", "credential_sets", "transaction_data", "distinct_credentials", "dc_api"]
    {
        refused(&mut tenant, with(name, json!(null)), "invalid_request", name);
    }
    let mut request = request_for(&["given_name"]);
    request["credentials"][0]["claim_paths"] = json!({});
    refused(&mut tenant, request, "invalid_request", "credentials[0].claim_paths");
    tenant.post_session(&with("colour", json!("red"))).expect_error(400, "unknown_field");
}

/// Current wallets cannot use a gateway of `draft` alone, which its operator may not know.
#[test]
fn serve_and_doctor_warn_if_only_draft_is_spoken() {
    const WARNING: &str = "IDGATE_PROFILES is draft alone, which today's wallets do not support";
    for (profiles, warns) in [("draft", true), ("draft,1.0", false)] {
        let installation = Installation::new().with("IDGATE_PROFILES", profiles);
        let server = installation.serve();
        server.stop();
        assert_eq!(installation.log().contains(WARNING), warns, "{}", installation.log());
        let doctor = installation.run_json(&["doctor", "--json"]).to_string();
        assert_eq!(doctor.contains(WARNING), warns, "{doctor}");
    }
}
