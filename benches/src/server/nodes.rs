//! What a flow costs with one, two and three nodes that share a PostgreSQL, while each node is asked as often as
//! one alone. A node that is asked less has fewer flows to share a commit and a waking of its threads with, and is
//! dearer for that alone: at full speed three nodes on one machine are asked a third each.

use serde_json::json;

use super::flow::Profile;
use super::rates::{arrive, count};
use super::row::Row;
use super::shared::Shared;
use super::{Driven, ROUNDS, ServerOptions};

/// How many nodes.
const NODES: [usize; 3] = [1, 2, 3];

/// Of what one node can do: three nodes, their database and those who ask fit on two cores so.
const ONE_IN: f64 = 6.0;

/// Measures them in turns, a line each.
pub(super) async fn run(options: &ServerOptions, json: bool) -> Result<(), String> {
    let shared = Shared::start()?;
    let mut saturated =
        Driven::start(Profile::Shared(1), Some(&shared), options.connections).await?;
    saturated.round(options.flows()).await?;
    let per_second = saturated.finish()?.per_second() / ONE_IN;
    let mut all = Vec::new();
    for nodes in NODES {
        let connections = options.connections.saturating_mul(nodes);
        all.push((nodes, Driven::start(Profile::Shared(nodes), Some(&shared), connections).await?));
    }
    for _ in 0..ROUNDS {
        for (nodes, driven) in &mut all {
            let flows = options.flows().div_ceil(ROUNDS).saturating_mul(*nodes);
            let pace = per_second * count(*nodes);
            driven
                .round_of(flows, async |clients| Ok(arrive(clients, flows, 0, pace).await?.0))
                .await?;
        }
    }
    if !json {
        println!("nodes  flows/s of each  us CPU/flow    times  (bar: the same)");
    }
    let mut first = None;
    for (nodes, driven) in all {
        let row = driven.finish()?;
        let us = row.cpu_us();
        let times = us / *first.get_or_insert(us);
        println!(
            "{}",
            if json {
                row_json(nodes, per_second, &row, times)
            } else {
                format!("{nodes:>5} {per_second:>16.0} {us:>12.1} {times:>8.2}")
            }
        );
    }
    Ok(())
}

fn row_json(nodes: usize, per_second: f64, row: &Row, times: f64) -> String {
    let case = format!("server_postgres_{nodes}_asked_as_often");
    json!({ "case": case, "flows_per_second_of_each": per_second, "cpu_us_per_flow": row.cpu_us(), "ratio": times })
        .to_string()
}
