//! Authentication: keys, clients, modes (specification 5, decisions 10).

use serde_json::json;

use crate::disk;
use crate::http::Http;
use crate::server::{Client, Installation};
use crate::tenant::{Gateway, Tenant, form, request_for, sample_trust, sample_wallet};

/// Clients of one server.
struct Clients {
    gateway: Gateway,
    live: Client,
    other: Client,
}

impl Clients {
    fn start() -> Self {
        let installation = Installation::new();
        let live = installation.create_client("live", false);
        let other = installation.create_client("other", true);
        Self { gateway: Gateway::start_on(installation), live, other }
    }
}

#[test]
fn keys_and_secrets_have_the_documented_format() {
    let Clients { gateway, live, .. } = Clients::start();
    for (client, prefix) in [(&gateway.client, "sk_test_"), (&live, "sk_live_")] {
        let token = client.api_key.strip_prefix(prefix).unwrap_or_default();
        assert!(token.len() == 38 && token.chars().all(|c| c.is_ascii_alphanumeric()), "{prefix}");
        assert!(client.signing_secret.starts_with("whsec_"));
        let id = client.client_id.strip_prefix("cli_").unwrap_or_default();
        assert!(id.len() == 22 && id.chars().all(|c| c.is_ascii_alphanumeric()));
    }
    assert!(live.livemode && !gateway.client.livemode);
}

#[test]
fn a_revoked_clients_next_request_is_rejected() {
    let Clients { gateway, other, .. } = Clients::start();
    let mut tenant = gateway.tenant_of(&other);
    let mut bystander = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    tenant.get(&created.id).expect_status(200);
    assert_eq!(gateway.installation.run(&["client", "revoke", &other.client_id]).code, 0);
    // Even on the connection that was accepted a moment ago.
    tenant.get(&created.id).expect_error(401, "invalid_api_key");
    tenant.post_session(&request_for(&["given_name"])).expect_error(401, "invalid_api_key");
    tenant.delete(&created.id).expect_error(401, "invalid_api_key");
    bystander.create(&request_for(&["given_name"]));
    // Permanently: also after a restart.
    let Gateway { server, installation, .. } = gateway;
    server.kill();
    let server = installation.serve();
    let mut tenant = Tenant { http: Http::new(server.address), api_key: other.api_key };
    tenant.get(&created.id).expect_error(401, "invalid_api_key");
}

#[test]
fn a_client_created_while_the_server_runs_works_immediately() {
    let gateway = Gateway::start();
    let late = gateway.installation.create_client("late", true);
    gateway.tenant_of(&late).create(&request_for(&["given_name"]));
}

#[test]
fn test_and_live_keys_see_only_their_own_mode() {
    let Clients { gateway, live, .. } = Clients::start();
    let (mut in_test, mut in_live) = (gateway.tenant(), gateway.tenant_of(&live));
    let request = request_for(&["given_name"]);
    let (test_session, live_session) = (in_test.create(&request), in_live.create(&request));
    assert_eq!(test_session.answer["livemode"], false);
    assert_eq!(live_session.answer["livemode"], true);
    assert_eq!(in_live.read(&live_session.id)["livemode"], true);
    in_test.get(&live_session.id).expect_error(404, "not_found");
    in_live.get(&test_session.id).expect_error(404, "not_found");
}

#[test]
fn test_material_serves_test_sessions_only() {
    let installation = Installation::new();
    let mut trust = sample_trust();
    trust.issuer_id = "https://sandbox.example".into();
    installation.trust(&trust, &["--test"]);
    let live = installation.create_client("live", false);
    let gateway = Gateway::start_on(installation);
    let request = json!({ "credentials": [
        { "format": "vc+sd-jwt", "issuer_id": trust.issuer_id, "claims": ["given_name"] }
    ]});
    gateway.tenant().create(&request);
    gateway.tenant_of(&live).post_session(&request).expect_error(400, "unknown_issuer");
}

#[test]
fn no_secret_is_in_plaintext_in_any_file() {
    let Clients { gateway, live, other } = Clients::start();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    let body = form(&sample_wallet(), &created);
    tenant.post_answer(&created.id, &body).expect_status(200);
    let open = tenant.create(&request_for(&["given_name"]));
    let mut secrets: Vec<String> = Vec::new();
    for client in [&gateway.client, &live, &other] {
        // Also searched for without their prefixes.
        let (key, secret) = (&client.api_key, &client.signing_secret);
        secrets.extend([key.clone(), key[8..].into(), secret.clone(), secret[6..].into()]);
    }
    for session in [&created, &open] {
        let request = idgate_testkit::request::AuthorizationRequest::parse(&session.uri).unwrap();
        secrets.extend([request.nonce, request.state]);
    }
    let directory = gateway.installation.data_dir();
    for secret in secrets {
        let files = disk::files_with(&directory, &[secret.into_bytes()]);
        assert!(files.is_empty(), "in plain in {files:?}");
    }
    // The search does find plaintext.
    let id = gateway.client.client_id.clone().into_bytes();
    assert!(!disk::files_with(&directory, &[id]).is_empty());
}
