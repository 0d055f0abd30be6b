//! An unreachable database, as seen by tenants, wallets and readiness checks.

use std::time::Duration;

use super::cluster::SOCKET;
use super::proxy::Proxy;
use crate::http::{Http, Request, Response};
use crate::server::{Installation, eventually};
use crate::stores;
use crate::tenant::{Created, Gateway, Tenant, form, request_for, sample_trust, sample_wallet};

/// A gateway whose database is behind a proxy.
struct Far {
    gateway: Gateway,
    proxy: Proxy,
}

impl Far {
    fn start() -> Option<Self> {
        let (cluster, database) = (stores::cluster()?, stores::migrated()?);
        let proxy = Proxy::to(&cluster.dir().join(SOCKET));
        let (_, name) = database.rsplit_once('/')?;
        let url = format!("postgres://idgate@127.0.0.1:{}/{name}", proxy.port);
        let installation = Installation::on(&url).with_machine();
        let gateway = Gateway::trusting(installation, &sample_trust());
        Some(Self { gateway, proxy })
    }

    fn ready(&self) -> u16 {
        Http::new(self.gateway.server.address).send(&Request::get("/readyz")).status
    }

    fn expect_ready(&self, status: u16) {
        eventually(&format!("readiness is {status}"), || self.ready() == status);
    }
}

fn expect_later(response: Response) {
    let response = response.expect_status(503);
    assert!(response.header("retry-after").is_some(), "{response:?}");
}

fn answer(tenant: &mut Tenant, created: &Created) -> Response {
    tenant.post_answer(&created.id, &form(&sample_wallet(), created))
}

#[test]
fn an_unreachable_database_is_503_within_2_seconds() {
    let Some(far) = Far::start() else { return };
    let mut tenant = far.gateway.tenant();
    let request = request_for(&["given_name"]);
    let created = tenant.create(&request);
    far.expect_ready(200);
    // The clocks stop, so no timeout is involved.
    let machine = far.gateway.installation.machine();
    machine.freeze();
    far.proxy.cut();
    // A readiness check that succeeded counts for a second.
    machine.jump(Duration::from_secs(1));
    far.expect_ready(503);
    expect_later(tenant.post_session(&request));
    expect_later(tenant.get(&created.id));
    expect_later(answer(&mut tenant, &created));
    machine.thaw();
    far.proxy.pass();
    far.expect_ready(200);
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
    answer(&mut tenant, &created).expect_status(200);
    assert_eq!(tenant.read(&created.id)["status"], "VERIFIED");
}

#[test]
fn a_commit_with_a_lost_acknowledgement_is_answered_correctly() {
    let Some(far) = Far::start() else { return };
    let mut tenant = far.gateway.tenant();
    far.proxy.lose_the_next_commit();
    let created = tenant.create(&request_for(&["given_name"]));
    assert!(far.proxy.has_lost_it());
    far.proxy.lose_the_next_commit();
    answer(&mut tenant, &created).expect_status(200);
    assert!(far.proxy.has_lost_it());
    let session = tenant.read(&created.id);
    assert_eq!(session["status"], "VERIFIED", "{session}");
    let intact = far.gateway.installation.run_json(&["audit", "verify", "--json"]);
    assert_eq!(intact["intact"], true, "{intact}");
}

#[test]
fn a_frozen_database_is_503_within_15_seconds() {
    let Some(far) = Far::start() else { return };
    let mut tenant = far.gateway.tenant();
    let created = tenant.create(&request_for(&["given_name"]));
    far.proxy.freeze();
    expect_later(tenant.get(&created.id));
    far.expect_ready(503);
    far.proxy.pass();
    far.expect_ready(200);
    assert_eq!(tenant.read(&created.id)["status"], "PENDING");
}
