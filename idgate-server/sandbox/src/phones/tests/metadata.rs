//! The documents that wallets read first.

use super::*;

#[test]
fn both_documents_are_inserted_and_appended_for_each_issuer() {
    let desk = Desk::new();
    for (name, id) in [("vci", PLAIN), ("vci-attested", ATTESTED)] {
        for (document, member) in [
            ("openid-credential-issuer", "credential_issuer"),
            ("oauth-authorization-server", "issuer"),
        ] {
            let inserted = desk.get(&format!("/.well-known/{document}/{name}"));
            let appended = desk.get(&format!("/{name}/.well-known/{document}"));
            assert_eq!((inserted.status, &inserted.body[member]), (200, &json!(id)));
            assert_eq!(inserted.header("content-type"), "application/json");
            assert_eq!(inserted.body, appended.body);
        }
    }
}

#[test]
fn every_configuration_has_what_the_wallets_need() {
    let desk = Desk::new();
    for (name, proofs) in [("vci", 1), ("vci-attested", 2)] {
        let body = desk.get(&format!("/.well-known/openid-credential-issuer/{name}")).body;
        assert_eq!(body["batch_credential_issuance"]["batch_size"], 10);
        for endpoint in ["credential_endpoint", "nonce_endpoint", "notification_endpoint"] {
            assert!(body[endpoint].as_str().unwrap().starts_with(BASE), "{endpoint}");
        }
        let all = body["credential_configurations_supported"].as_object().unwrap();
        assert_eq!(all.len(), 7, "five samples, two of them in the format of drafts as well");
        for (id, one) in all {
            assert_eq!(&one["scope"], id);
            let is_mdoc = one["format"] == "mso_mdoc";
            assert_eq!(one["doctype"].is_string(), is_mdoc, "{id}");
            assert_eq!(one["vct"].is_string(), !is_mdoc, "{id}");
            let algs = &one["credential_signing_alg_values_supported"];
            assert_eq!(algs, &if is_mdoc { json!([-7, -9]) } else { json!(["ES256"]) });
            let binding = one["cryptographic_binding_methods_supported"].as_array().unwrap();
            assert!(binding.contains(&json!("jwk")), "{id}");
            let types = one["proof_types_supported"].as_object().unwrap();
            assert_eq!(types.len(), proofs);
            for kind in types.values() {
                let required = kind["key_attestations_required"]["key_storage"].as_array();
                assert_eq!(required.is_some_and(|all| !all.is_empty()), proofs == 2, "{id}");
            }
            let display = &one["credential_metadata"]["display"][0];
            assert!(display["name"].as_str().unwrap().starts_with("TEST "), "{display}");
            assert!(display["logo"]["uri"].as_str().unwrap().ends_with("/logo.png"));
            for claim in one["credential_metadata"]["claims"].as_array().unwrap() {
                let path = claim["path"].as_array().unwrap();
                assert!(path.len() >= if is_mdoc { 2 } else { 1 }, "{claim}");
            }
        }
    }
}

#[test]
fn the_server_announces_what_wallets_require() {
    let desk = Desk::new();
    for name in ["vci", "vci-attested"] {
        let server = desk.get(&format!("/.well-known/oauth-authorization-server/{name}")).body;
        assert_eq!(server["grant_types_supported"], json!([PRE_AUTHORIZED]));
        let methods = json!(["none", "attest_jwt_client_auth"]);
        assert_eq!(server["token_endpoint_auth_methods_supported"], methods);
        assert_eq!(server["pre-authorized_grant_anonymous_access_supported"], true);
        for member in [
            "client_attestation_signing_alg_values_supported",
            "client_attestation_pop_signing_alg_values_supported",
            "dpop_signing_alg_values_supported",
        ] {
            assert_eq!(server[member], json!(["ES256"]), "{name} {member}");
        }
    }
}

#[test]
fn the_announced_authorization_code_flow_is_refused() {
    let desk = Desk::new();
    assert_eq!(desk.get("/vci/authorize").outcome(), (400, "unsupported_response_type"));
    assert_eq!(desk.form("/vci/par", &[], &[]).outcome(), (400, "unauthorized_client"));
}

#[test]
fn each_path_has_its_methods() {
    let desk = Desk::new();
    for path in ["/vci/token", "/vci/nonce", "/vci/credential", "/vci/notification"] {
        let reply = desk.get(path);
        assert_eq!((reply.status, reply.header("allow")), (405, "POST"), "{path}");
    }
    let reply = desk.form("/vci/logo.png", &[], &[]);
    assert_eq!((reply.status, reply.header("allow")), (405, "GET, HEAD"));
    assert_eq!(desk.send("HEAD", "/vci/logo.png", &[], Some(b"")).status, 200);
}

#[test]
fn the_logo_is_a_picture_and_is_embedded_where_there_is_no_https() {
    let desk = Desk::new();
    let reply = desk.get("/vci/logo.png");
    assert_eq!(reply.header("content-type"), "image/png");
    assert!(reply.response.body().starts_with(b"\x89PNG"));
    let local = Issuer { id: "http://localhost/vci".into(), attested: false };
    let uri = local.metadata()["display"][0]["logo"]["uri"].clone();
    assert!(uri.as_str().unwrap().starts_with("data:image/png;base64,"), "{uri}");
}

#[test]
fn an_address_is_public_unless_it_is_loopback() {
    for own in ["http://127.0.0.1", "http://localhost", "http://[::1]", "http://127.9.9.9"] {
        assert!(!is_public(own), "{own}");
    }
    for other in
        ["https://abc.tunnel.example", "https://192.168.0.7:8443", "http://localhost.example"]
    {
        assert!(is_public(other), "{other}");
    }
}
