//! `idgate-bench server`: the gateway under load, in its own process. A flow is create, answer and
//! read, with everything that makes it durable: API key, audit entries, status events, outbox row, FULL
//! synchronisation. The figures cover only the gateway's process, and not its clients. A profile and its
//! floor run in turns, so that other load of the machine affects both.

#[allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, dead_code)] // it is for tests
#[path = "../../idgate-server/store/src/tests/cluster.rs"]
mod cluster;
mod encrypted;
mod floor;
mod flow;
mod gateway;
mod growth;
mod memory;
mod neighbours;
mod nodes;
mod process;
mod rates;
mod reference;
mod row;
mod shared;
mod shared_floor;
mod stages;
mod strangers;
mod streams;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use self::floor::Commit;
pub(crate) use self::floor::{FloorOptions, serve_floor};
use self::flow::{Client, Profile};
use self::process::Server;
use self::reference::Reference;
use self::row::Row;
use self::shared::Shared;
pub(crate) use self::shared_floor::{SharedFloorOptions, serve_shared_floor};
use self::waits::Length;

/// The turns of each server. More would make a turn too short for the kernel's ticks.
const ROUNDS: usize = 4;

/// How much load.
#[derive(Args)]
pub(crate) struct ServerOptions {
    /// Flows per row
    #[arg(long, default_value_t = 10_000)]
    flows: usize,
    /// 100 000 flows per row
    #[arg(long, conflicts_with = "flows")]
    full: bool,
    /// Instead of flows: a client at full speed on 200 connections and a good one, for each route
    /// of tenants
    #[arg(long, conflicts_with_all = ["flows", "full", "connections"])]
    neighbours: bool,
    /// Instead of flows: 1500 connections of 200 addresses that hold full bodies, and a tenant
    #[arg(long, conflicts_with_all = ["flows", "full", "connections", "neighbours"])]
    strangers: bool,
    /// Instead of full speed: flows at a quarter, a half and three quarters of it; with `--postgres` the
    /// cost of a flow with one to three gateways at the same rate each
    #[arg(long, conflicts_with_all = ["neighbours", "strangers"])]
    rates: bool,
    /// The CPU time of a flow by stage, from the gateway's traces
    #[arg(long, conflicts_with_all = ["neighbours", "strangers", "postgres", "rates"])]
    stages: bool,
    /// How the cost of a flow grows with the number of tenants, settled sessions, trusted roots or open
    /// streams, or of one of these; with `--full` up to a million sessions
    #[arg(long, conflicts_with_all = ["neighbours", "strangers", "postgres", "rates", "stages"])]
    #[arg(value_name = "KIND")]
    growth: Option<Option<growth::Kind>>,
    /// Resident memory of the gateway: under load and afterwards, per open session and per stream
    #[arg(long, conflicts_with_all = ["neighbours", "strangers", "postgres", "rates", "stages", "growth"])]
    memory: bool,
    /// The cost of TLS in the gateway: on persistent connections, and with one connection for each flow
    #[arg(long, conflicts_with_all = ["neighbours", "strangers", "postgres", "rates", "stages", "growth", "memory"])]
    tls: bool,
    /// Instead of both profiles: one to three gateways that share a PostgreSQL, one on SQLite, and a floor
    /// with the same statements
    #[arg(long, conflicts_with_all = ["neighbours", "strangers"])]
    postgres: bool,
    /// Send few requests: shows that the bench works; its figures mean little
    #[arg(long, conflicts_with_all = ["flows", "full", "connections"])]
    short: bool,
    /// Parallel connections [default: 64; flows through both profiles and on PostgreSQL: 64, then 1]
    #[arg(long)]
    connections: Option<usize>,
}

impl ServerOptions {
    const fn flows(&self) -> usize {
        if self.full { 100_000 } else { self.flows }
    }

    fn connections(&self) -> usize {
        self.connections.unwrap_or(64)
    }
}

