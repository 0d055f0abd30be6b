//! Both documents publish the same public keys and nothing private, also after a rotation.

use idgate_testkit::jws;
use serde_json::{Value, json};

use super::{Desk, did_document, text};
use crate::http::{Http, Request};
use crate::server::{Installation, eventually};
use crate::tenant::Gateway;

#[test]
fn both_documents_publish_the_key_that_signs() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let kid = desk.fetch(&created).header["kid"].clone();
    let (jwks, document) = (jwks(&mut desk.tenant.http), did_document(&mut desk.tenant.http));
    let host = desk.gateway.server.base_url.strip_prefix("http://").unwrap().replace(':', "%3A");
    let did = format!("did:web:{host}");
    assert_eq!(document["id"], did);
    let [jwk] = jwks["keys"].as_array().unwrap().as_slice() else { panic!("{jwks}") };
    let names: Vec<&String> = jwk.as_object().unwrap().keys().collect();
    assert_eq!(names, ["alg", "crv", "kid", "kty", "use", "x", "y"]);
    assert_eq!((&jwk["alg"], &jwk["use"], &jwk["kid"]), (&json!("ES256"), &json!("sig"), &kid));
    let [method] = document["verificationMethod"].as_array().unwrap().as_slice() else {
        panic!("{document}")
    };
    assert_eq!(method["id"], kid);
    assert_eq!((&method["type"], &method["controller"]), (&json!("JsonWebKey2020"), &json!(did)));
    let public = json!({"kty": "EC", "crv": "P-256", "x": jwk["x"], "y": jwk["y"]});
    assert_eq!(method["publicKeyJwk"], public);
    for purpose in ["authentication", "assertionMethod"] {
        assert_eq!(document[purpose], json!([kid]));
    }
}

#[test]
fn a_gateway_in_request_mode_inline_publishes_the_documents_too() {
    let gateway = Gateway::start();
    let mut http = gateway.http();
    assert_eq!(jwks(&mut http)["keys"].as_array().unwrap().len(), 1);
    assert_eq!(did_document(&mut http)["verificationMethod"].as_array().unwrap().len(), 1);
}

