//! Resident memory of a gateway at its start, under load and afterwards, and the increase per open session and
//! per open stream.

use serde_json::json;

use super::flow::Profile;
use super::gateway;
use super::streams::Streams;
use super::waits::session_request;
use super::{Driven, ServerOptions, drive};

/// Flows between two readings, after which their waits are cleared.
const LOOK: usize = 10_000;
/// Less than the quota of a client.
const OPEN_SESSIONS: usize = 5_000;
const STREAMS: usize = 500;

/// Prints a line for each profile, for sessions and for streams.
///
/// # Errors
/// A gateway does not start, or gives an unexpected answer.
pub(super) async fn run(options: &ServerOptions, json: bool) -> Result<(), String> {
    if !json {
        println!("{:<10} {:>9} {:>11} {:>11} {:>11}", "MiB", "flows", "at start", "peak", "after");
    }
    for (profile, mode) in [(Profile::Inline, "inline"), (Profile::Jar, "jar")] {
        under_load(options, json, profile, mode).await?;
    }
    let server = gateway::start("inline").await?;
    let mut connection = server.connect().await?;
    let request = session_request();
    let body = Some(("application/json", request.as_bytes()));
    // The first ones also allocate caches.
    let mut before = 0;
    for n in 0..OPEN_SESSIONS * 2 {
        if n == OPEN_SESSIONS {
            before = server.rss_kib()?;
        }
        let (status, answer) =
            connection.send("POST", "/v1/sessions", &server.api_key, body).await?;
        if status != 201 {
            return Err(format!("{status} {}", String::from_utf8_lossy(&answer)));
        }
    }
    print(json, "open session", OPEN_SESSIONS, server.rss_kib()?.saturating_sub(before));
    let server = gateway::start("inline").await?;
    let few = Streams::open(&server, 1).await?;
    let before = server.rss_kib()?;
    let mut streams = Streams::open(&server, STREAMS - 1).await?;
    print(json, "stream", STREAMS - 1, server.rss_kib()?.saturating_sub(before));
    drop(few);
    streams.check()
}

async fn under_load(
    options: &ServerOptions,
    json: bool,
    profile: Profile,
    mode: &str,
) -> Result<(), String> {
    let servers = vec![gateway::start(mode).await?];
    let start = servers.iter().map(|server| server.rss_kib()).sum::<Result<u64, _>>()?;
    let mut driven = Driven::with(servers, profile, options.connections()).await?;
    let mut left = options.flows();
    while left > 0 {
        let clients = std::mem::take(&mut driven.clients);
        driven.clients = drive(clients, left.min(LOOK)).await?;
        driven.clients.iter_mut().for_each(super::Client::forget_latencies);
        left = left.saturating_sub(LOOK);
    }
    let Some(server) = driven.servers.first() else { return Ok(()) };
    let (peak, after, flows) = (server.peak_kib()?, server.rss_kib()?, options.flows());
    if json {
        println!(
            "{}",
            json!({ "case": format!("server_memory_{mode}"), "flows": flows,
            "start_mib": mib(start), "peak_mib": mib(peak), "after_mib": mib(after) })
        );
    } else {
        let [start, peak, after] = [start, peak, after].map(mib);
        println!("{mode:<10} {flows:>9} {start:>11.1} {peak:>11.1} {after:>11.1}");
    }
    Ok(())
}

fn print(json: bool, what: &str, count: usize, kib: u64) {
    let each = mib(kib) * 1024.0 / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if json {
        let case = format!("server_memory_{}", what.replace(' ', "_"));
        println!("{}", json!({ "case": case, "count": count, "kib_each": each }));
    } else {
        println!("{what}: {each:.2} KiB each, of {count}");
    }
}

fn mib(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0
}
