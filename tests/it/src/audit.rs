//! The audit log as tenants read it, and as operators and third parties verify it (decisions 13).

mod http;
mod operator;
mod python;

use serde_json::Value;

use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{Gateway, Tenant, form, now_ms, request_for, sample_wallet, wallet_with};

impl Tenant {
    /// A page of the audit log.
    #[track_caller]
    fn audit(&mut self, query: &str) -> Value {
        let request = Request::get(format!("/v1/audit-log{query}")).bearer(&self.api_key);
        self.http.send(&request).expect_status(200).json()
    }
}

/// One session verified, one rejected and one deleted. Returns their ids.
fn three_sessions(tenant: &mut Tenant) -> [String; 3] {
    let request = request_for(&["given_name"]);
    let verified = tenant.verified(&request, &wallet_with(&[("given_name", "Sentinel-Q7f3xZ")]));
    let refused = tenant.create(&request);
    let stale = sample_wallet().answer_uri(&refused.uri, now_ms() - 3_600_000).unwrap();
    tenant.post_answer(&refused.id, &stale.form_body()).expect_status(400);
    let deleted = tenant.create(&request);
    let _unused = form(&sample_wallet(), &deleted);
    tenant.delete(&deleted.id).expect_status(204);
    [verified.id, refused.id, deleted.id]
}

/// A gateway that has stopped, with the chains of two clients.
fn stopped_installation(installation: Installation) -> Installation {
    let gateway = Gateway::start_on(installation);
    three_sessions(&mut gateway.tenant());
    let Gateway { server, installation, .. } = gateway;
    installation.create_client("other", false);
    server.terminate();
    assert!(server.wait().0.success());
    installation
}
