//! `idgate-bench server`: the gateway under load, as a process of its own. A flow is create, answer
//! and read, with everything that makes it durable: API key, audit entries, status events, outbox row,
//! FULL synchronisation. Figures of the gateway's process alone; whoever asks it is beside it.

mod flow;
mod process;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use self::flow::{Client, Profile};
use self::process::Gateway;

/// How much load.
#[derive(Args)]
pub(crate) struct ServerOptions {
    /// Flows per row
    #[arg(long, default_value_t = 10_000)]
    flows: usize,
    /// 100 000 flows per row
    #[arg(long, conflicts_with = "flows")]
    full: bool,
    /// Connections at a time
    #[arg(long, default_value_t = 64)]
    connections: usize,
}

/// What one row measured.
struct Measured {
    profile: Profile,
    flows: usize,
    connections: usize,
    wall: Duration,
    cpu: Duration,
    latencies: Vec<Duration>,
    /// None where the gateway does not count them.
    commits: Option<f64>,
    rss_kib: u64,
}

/// Measures both profiles, a line each.
///
/// # Errors
/// The gateway does not start, or gives another answer than it should.
pub(crate) fn run(options: &ServerOptions, json: bool) -> Result<(), String> {
    if !json {
        println!(
            "{:<8} {:>8} {:>6} {:>12} {:>9} {:>8} {:>16} {:>8}",
            "profile",
            "flows",
            "conns",
            "us CPU/flow",
            "flows/s",
            "p99 ms",
            "sessions/commit",
            "RSS MiB"
        );
    }
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    for profile in [Profile::Inline, Profile::Jar] {
        let measured = runtime.block_on(measure(options, profile))?;
        println!("{}", if json { measured.json().to_string() } else { measured.text() });
    }
    Ok(())
}

async fn measure(options: &ServerOptions, profile: Profile) -> Result<Measured, String> {
    let flows = if options.full { 100_000 } else { options.flows };
    let gateway = Gateway::start(profile).await?;
    let mut clients = Vec::new();
    for _ in 0..options.connections {
        clients.push(Client::connect(&gateway, profile).await?);
    }
    // Warm: statements are prepared.
    let clients = drive(clients, options.connections * 4).await?;
    let (cpu, commits) = (gateway.cpu()?, gateway.commits().await?);
    let start = now();
    let clients = drive(clients, flows).await?;
    let wall = start.elapsed();
    Ok(Measured {
        profile,
        flows,
        connections: options.connections,
        wall,
        cpu: gateway.cpu()?.saturating_sub(cpu),
        latencies: clients.into_iter().flat_map(Client::into_latencies).collect(),
        commits: gateway.commits().await?.zip(commits).map(|(after, before)| after - before),
        rss_kib: gateway.rss_kib()?,
    })
}

/// Carries out that many flows, shared by the clients.
async fn drive(clients: Vec<Client>, flows: usize) -> Result<Vec<Client>, String> {
    let left = Arc::new(AtomicUsize::new(flows));
    let mut driving = JoinSet::new();
    for mut client in clients {
        client.forget_latencies();
        let left = left.clone();
        let take = move || {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
        };
        driving.spawn(async move {
            while take() {
                client.flow().await?;
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

impl Measured {
    fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / count(self.flows)
    }

    fn per_second(&self) -> f64 {
        count(self.flows) / self.wall.as_secs_f64()
    }

    fn p99_ms(&self) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort();
        let at = sorted.len().saturating_mul(99) / 100;
        sorted.get(at).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    }

    /// A session is written twice: when it is made, and when it is settled.
    fn sessions_per_commit(&self) -> Option<f64> {
        self.commits.map(|commits| count(self.flows) / commits)
    }

    fn rss_mib(&self) -> f64 {
        f64::from(u32::try_from(self.rss_kib).unwrap_or(u32::MAX)) / 1024.0
    }

    fn json(&self) -> Value {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        json!({
            "case": format!("server_{}", self.profile.name()),
            "flows": self.flows,
            "connections": self.connections,
            "cpu_us_per_flow": round(self.cpu_us()),
            "flows_per_second": round(self.per_second()),
            "p99_ms": round(self.p99_ms()),
            "sessions_per_commit": self.sessions_per_commit().map(round),
            "rss_mib": round(self.rss_mib()),
        })
    }

    fn text(&self) -> String {
        format!(
            "{:<8} {:>8} {:>6} {:>12.1} {:>9.0} {:>8.1} {:>16} {:>8.1}",
            self.profile.name(),
            self.flows,
            self.connections,
            self.cpu_us(),
            self.per_second(),
            self.p99_ms(),
            self.sessions_per_commit().map_or("-".into(), |it| format!("{it:.1}")),
            self.rss_mib()
        )
    }
}

fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

#[allow(clippy::disallowed_methods, reason = "it measures")]
fn now() -> Instant {
    Instant::now()
}
