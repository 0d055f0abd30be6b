//! One client at full speed on 200 connections and a good client, with limits on. Measures for each
//! route of tenants how long the good one waits, without and with a flood of that route.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use tokio::task::JoinSet;

use super::flow::Connection;
use super::gateway;
use super::process::Server;
use super::waits::{Length, Waits, ms, session_request};

const CONNECTIONS: usize = 200;
/// Another peer than the good client: they share only the gateway.
const FROM: Ipv4Addr = Ipv4Addr::new(127, 0, 2, 1);
/// The good client's 99th percentile may be at most this many times the quiet one.
const BAR: f64 = 5.0;

/// Method, path and body of the flood. Ids in paths of sessions and keys do not exist.
const ROUTES: [(&str, &str, Sent); 14] = [
    ("POST", "/v1/sessions", Sent::Session),
    ("GET", "/v1/sessions/ses_x", Sent::Nothing),
    ("DELETE", "/v1/sessions/ses_x", Sent::Nothing),
    ("GET", "/v1/sessions/ses_x/ws", Sent::Nothing),
    ("GET", "/v1/api-keys", Sent::Nothing),
    ("POST", "/v1/api-keys", Sent::Key),
    ("DELETE", "/v1/api-keys/key_x", Sent::Nothing),
    ("POST", "/v1/api-keys/key_x/rotate", Sent::Nothing),
    ("GET", "/v1/audit-log?limit=100", Sent::Nothing),
    ("GET", "/v1/webhook-endpoint", Sent::Nothing),
    ("PUT", "/v1/webhook-endpoint", Sent::Endpoint),
    ("GET", "/v1/webhooks/failures", Sent::Nothing),
    ("POST", "/v1/webhooks/failures/whf_x/retry", Sent::Nothing),
    ("POST", "/v1/sessions", Sent::Junk),
];

/// The body of a request in a flood.
#[derive(Clone, Copy)]
enum Sent {
    Nothing,
    Session,
    Key,
    Endpoint,
    Junk,
}

impl Sent {
    fn body(self) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Session => Some(session_request()),
            Self::Key => Some(json!({ "scopes": ["session:read"] }).to_string()),
            Self::Endpoint => Some(json!({ "url": "https://hooks.other.example/" }).to_string()),
            Self::Junk => Some("{\"credentials\":[".repeat(512)),
        }
    }
}

/// Prints a line for each route.
///
/// # Errors
/// The gateway does not start, or refuses the good client.
pub(super) async fn run(length: Length, json: bool) -> Result<(), String> {
    let server = gateway::start_limited().await?;
    if !json {
        println!(
            "{:<44} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "flooded", "p50 ms", "p99 ms", "times", "answers/s", "RSS MiB"
        );
    }
    let quiet = Waits::of(server.address, &server.api_key, length).await?;
    print_row(json, "nothing", &quiet, &quiet, 0.0, &server)?;
    let mut worst: f64 = 0.0;
    for (method, path, sent) in ROUTES {
        let flood = Flood::start(server.address, &server.other_key, method, path, sent);
        tokio::time::sleep(length.ramp()).await;
        let (before, begun) = (flood.answers(), super::now());
        let loud = Waits::of(server.address, &server.api_key, length).await?;
        let answers = flood.answers().saturating_sub(before);
        let per_second = answers as f64 / begun.elapsed().as_secs_f64();
        flood.stop().await;
        let name = match sent {
            Sent::Junk => format!("{method} {path}, junk"),
            _ => format!("{method} {path}"),
        };
        worst = worst.max(loud.times(&quiet));
        print_row(json, &name, &loud, &quiet, per_second, &server)?;
    }
    if !json {
        println!("worst: {worst:.2} times the quiet p99 (bar: {BAR})");
    }
    Ok(())
}

fn print_row(
    json: bool,
    name: &str,
    waits: &Waits,
    quiet: &Waits,
    per_second: f64,
    server: &Server,
) -> Result<(), String> {
    let times = waits.times(quiet);
    let rss_kib = server.rss_kib()?;
    if json {
        let row = json!({
            "flooded": name, "p50_ms": ms(waits.median), "p99_ms": ms(waits.p99),
            "times_quiet": times, "bar": BAR, "answers_per_second": per_second.round(),
            "rss_kib": rss_kib,
        });
        println!("{row}");
    } else {
        let (median, p99, mib) = (ms(waits.median), ms(waits.p99), rss_kib / 1024);
        println!("{name:<44} {median:>9.2} {p99:>9.2} {times:>9.2} {per_second:>9.0} {mib:>9}");
    }
    Ok(())
}

/// Connections that send the next request after each answer.
struct Flood {
    stop: Arc<AtomicBool>,
    answers: Arc<AtomicUsize>,
    asking: JoinSet<()>,
}

impl Flood {
    fn start(
        address: SocketAddr,
        key: &str,
        method: &'static str,
        path: &'static str,
        sent: Sent,
    ) -> Self {
        let (stop, answers) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let body: Arc<Option<String>> = Arc::new(sent.body());
        let mut asking = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (stop, answers, key) = (stop.clone(), answers.clone(), key.to_owned());
            let body = body.clone();
            asking.spawn(async move {
                let body = body.as_deref().map(|text| ("application/json", text.as_bytes()));
                while !stop.load(Ordering::Relaxed) {
                    let Ok(mut connection) = Connection::open_from(FROM, address).await else {
                        continue;
                    };
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