/// Measures both profiles, and creation alone, with their floors and references. Prints a line for each.
///
/// # Errors
/// A server does not start, or gives an unexpected answer.
pub(crate) fn run(options: &ServerOptions, json: bool) -> Result<(), String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let length = if options.short { Length::Short } else { Length::Full };
    if options.neighbours {
        return runtime.block_on(neighbours::run(length, json));
    }
    if options.strangers {
        return runtime.block_on(strangers::run(length, json));
    }
    if let Some(only) = options.growth {
        return runtime.block_on(growth::run(options, only, json));
    }
    if options.memory {
        return runtime.block_on(memory::run(options, json));
    }
    if options.tls {
        return runtime.block_on(encrypted::run(options, json));
    }
    if options.stages {
        return runtime.block_on(stages::run(options, json));
    }
    if options.rates && options.postgres {
        return runtime.block_on(nodes::run(options, json));
    }
    if options.rates {
        return runtime.block_on(rates::run(options, json));
    }
    if !json {
        println!("{}", Row::HEADER);
    }
    let both = match options.connections {
        Some(connections) => vec![connections],
        None => vec![64, 1],
    };
    let shared = if options.postgres { Some(Shared::start()?) } else { None };
    for connections in both {
        runtime.block_on(async {
            match &shared {
                Some(shared) => on_postgres(options, connections, shared, json).await,
                None => on_sqlite(options, connections, json).await,
            }
        })?;
    }
    Ok(())
}

/// Both profiles, and creation alone, with a floor that commits each change and with the reference.
async fn on_sqlite(options: &ServerOptions, connections: usize, json: bool) -> Result<(), String> {
    let each = Commit::Each;
    for (floor, gateway) in [
        (Profile::Floor(each), Profile::Inline),
        (Profile::JarFloor(each), Profile::Jar),
        (Profile::CreateFloor(each), Profile::Create),
    ] {
        // These flows are short: fewer of them would span too few of the kernel's ticks.
        let times = if gateway == Profile::Create { 4 } else { 1 };
        let flows = options.flows().saturating_mul(times);
        let mut rows = measure(connections, flows, &[floor, gateway], None).await?;
        row::compare(&mut rows);
        let last = rows.last().ok_or("no gateway was measured")?;
        let reference = Reference::on_sqlite(last).await?;
        print(rows, Some(&reference), json);
    }
    Ok(())
}

/// One to three gateways that share a PostgreSQL, with the floors that send the same statements.
async fn on_postgres(
    options: &ServerOptions,
    connections: usize,
    shared: &Shared,
    json: bool,
) -> Result<(), String> {
    let profiles = [
        Profile::SharedFloor(Commit::Each),
        Profile::SharedFloor(Commit::Group),
        Profile::Shared(1),
        Profile::Shared(2),
        Profile::Shared(3),
    ];
    let nodes = if connections == 1 { &profiles[..3] } else { &profiles[..] };
    let mut rows = measure(connections, options.flows(), nodes, Some(shared)).await?;
    row::compare_shared(&mut rows);
    let row_of = |profile| rows.iter().find(|row| row.profile() == profile);
    let [floor, gateway] = [Profile::SharedFloor(Commit::Group), Profile::Shared(1)].map(row_of);
    let (floor, gateway) = floor.zip(gateway).ok_or("a row is missing")?;
    let reference = Reference::on_postgres(gateway, floor).await?;
    print(rows, Some(&reference), json);
    Ok(())
}

fn print(rows: Vec<Row>, reference: Option<&Reference>, json: bool) {
    for row in rows {
        println!("{}", if json { row.json().to_string() } else { row.text() });
        if let Some(threads) = row.text_of_threads().filter(|_| !json) {
            println!("{threads}");
        }
    }
    if let Some(reference) = reference {
        println!("{}", if json { reference.json().to_string() } else { reference.text() });
    }
}

/// A server, or several that share a database, with their clients.
struct Driven {
    servers: Vec<Server>,
    clients: Vec<Client>,
    row: Row,
}

/// Measures these servers in turns.
async fn measure(
    connections: usize,
    flows: usize,
    profiles: &[Profile],
    shared: Option<&Shared>,
) -> Result<Vec<Row>, String> {
    let mut all = Vec::new();
    for &profile in profiles {
        all.push(Driven::start(profile, shared, connections).await?);
    }
    let mut left = flows;
    for rounds in (1..=ROUNDS).rev() {
        let share = left.div_ceil(rounds);
        left = left.saturating_sub(share);
        for driven in &mut all {
            driven.round(share).await?;
        }
    }
    all.into_iter().map(Driven::finish).collect()
}

