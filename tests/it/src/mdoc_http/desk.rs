//! A server that trusts the sample authority, and the outcome of answers to it.

use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::wallet::Body;

use crate::mdoc_tamper::{Authority, ISSUER_ID, Scenario, VERIFIED, mdl_request};
use crate::server::{Client, Installation};
use crate::tenant::{Created, Gateway, Tenant, now_ms};

/// A server that trusts an authority, and a tenant.
pub(super) struct Desk {
    // Dropped before its directory.
    pub(super) gateway: Gateway,
    pub(super) tenant: Tenant,
    pub(super) authority: Authority,
}

impl Desk {
    /// Starts with a client of this mode, and the sample root with these options of `trust add`.
    pub(super) fn start(installation: Installation, test: bool, options: &[&str]) -> Self {
        let client = installation.create_client("shop", test);
        let authority = Authority::new(now_ms());
        add_root(&installation, &authority, options);
        Self::serve(installation, client, authority)
    }

    pub(super) fn serve(installation: Installation, client: Client, authority: Authority) -> Self {
        let server = installation.serve();
        let gateway = Gateway { server, client, installation };
        let tenant = gateway.tenant();
        Self { gateway, tenant, authority }
    }

    /// A good answer to a session.
    pub(super) fn scenario(&self, created: &Created) -> Scenario {
        let request = AuthorizationRequest::parse(&created.uri).unwrap();
        Scenario::answering(&self.authority, request, created.made_ms)
    }

    /// VERIFIED, or the reason for which a changed answer to a new session is rejected.
    pub(super) fn outcome_of(&mut self, change: impl FnOnce(&mut Scenario)) -> String {
        let created = self.tenant.create(&mdl_request());
        let mut scenario = self.scenario(&created);
        change(&mut scenario);
        self.settle(&created, &scenario.body())
    }

    /// Posts an answer. The HTTP answer, the status and the reason must agree.
    pub(super) fn settle(&mut self, created: &Created, body: &Body) -> String {
        let reply = self.tenant.post_answer(&created.id, body);
        let session = self.tenant.read(&created.id);
        let text = |member: &str| session[member].as_str().unwrap_or_default().to_owned();
        match (reply.status, text("status").as_str()) {
            (200, VERIFIED) => VERIFIED.into(),
            (400, "FAILED") if reply.error() == "invalid_presentation" => {
                assert!(session.get("claims").is_none(), "{session}");
                text("reason")
            }
            (status, _) => format!("HTTP {status} and {session}"),
        }
    }
}

/// Trusts the root of `authority`.
#[track_caller]
pub(super) fn add_root(installation: &Installation, authority: &Authority, options: &[&str]) {
    let root = installation.file("iaca.der", &authority.root.der);
    let add = ["trust", "add", ISSUER_ID, "--root", root.to_str().unwrap()];
    let output = installation.run(&[&add, options].concat());
    assert_eq!(output.code, 0, "{output:?}");
}
