//! Several gateways on a separate PostgreSQL, each behind a proxy to the database.

use std::net::SocketAddr;

use super::cluster::{Cluster, SOCKET};
use super::proxy::Proxy;
use crate::http::{Http, Request};
use crate::machine::Machine;
use crate::server::{Client, Installation, Server, eventually, free_address};
use crate::tenant::sample_trust;

const DATABASE: &str = "gateway";

pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
    pub(super) client: Client,
    /// The machine that all of them run on.
    pub(super) machine: Machine,
    // Dropped last.
    pub(super) cluster: Cluster,
}

/// One gateway. It keeps its address across restarts.
pub(super) struct Node {
    /// `None` while it is down.
    pub(super) server: Option<Server>,
    pub(super) installation: Installation,
    pub(super) proxy: Proxy,
    pub(super) address: SocketAddr,
}

impl Nodes {
    /// `None`: this machine has no PostgreSQL.
    pub(super) fn start(count: usize) -> Option<Self> {
        Self::start_with(count, &[])
    }

    pub(super) fn start_with(count: usize, settings: &[(&str, &str)]) -> Option<Self> {
        let cluster = Cluster::start()?;
        cluster.create(DATABASE, "template1");
        let machine = Machine::new();
        let node = |_| Node::new(&cluster, settings, &machine);
        let mut nodes: Vec<Node> = (0..count).map(node).collect();
        let first = &nodes[0].installation;
        first.run_json(&["migrate", "--json"]);
        let client = first.create_client("shop", true);
        first.trust(&sample_trust(), &[]);
        for node in &mut nodes {
            node.serve();
        }
        Some(Self { nodes, client, machine, cluster })
    }

    pub(super) fn url(&self) -> String {
        self.cluster.url(DATABASE)
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(|node| node.address).collect()
    }

    /// Waits until every node is ready.
    #[track_caller]
    pub(super) fn wait(&self, when: &str) {
        for node in &self.nodes {
            eventually(&format!("{when}: {} is ready", node.address), || node.is_ready());
        }
    }
}

impl Node {
    fn new(cluster: &Cluster, settings: &[(&str, &str)], machine: &Machine) -> Self {
        let proxy = Proxy::to(&cluster.dir().join(SOCKET));
        let address = free_address();
        let url = format!("postgres://idgate@127.0.0.1:{}/{DATABASE}", proxy.port);
        let mut installation = Installation::on(&url).on_machine(machine);
        installation.set("IDGATE_LISTEN", &address.to_string());
        // A request to any node is a request to the same gateway.
        installation.set("IDGATE_BASE_URL", "http://localhost:1");
        for (name, value) in settings {
            installation.set(name, value);
        }
        Self { server: None, installation, proxy, address }
    }

    pub(super) fn serve(&mut self) {
        self.server = Some(self.installation.serve());
    }

    pub(super) fn kill(&mut self) {
        self.server.take().unwrap().kill();
    }

    pub(super) fn signal(&self, name: &str) {
        self.server.as_ref().unwrap().signal(name);
    }

    fn is_ready(&self) -> bool {
        let answer = Http::new(self.address).try_send(&Request::get("/readyz"));
        answer.is_ok_and(|answer| answer.status == 200)
    }
}
