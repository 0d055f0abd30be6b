//! The duration of a flow at a fixed rate. Flows start on schedule, even if the gateway does not keep up, and are
//! timed from their scheduled start. So a pause of the gateway counts for every flow that would have started, not
//! only for the few that were waiting (coordinated omission). The computation of tenant and wallet is excluded,
//! although it uses the same cores.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::mpsc;

use super::floor::Commit;
use super::flow::{Client, Profile};
use super::process::Server;
use super::row::count;
use super::waits::ms;
use super::{ServerOptions, drive, now};

/// Shares of the saturated rate.
const PERCENT: [usize; 3] = [25, 50, 75];

/// Flows before the first counted one, at the same rate.
const RAMP: usize = 100;

/// One server at one rate.
struct Row {
    server: &'static str,
    percent: usize,
    per_second: f64,
    p50: Duration,
    p99: Duration,
}

/// Measures both profiles at each share of their capacity, and their floors at the same rates. Prints a
/// line for each.
pub(super) async fn run(options: &ServerOptions, json: bool) -> Result<(), String> {
    if !json {
        println!(
            "server        of saturated  flows/s    p50 ms    p99 ms  p99/p50 (bar at 50 %: 4)"
        );
    }
    let inline = [(Profile::Inline, "inline"), (Profile::Floor(Commit::Group), "floor")];
    let jar = [(Profile::Jar, "jar"), (Profile::JarFloor(Commit::Group), "jar_floor")];
    for [gateway, floor] in [inline, jar] {
        let (mut asked, saturated) = Asked::start(gateway, options).await?;
        let (mut beside, _) = Asked::start(floor, options).await?;
        for percent in PERCENT {
            let per_second = saturated * count(percent) / 100.0;
            for asked in [&mut asked, &mut beside] {
                let row = asked.row(options.flows, percent, per_second).await?;
                println!("{}", if json { row.json() } else { row.text() });
            }
        }
    }
    Ok(())
}

/// A server with its clients.
struct Asked {
    name: &'static str,
    clients: Vec<Client>,
    _servers: Vec<Server>,
}

impl Asked {
    /// Starts it, and measures how many flows it completes in a second.
    async fn start(
        (profile, name): (Profile, &'static str),
        options: &ServerOptions,
    ) -> Result<(Self, f64), String> {
        let servers = Server::start(profile, None).await?;
        let mut clients = Vec::new();
        for server in servers.iter().cycle().take(options.connections()) {
            clients.push(Client::connect(server, profile).await?);
        }
        let clients = drive(clients, options.connections().saturating_mul(4)).await?;
        let start = now();
        let clients = drive(clients, options.flows).await?;
        let saturated = count(options.flows) / start.elapsed().as_secs_f64();
        Ok((Self { name, clients, _servers: servers }, saturated))
    }

    async fn row(&mut self, flows: usize, percent: usize, per_second: f64) -> Result<Row, String> {
        let mut clients = std::mem::take(&mut self.clients);
        for client in &mut clients {
            client.reconnect().await?;
        }
        let (back, mut times) = arrive(clients, flows, RAMP, per_second).await?;
        self.clients = back;
        times.sort_unstable();
        let at = |percent: usize| {
            let place = times.len().saturating_sub(1) * percent / 100;
            times.get(place).copied().unwrap_or_default()
        };
        Ok(Row { server: self.name, percent, per_second, p50: at(50), p99: at(99) })
    }
}

/// The times of all flows after the first `ramp`. Waiting for a free connection counts.
pub(super) async fn arrive(
    clients: Vec<Client>,
    flows: usize,
    ramp: usize,
    per_second: f64,
) -> Result<(Vec<Client>, Vec<Duration>), String> {
    let all = clients.len();
    let (free, mut idle) = mpsc::channel(all.max(1));
    for mut client in clients {
        client.forget_latencies();
        free.try_send(Ok((client, None))).map_err(|_| "no room for a client")?;
    }
    let mut due = pace(flows + ramp, per_second);
    let mut times = Vec::with_capacity(flows);
    let free = Arc::new(free);
    let mut note = |time: Option<Duration>| times.extend(time);
    for n in 0.. {
        let Some(due) = due.recv().await else { break };
        let (mut client, time) = idle.recv().await.ok_or("all clients have ended")??;
        note(time);
        let free = free.clone();
        tokio::spawn(async move {
            let late = due.elapsed();
            let gone = client.flow().await.map(|()| {
                let time = late + client.waited();
                (client, (n >= ramp).then_some(time))
            });
            // There is no receiver once another flow has failed.
            let _ = free.send(gone).await;
        });
    }
    let mut back = Vec::with_capacity(all);
    while back.len() < all {
        let (client, time) = idle.recv().await.ok_or("all clients have ended")??;
        note(time);
        back.push(client);
    }
    Ok((back, times))
}

/// Sends the scheduled times when they come. It uses a thread, because the runtime's timer counts milliseconds.
fn pace(flows: usize, per_second: f64) -> mpsc::UnboundedReceiver<Instant> {
    let (say, due) = mpsc::unbounded_channel();
    thread::spawn(move || {
        let start = now();
        for n in 0..flows {
            let at = start + Duration::from_secs_f64(count(n) / per_second);
            thread::sleep(at.saturating_duration_since(now()));
            if say.send(at).is_err() {
                break;
            }
        }
    });
    due
}

impl Row {
    fn ratio(&self) -> f64 {
        self.p99.as_secs_f64() / self.p50.as_secs_f64()
    }

    fn json(&self) -> String {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        json!({
            "case": format!("server_{}_at_{}_percent", self.server, self.percent),
            "flows_per_second": round(self.per_second),
            "p50_ms": round(ms(self.p50)),
            "p99_ms": round(ms(self.p99)),
            "p99_over_p50": round(self.ratio()),
        })
        .to_string()
    }

    fn text(&self) -> String {
        let Self { server, percent, per_second, p50, p99 } = self;
        let (p50, p99, ratio) = (ms(*p50), ms(*p99), self.ratio());
        format!("{server:<13} {percent:>10} % {per_second:>8.0} {p50:>9.2} {p99:>9.2} {ratio:>8.2}")
    }
}