#[test]
fn discovery_documents_are_public_and_cacheable_for_five_minutes() {
    let gateway = Gateway::start();
    let mut http = gateway.http();
    for path in ["/.well-known/jwks.json", "/.well-known/did.json"] {
        for method in ["GET", "HEAD"] {
            let answer = http.send(&Request::new(method, path)).expect_status(200);
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
            let cache = answer.header("cache-control").unwrap();
            assert!(cache.contains("max-age=300") && !cache.contains("no-store"), "{cache}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_eq!(answer.body.is_empty(), method == "HEAD");
        }
        let refused = http.send(&Request::post(path)).expect_error(405, "method_not_allowed");
        assert_eq!(refused.header("allow"), Some("GET, HEAD"));
    }
    let elsewhere = http.send(&Request::get("/healthz"));
    assert_eq!(elsewhere.header("access-control-allow-origin"), None);
    assert_eq!(elsewhere.header("cache-control"), Some("no-store"));
}

#[test]
fn a_key_rotation_applies_to_new_sessions_and_open_ones_keep_their_key() {
    let mut desk = Desk::jar();
    let created = desk.create();
    let before = text(&desk.get(&created).expect_status(200));
    let rotated = desk.gateway.installation.run_json(&["keys", "rotate", "--json"]);
    let fresh = desk.create();
    let [after, newer] = [&created, &fresh].map(|of| text(&desk.get(of).expect_status(200)));
    let [old, new] = [&before, &newer].map(|jwt| kid(jwt));
    assert_eq!(kid(&after), old);
    assert_ne!(old, new);
    assert!(new.ends_with(&format!("#{}", rotated["key"]["id"].as_str().unwrap())));
    assert!(old.ends_with(&format!("#{}", rotated["retired"]["id"].as_str().unwrap())));
    let published = jwks(&mut desk.tenant.http);
    let kids: Vec<&Value> =
        published["keys"].as_array().unwrap().iter().map(|jwk| &jwk["kid"]).collect();
    assert_eq!(kids, [&new, &old]);
    for (created, jwt) in [(&created, before), (&created, after), (&fresh, newer)] {
        let jar = desk.verify(created, &jwt);
        assert_eq!(jar.header["kid"], kid(&jwt));
    }
    // The wallet that fetched before the rotation answers after it.
    let jar = desk.fetch(&created);
    let answer = desk.answer(&jar).form_body();
    desk.tenant.post_answer(&created.id, &answer).expect_status(200);
}

#[test]
fn a_retired_key_survives_restarts_and_is_erased_after_its_last_session() {
    let mut desk = Desk::start(Installation::at_one_address(), "jar");
    let created = desk.create();
    let old = desk.fetch(&created).header["kid"].clone();
    desk.gateway.installation.run_json(&["keys", "rotate", "--json"]);
    let mut desk = desk.restart(true, "jar");
    assert_eq!(desk.fetch(&created).header["kid"], old);
    let retired = |desk: &Desk| {
        let listed = desk.gateway.installation.run_json(&["keys", "list", "--json"]);
        listed["keys"][1].clone()
    };
    assert_eq!(retired(&desk)["signs_for_open_sessions"], true);
    let shown = desk.gateway.installation.run(&["keys", "list"]).stdout;
    assert!(shown.contains("signs for sessions that were made with it"), "{shown}");
    // As if its last session had ended.
    let database = desk.gateway.installation.data_dir().join("idgate.db");
    let Gateway { server, installation, client } = desk.gateway;
    server.kill();
    let main = rusqlite::Connection::open(database).unwrap();
    main.execute_batch("UPDATE gateway_keys SET published_until = 1 WHERE retired_at IS NOT NULL")
        .unwrap();
    drop(main);
    let server = installation.serve();
    desk.gateway = Gateway { server, installation, client };
    eventually("the key is wiped", || retired(&desk)["signs_for_open_sessions"] == false);
    assert_eq!(retired(&desk)["published"], false);
}

#[test]
fn the_signing_key_survives_a_restart() {
    let mut desk = Desk::jar();
    let kids = |http: &mut Http| jwks(http)["keys"][0]["x"].clone();
    let before = kids(&mut desk.tenant.http);
    let Gateway { server, installation, .. } = desk.gateway;
    server.kill();
    let server = installation.serve();
    assert_eq!(kids(&mut Http::new(server.address)), before);
}

#[test]
fn the_keys_command_lists_the_published_keys() {
    let installation = Installation::new();
    let absent = installation.run(&["keys", "list", "--json"]);
    assert_eq!(absent.code, 1, "{absent:?}");
    assert!(!installation.data_dir().exists(), "a list makes no data directory");
    let gateway = Gateway::start_on(installation);
    let listed = gateway.installation.run_json(&["keys", "list", "--json"]);
    let [key] = listed["keys"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&key["signs"], &key["published"]), (&json!(true), &json!(true)));
    let jwks = jwks(&mut gateway.http());
    let kid = jwks["keys"][0]["kid"].as_str().unwrap();
    assert!(kid.ends_with(&format!("#{}", key["id"].as_str().unwrap())));
    assert_eq!(gateway.installation.run(&["keys", "nonsense"]).code, 2);
}

#[test]
fn outside_development_a_did_web_needs_a_host_name() {
    let installation = Installation::new()
        .with("OID4VP_REQUEST_MODE", "jar")
        .with("IDGATE_ENVIRONMENT", "production");
    let refused = installation.run(&["config", "check", "--json"]);
    assert_eq!(refused.code, 1);
    assert!(refused.json()["error"].as_str().unwrap().contains("did:web"), "{refused:?}");
}

fn jwks(http: &mut Http) -> Value {
    http.send(&Request::get("/.well-known/jwks.json")).expect_status(200).json()
}

fn kid(jwt: &str) -> String {
    jws::header(jwt).unwrap()["kid"].as_str().unwrap().into()
}