impl Driven {
    async fn start(
        profile: Profile,
        shared: Option<&Shared>,
        connections: usize,
    ) -> Result<Self, String> {
        Self::with(Server::start(profile, shared).await?, profile, connections).await
    }

    async fn with(
        servers: Vec<Server>,
        profile: Profile,
        connections: usize,
    ) -> Result<Self, String> {
        let mut clients = Vec::new();
        for server in servers.iter().cycle().take(connections) {
            clients.push(Client::connect(server, profile).await?);
        }
        // Warm up: prepare the statements.
        let mut clients = drive(clients, connections.saturating_mul(4)).await?;
        clients.iter_mut().for_each(Client::forget_latencies);
        Ok(Self { servers, clients, row: Row::new(profile, connections) })
    }

    async fn round(&mut self, flows: usize) -> Result<(), String> {
        self.round_of(flows, async |clients| drive(clients, flows).await).await
    }

    /// Measures that many flows.
    async fn round_of(
        &mut self,
        flows: usize,
        drive: impl AsyncFnOnce(Vec<Client>) -> Result<Vec<Client>, String>,
    ) -> Result<(), String> {
        for client in &mut self.clients {
            client.reconnect().await?;
        }
        // First, because it reads all metrics, some of which are counted.
        let commits = self.commits().await?;
        let (cpu, threads) = (self.cpu()?, self.threads()?);
        let start = now();
        self.clients = drive(std::mem::take(&mut self.clients)).await?;
        self.row.wall += start.elapsed();
        self.row.cpu += self.cpu()?.saturating_sub(cpu);
        for (name, used) in self.threads()? {
            let before = threads.get(&name).copied().unwrap_or_default();
            *self.row.threads.entry(name).or_default() += used.saturating_sub(before);
        }
        self.row.flows += flows;
        let made = self.commits().await?.zip(commits).map(|(after, before)| after - before);
        self.row.commits = made.map(|made| self.row.commits.unwrap_or_default() + made);
        Ok(())
    }

    fn finish(mut self) -> Result<Row, String> {
        self.row.latencies = self.clients.into_iter().flat_map(Client::into_latencies).collect();
        for server in &self.servers {
            self.row.rss_kib += server.rss_kib()?;
        }
        Ok(self.row)
    }

    /// The resources that all of them have used.
    fn cpu(&self) -> Result<Duration, String> {
        self.servers.iter().map(Server::cpu).sum()
    }

    fn threads(&self) -> Result<BTreeMap<String, Duration>, String> {
        let mut all = BTreeMap::new();
        for server in &self.servers {
            for (name, used) in server.threads()? {
                *all.entry(name).or_default() += used;
            }
        }
        Ok(all)
    }

    async fn commits(&self) -> Result<Option<f64>, String> {
        let mut all = None;
        for server in &self.servers {
            let more = server.commits().await?;
            all = more.map(|more| more + all.unwrap_or_default()).or(all);
        }
        Ok(all)
    }
}

/// A connection that repeats its work.
trait Repeats: Send + 'static {
    /// Does it once.
    fn once(&mut self) -> impl Future<Output = Result<(), String>> + Send;
}

impl Repeats for Client {
    async fn once(&mut self) -> Result<(), String> {
        self.flow().await
    }
}

/// Does the work that many times, shared by the clients.
async fn drive<C: Repeats>(clients: Vec<C>, times: usize) -> Result<Vec<C>, String> {
    let left = Arc::new(AtomicUsize::new(times));
    let mut driving = JoinSet::new();
    for mut client in clients {
        let left = left.clone();
        let take = move || {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
        };
        driving.spawn(async move {
            while take() {
                client.once().await?;
            }
            Ok::<_, String>(client)
        });
    }
    let mut clients = Vec::new();
    while let Some(driven) = driving.join_next().await {
        clients.push(driven.map_err(|_| "a client panicked")??);
    }
    Ok(clients)
}

#[allow(clippy::disallowed_methods, reason = "it measures")]
fn now() -> Instant {
    Instant::now()
}
