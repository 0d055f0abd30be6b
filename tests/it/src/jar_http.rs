//! Request mode jar over HTTP: signed requests, encrypted answers, discovery, and the storage of
//! keys (decisions 5, 6, 8 and 18).

mod answers;
mod captures;
mod discovery;
mod logs;
mod profiles;
mod request_object;
mod session_key;
mod tamper;

use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::samples;
use idgate_testkit::wallet::{JarAnswer, Transcript, Wallet};
use serde_json::{Value, json};

use crate::http::{Http, Request, Response};
use crate::server::Installation;
use crate::tenant::{Created, Gateway, Tenant, now_ms, sample_trust, sample_wallet};

/// A server in one of the two request modes that trusts both sample issuers, and its tenant.
struct Desk {
    // Dropped before its directory.
    gateway: Gateway,
    tenant: Tenant,
    wallet: Wallet,
}

impl Desk {
    fn jar() -> Self {
        Self::start(Installation::new(), "jar")
    }

    fn start(installation: Installation, mode: &str) -> Self {
        let installation = installation.with("OID4VP_REQUEST_MODE", mode);
        let licence = samples::issue_mdl(now_ms());
        let root = installation.file("iaca.der", &licence.root.der);
        let root = root.to_str().unwrap();
        let trusted = installation.run(&["trust", "add", samples::MDL_ISSUER, "--root", root]);
        assert_eq!(trusted.code, 0, "{trusted:?}");
        let gateway = Gateway::trusting(installation, &sample_trust());
        let tenant = gateway.tenant();
        Self { gateway, tenant, wallet: sample_wallet().with_mdoc(licence.document) }
    }

    /// Ends the server, gracefully or not, and starts it again in `mode`.
    fn restart(self, kill: bool, mode: &str) -> Self {
        let Self { gateway, mut tenant, wallet } = self;
        let Gateway { server, client, installation } = gateway;
        if kill {
            server.kill();
        } else {
            server.terminate();
            server.wait();
        }
        let installation = installation.with("OID4VP_REQUEST_MODE", mode);
        let gateway = Gateway { server: installation.serve(), client, installation };
        tenant.http = gateway.http();
        Self { gateway, tenant, wallet }
    }

    /// A session that asks for a name.
    fn create(&mut self) -> Created {
        self.tenant.create(&name_request())
    }

    /// The Request Object of a session, fetched and verified.
    fn fetch(&mut self, created: &Created) -> JarRequest {
        let jwt = self.get(created).expect_status(200);
        self.verify(created, &text(&jwt))
    }

    fn get(&mut self, created: &Created) -> Response {
        self.tenant.http.send(&Request::get(request_path(created)))
    }

    /// Verifies a Request Object like a strict wallet, with the DID document in force.
    fn verify(&mut self, created: &Created, jwt: &str) -> JarRequest {
        let link = JarLink::parse(&created.uri).unwrap();
        JarRequest::verify(&link, jwt, &did_document(&mut self.tenant.http), now_ms()).unwrap()
    }

    fn answer(&self, jar: &JarRequest) -> JarAnswer {
        self.wallet.answer_jar(jar, Transcript::OpenId4Vp, false, now_ms()).unwrap()
    }

    fn status(&mut self, created: &Created) -> String {
        self.tenant.read(&created.id)["status"].as_str().unwrap().into()
    }
}

fn did_document(http: &mut Http) -> Value {
    http.send(&Request::get("/.well-known/did.json")).expect_status(200).json()
}

fn request_path(created: &Created) -> String {
    format!("/v1/oid4vp/request/{}", created.id)
}

fn text(response: &Response) -> String {
    String::from_utf8(response.body.clone()).unwrap()
}

fn name_request() -> Value {
    json!({ "credentials": [{ "id": "pid", "format": "vc+sd-jwt",
        "issuer_id": samples::ISSUER, "claims": ["given_name"] }] })
}
