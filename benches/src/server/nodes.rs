//! The cost of a flow with one, two and three nodes that share a PostgreSQL. Each node has its own client and the
//! same rate as a single node. A node with fewer requests shares commits and thread wake-ups among fewer flows, which
//! alone makes a flow more expensive: at full speed each of three nodes on one machine gets a third of the requests.

use serde_json::json;

use super::flow::Profile;
use super::rates::arrive;
use super::row::{Row, count};
use super::shared::Shared;
use super::{Driven, ROUNDS, ServerOptions};

/// Numbers of nodes.
const NODES: [usize; 3] = [1, 2, 3];

/// The share of a single node's capacity.
const ONE_IN: f64 = 6.0;

/// Measures them in turns, and prints a line for each.
pub(super) async fn run(options: &ServerOptions, json: bool) -> Result<(), String> {
    let (shared, connections) = (Shared::start()?, options.connections());
    let mut alone = Driven::start(Profile::Shared(1), Some(&shared), connections).await?;
    alone.round(options.flows()).await?;
    let of_each = alone.finish()?.per_second() / ONE_IN;
    let mut all = Vec::new();
    for nodes in NODES {
        let servers = shared.start_nodes(nodes, nodes).await?;
        let connections = connections.saturating_mul(nodes);
        all.push((nodes, Driven::with(servers, Profile::Shared(nodes), connections).await?));
    }
    for _ in 0..ROUNDS {
        for (nodes, driven) in &mut all {
            let flows = options.flows().div_ceil(ROUNDS).saturating_mul(*nodes);
            let pace = of_each * count(*nodes);
            let ask = async |clients| Ok(arrive(clients, flows, 0, pace).await?.0);
            driven.round_of(flows, ask).await?;
        }
    }
    if !json {
        println!("nodes  flows/s of each  us CPU/flow  sessions/commit    times (bar: 1)");
    }
    let mut first = None;
    for (nodes, driven) in all {
        let row = driven.finish()?;
        let times = row.cpu_us() / *first.get_or_insert(row.cpu_us());
        println!(
            "{}",
            if json { line_of_json(nodes, &row, times) } else { line(nodes, &row, times) }
        );
    }
    Ok(())
}

fn line(nodes: usize, row: &Row, times: f64) -> String {
    let (of_each, us) = (row.per_second() / count(nodes), row.cpu_us());
    let together = row.sessions_per_commit().unwrap_or_default();
    format!("{nodes:>5} {of_each:>16.0} {us:>12.1} {together:>16.1} {times:>8.2}")
}

fn line_of_json(nodes: usize, row: &Row, times: f64) -> String {
    let round = |value: f64| (value * 100.0).round() / 100.0;
    json!({
        "case": format!("server_postgres_{nodes}_asked_as_often"),
        "flows_per_second_of_each": round(row.per_second() / count(nodes)),
        "cpu_us_per_flow": round(row.cpu_us()),
        "sessions_per_commit": row.sessions_per_commit().map(round),
        "ratio": round(times),
    })
    .to_string()
}
