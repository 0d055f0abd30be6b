//! Strangers that hold full bodies: 1500 connections from 200 addresses, each with all but the last byte of
//! the largest possible answer. Measures the gateway's memory and the waits of a tenant.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use super::flow::{Connection, connect_from};
use super::gateway;
use super::process::Server;
use super::waits::{Length, Waits, ms, session_request};

const CONNECTIONS: u32 = 1500;
const ADDRESSES: u32 = 200;
/// The sessions that they answer.
const SESSIONS: usize = 50;
/// The largest answer.
const BODY: usize = 1024 * 1024;
/// The default of `IDGATE_BODY_MEMORY`, and the memory for the rest of the gateway.
const BOUND_MIB: u64 = 256 + 64;
/// The interval between two readings of the memory.
const LOOK: Duration = Duration::from_millis(20);
/// The time in `Retry-After` of a refusal.
const PAUSE: Duration = Duration::from_secs(1);

/// Prints a line without strangers and one with them.
///
/// # Errors
/// The gateway does not start or refuses its tenant, or this process may not open enough files.
pub(super) async fn run(length: Length, json: bool) -> Result<(), String> {
    check_descriptors()?;
    // Rate limits are off, because they would refuse peers before the memory limit does.
    let server = gateway::start("inline").await?;
    if !json {
        println!(
            "{:<44} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "strangers", "p50 ms", "p99 ms", "times", "503", "RSS MiB"
        );
    }
    let quiet = Waits::of(server.address, &server.api_key, length).await?;
    print_row(json, "none", &quiet, &quiet, 0, server.rss_kib()?);
    let crowd = Crowd::start(&server).await?;
    tokio::time::sleep(length.ramp()).await;
    let (loud, most) = tokio::join!(
        async {
            let loud = Waits::of(server.address, &server.api_key, length).await;
            crowd.stop.store(true, Ordering::Relaxed);
            loud
        },
        most_resident(&server, &crowd.stop),
    );
    let name = format!("{CONNECTIONS} connections of {ADDRESSES} addresses");
    let refused = crowd.refused.load(Ordering::Relaxed);
    print_row(json, &name, &loud?, &quiet, refused, most?);
    drop(crowd);
    if !json {
        println!("bar of the memory: {BOUND_MIB} MiB");
    }
    Ok(())
}

fn print_row(json: bool, name: &str, waits: &Waits, quiet: &Waits, refused: usize, rss_kib: u64) {
    let times = waits.times(quiet);
    if json {
        let row = json!({
            "strangers": name, "p50_ms": ms(waits.median), "p99_ms": ms(waits.p99),
            "times_quiet": times, "refused": refused, "rss_kib": rss_kib,
            "bar_rss_kib": BOUND_MIB * 1024,
        });
        println!("{row}");
    } else {
        let (median, p99, mib) = (ms(waits.median), ms(waits.p99), rss_kib / 1024);
        println!("{name:<44} {median:>9.2} {p99:>9.2} {times:>9.2} {refused:>9} {mib:>9}");
    }
}

/// The highest resident memory of the gateway until `stop`.
async fn most_resident(server: &Server, stop: &AtomicBool) -> Result<u64, String> {
    let mut most = 0;
    while !stop.load(Ordering::Relaxed) {
        most = most.max(server.rss_kib()?);
        tokio::time::sleep(LOOK).await;
    }
    Ok(most)
}

/// The connections that hold bodies. Dropping this closes them.
struct Crowd {
    stop: Arc<AtomicBool>,
    /// The number of 503 answers: bodies that did not fit.
    refused: Arc<AtomicUsize>,
    _holding: JoinSet<()>,
}

impl Crowd {
    async fn start(server: &Server) -> Result<Self, String> {
        let sessions = Arc::new(sessions(server).await?);
        let body: Arc<[u8]> = vec![b'x'; BODY - 1].into();
        let (stop, refused) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let mut holding = JoinSet::new();
        for n in 0..CONNECTIONS {
            let (to, stop, refused) = (server.address, stop.clone(), refused.clone());
            let (sessions, body) = (sessions.clone(), body.clone());
            let from = Ipv4Addr::from_bits(Ipv4Addr::new(127, 0, 1, 1).to_bits() + n % ADDRESSES);
            holding.spawn(async move {
                let id = sessions.iter().cycle().nth(n as usize).cloned().unwrap_or_default();
                // The gateway eventually cuts off an unfinished body. Then start again.
                while !stop.load(Ordering::Relaxed) {
                    let _ = hold(from, to, &id, &body, &refused).await;
                    tokio::time::sleep(PAUSE).await;
                }
            });
        }
        Ok(Self { stop, refused, _holding: holding })
    }
}

/// Sends all but the last byte of a body, and holds the connection until it is closed.
async fn hold(
    from: Ipv4Addr,
    to: SocketAddr,
    id: &str,
    body: &[u8],
    refused: &AtomicUsize,
) -> std::io::Result<()> {
    let mut stream = connect_from(from, to).await?;
    let head = format!(
        "POST /v1/oid4vp/response/{id} HTTP/1.1\r\nHost: {to}\r\n\
         Content-Type: application/json\r\nContent-Length: {BODY}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    // A refused connection may be closed before it has read everything.
    let _ = stream.write_all(body).await;
    let mut status = [0; 12];
    stream.read_exact(&mut status).await?;
    if status.ends_with(b" 503") {
        refused.fetch_add(1, Ordering::Relaxed);
    }
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(())
}

async fn sessions(server: &Server) -> Result<Vec<String>, String> {
    let mut connection = Connection::open(server.address).await?;
    let request = session_request();
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let body = Some(("application/json", request.as_bytes()));
        let (_, answer) = connection.send("POST", "/v1/sessions", &server.api_key, body).await?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
        let id = answer.get("session_id").and_then(Value::as_str);
        sessions.push(id.ok_or_else(|| format!("no session: {answer}"))?.to_owned());
    }
    Ok(sessions)
}

/// Each connection takes one here and one in the gateway, which inherits the limit.
fn check_descriptors() -> Result<(), String> {
    let limits = std::fs::read_to_string("/proc/self/limits").map_err(|error| error.to_string())?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok());
    match soft.is_some_and(|soft| soft < CONNECTIONS * 2) {
        true => Err(format!("too few file descriptors; run `ulimit -n {}` first", CONNECTIONS * 2)),
        false => Ok(()),
    }
}
