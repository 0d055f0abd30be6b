//! A revoked client: its open sessions end, and no wallet, page or link reaches them any more.

use idgate_testkit::patience::eventually_some;
use idgate_testkit::request_object::JarLink;
use serde_json::{Value, json};

use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{
    Created, Gateway, answer_request, form, request_for, sample_trust, sample_wallet,
};

fn revoke(gateway: &Gateway) {
    let revoked = gateway.installation.run(&["client", "revoke", &gateway.client.client_id]);
    assert_eq!(revoked.code, 0, "{revoked:?}");
}

/// The entries of the audit log about this session.
fn entries_of(gateway: &Gateway, session: &str) -> Vec<Value> {
    let export = gateway.installation.run(&["audit", "export"]).json();
    let entries = export["entries"].as_array().unwrap().iter();
    entries.filter(|entry| entry["session_id"] == session).cloned().collect()
}

fn ended(gateway: &Gateway, created: &Created) -> Value {
    eventually_some("the session of the revoked client ends", || {
        entries_of(gateway, &created.id).into_iter().find(|entry| entry["status"] == "FAILED")
    })
}

#[test]
fn open_sessions_of_a_revoked_client_end_as_client_revoked() {
    let installation = Installation::new().with("IDGATE_PAGE", "on");
    let gateway = Gateway::trusting(installation, &sample_trust());
    let mut tenant = gateway.tenant();
    let mut request = request_for(&["given_name"]);
    request["redirect_uri"] = json!("https://shop.example/back");
    let [created, other] = [tenant.create(&request), tenant.create(&request)];
    let page = created.answer["page_url"].as_str().unwrap();
    let page = page.strip_prefix(&gateway.server.base_url).unwrap().to_owned();
    let answer = form(&sample_wallet(), &created);
    let mut http = gateway.http();
    http.send(&Request::get(&*page)).expect_status(200);
    revoke(&gateway);
    http.send(&answer_request(&created.id, &answer)).expect_error(409, "session_not_pending");
    for below in ["", "/state", "/open"] {
        assert_eq!(http.send(&Request::get(format!("{page}{below}"))).status, 404, "{below}");
    }
    let open = format!("/v1/sessions/{}/open", created.id);
    http.send(&Request::get(open)).expect_error(404, "not_found");
    for session in [&created, &other] {
        let entry = ended(&gateway, session);
        assert_eq!(entry["error_code"], "client_revoked");
        assert_eq!(entry["actor"], "operator");
        assert_eq!(entries_of(&gateway, &session.id).len(), 2, "created, and ended once");
    }
    let export = gateway.installation.run(&["audit", "export"]).json();
    let mut entries = export["entries"].as_array().unwrap().iter();
    let revoked = entries.find(|entry| entry["status"] == "CLIENT_REVOKED").unwrap();
    assert_eq!(revoked["open_sessions"], 2);
    http.send(&answer_request(&other.id, &answer)).expect_error(409, "session_not_pending");
    assert_eq!(gateway.installation.run(&["audit", "verify"]).code, 0);
}

#[test]
fn requests_of_a_revoked_client_cannot_be_fetched() {
    let installation = Installation::new().with("OID4VP_REQUEST_MODE", "jar");
    let gateway = Gateway::trusting(installation, &sample_trust());
    let created = gateway.tenant().create(&request_for(&["given_name"]));
    let link = JarLink::parse(&created.uri).unwrap();
    let path = link.request_uri.strip_prefix(&gateway.server.base_url).unwrap();
    let mut http = gateway.http();
    http.send(&Request::get(path)).expect_status(200);
    revoke(&gateway);
    http.send(&Request::get(path)).expect_error(404, "not_found");
    assert_eq!(ended(&gateway, &created)["error_code"], "client_revoked");
}
