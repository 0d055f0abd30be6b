//! One client at full speed on 200 connections beside a good one, limits on: for each route of
//! tenants, what the good one waits in the quiet and beside the flood of that route.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use idgate_testkit::samples;
use serde_json::json;
use tokio::task::JoinSet;

use super::flow::Connection;
use super::gateway;
use super::process::Server;

const CONNECTIONS: usize = 200;
/// Of the good client: enough for a 99th percentile that is not the worst of all.
const REQUESTS: usize = 400;
/// Between two of them: a good client keeps to its rate.
const PAUSE: Duration = Duration::from_millis(45);
/// Until a flood is what it will be.
const RAMP: Duration = Duration::from_millis(500);

/// Method and path that are flooded; a path of sessions and keys names none that there is.
const ROUTES: [(&str, &str); 11] = [
    ("POST", "/v1/sessions"),
    ("GET", "/v1/sessions/ses_x"),
    ("DELETE", "/v1/sessions/ses_x"),
    ("GET", "/v1/api-keys"),
    ("POST", "/v1/api-keys"),
    ("DELETE", "/v1/api-keys/key_x"),
    ("POST", "/v1/api-keys/key_x/rotate"),
    ("GET", "/v1/audit-log?limit=100"),
    ("GET", "/v1/webhook-endpoint"),
    ("GET", "/v1/webhooks/failures"),
    ("POST", "/v1/webhooks/failures/whf_x/retry"),
];

/// What the good client waits.
struct Waits {
    median: Duration,
    p99: Duration,
}

/// Prints a line for each route.
///
/// # Errors
/// The gateway does not start, or refuses the good client.
pub(super) async fn run(json: bool) -> Result<(), String> {
    let server = gateway::start_limited().await?;
    let hostile = server.other_key.clone();
    if !json {
        println!(
            "{:<44} {:>9} {:>9} {:>9} {:>7}",
            "flooded", "p50 ms", "p99 ms", "times", "answers/s"
        );
    }
    let quiet = waits(&server).await?;
    print_row(json, "nothing", &quiet, &quiet, 0, &server)?;
    for (method, path) in ROUTES {
        let flood = Flood::start(server.address, &hostile, method, path);
        tokio::time::sleep(RAMP).await;
        let (before, begun) = (flood.answers(), super::now());
        let loud = waits(&server).await?;
        let answers = flood.answers().saturating_sub(before);
        let per_second = answers as f64 / begun.elapsed().as_secs_f64();
        flood.stop().await;
        let rate = per_second as usize;
        print_row(json, &format!("{method} {path}"), &loud, &quiet, rate, &server)?;
    }
    Ok(())
}

fn print_row(
    json: bool,
    name: &str,
    waits: &Waits,
    quiet: &Waits,
    per_second: usize,
    server: &Server,
) -> Result<(), String> {
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let times = waits.p99.as_secs_f64() / quiet.p99.as_secs_f64();
    let rss_kib = server.rss_kib()?;
    if json {
        let row = json!({
            "flooded": name, "p50_ms": ms(waits.median), "p99_ms": ms(waits.p99),
            "times_quiet": times, "answers_per_second": per_second, "rss_kib": rss_kib,
        });
        println!("{row}");
    } else {
        let (median, p99) = (ms(waits.median), ms(waits.p99));
        println!("{name:<44} {median:>9.2} {p99:>9.2} {times:>9.2} {per_second:>7}  {rss_kib} KiB");
    }
    Ok(())
}

/// The good client makes sessions, reads them and asks for its history, in turns.
async fn waits(server: &Server) -> Result<Waits, String> {
    let request = json!({ "credentials": [{
        "format": "vc+sd-jwt", "issuer_id": samples::ISSUER, "claims": ["given_name"],
    }] })
    .to_string();
    let mut connection = Connection::open(server.address).await?;
    let mut waits = Vec::new();
    for n in 0..REQUESTS {
        let (method, path, body) = match n % 3 {
            0 => ("POST", "/v1/sessions", Some(("application/json", request.as_bytes()))),
            1 => ("GET", "/v1/sessions/ses_x", None),
            _ => ("GET", "/v1/audit-log?limit=5", None),
        };
        tokio::time::sleep(PAUSE).await;
        let begun = super::now();
        let (status, answer) = connection.send(method, path, &server.api_key, body).await?;
        waits.push(begun.elapsed());
        if !matches!(status, 200 | 201 | 404) {
            return Err(format!("{method} {path}: {status} {}", String::from_utf8_lossy(&answer)));
        }
    }
    waits.sort_unstable();
    let at = |percent: usize| {
        let place = waits.len().saturating_sub(1) * percent / 100;
        waits.get(place).copied().unwrap_or_default()
    };
    Ok(Waits { median: at(50), p99: at(99) })
}

/// Connections that ask as fast as they are answered.
struct Flood {
    stop: Arc<AtomicBool>,
    answers: Arc<AtomicUsize>,
    asking: JoinSet<()>,
}

impl Flood {
    fn start(address: SocketAddr, key: &str, method: &'static str, path: &'static str) -> Self {
        let (stop, answers) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let mut asking = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (stop, answers, key) = (stop.clone(), answers.clone(), key.to_owned());
            asking.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let Ok(mut connection) = Connection::open(address).await else { continue };
                    let body = (method == "POST").then_some(("application/json", &b"{}"[..]));
                    while !stop.load(Ordering::Relaxed)
                        && connection.send(method, path, &key, body).await.is_ok()
                    {
                        answers.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        Self { stop, answers, asking }
    }

    fn answers(&self) -> usize {
        self.answers.load(Ordering::Relaxed)
    }

    async fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while self.asking.join_next().await.is_some() {}
    }
}
