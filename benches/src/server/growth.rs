//! How the cost of a flow grows with the number of tenants, settled sessions, trusted roots and open streams.
//! Gateways with few and with many run in turns, and each row is compared with the smallest. Growth faster
//! than logarithmic is a defect.

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum as _;
use idgate_testkit::keys::{Curve, SigningKey, pem};
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;
use idgate_testkit::x509::{CertificateBuilder, Identity, Name};
use serde_json::json;

use super::flow::{Profile, now_ms};
use super::gateway::{self, Setup};
use super::process::Server;
use super::stages::Place;
use super::streams::Streams;
use super::{Driven, ROUNDS, ServerOptions, drive};

const TENANTS: [usize; 4] = [1, 10, 100, 1_000];
const SESSIONS: [usize; 3] = [1_000, 10_000, 100_000];
/// Also with `--full`.
const MANY_SESSIONS: usize = 1_000_000;
const ROOTS: [usize; 4] = [1, 100, 1_000, 5_000];
const STREAMS: [usize; 3] = [1, 50, 500];

/// Results are erased at most a moment after 30 seconds.
const UNTIL_ERASED: Duration = Duration::from_secs(32);
/// The most CPU that an idle gateway uses in a second.
const IDLE: Duration = Duration::from_millis(50);

/// A gateway with this number of objects.
struct Size {
    count: usize,
    driven: Driven,
    streams: Option<Streams>,
}

/// The kind of object that grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(super) enum Kind {
    Tenants,
    Roots,
    Streams,
    Sessions,
}

/// Prints a row for each size of each kind, or of one.
///
/// # Errors
/// A gateway does not start, or gives an unexpected answer.
pub(super) async fn run(
    options: &ServerOptions,
    only: Option<Kind>,
    json: bool,
) -> Result<(), String> {
    if !json {
        println!(
            "{:<12} {:>10} {:>12} {:>8} {:>9} {:>9} {:>9}",
            "growth", "count", "us CPU/flow", "times", "runtime", "readers", "writer"
        );
    }
    let kinds = Kind::value_variants().iter().copied();
    for kind in kinds.filter(|kind| only.is_none_or(|only| only == *kind)) {
        let mut sizes = Vec::new();
        for count in kind.counts(options.full) {
            sizes.push(kind.size(options, count).await?);
        }
        measure(options, json, kind.name(), sizes).await?;
    }
    Ok(())
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Tenants => "tenants",
            Self::Roots => "roots",
            Self::Streams => "streams",
            Self::Sessions => "sessions",
        }
    }

    fn counts(self, full: bool) -> Vec<usize> {
        match self {
            Self::Tenants => TENANTS.to_vec(),
            Self::Roots => ROOTS.to_vec(),
            Self::Streams => STREAMS.to_vec(),
            Self::Sessions => SESSIONS.into_iter().chain(full.then_some(MANY_SESSIONS)).collect(),
        }
    }

    async fn size(self, options: &ServerOptions, count: usize) -> Result<Size, String> {
        match self {
            Self::Tenants => tenants(options, count).await,
            Self::Roots => roots(options, count).await,
            Self::Streams => streams(options, count).await,
            Self::Sessions => sessions(options, count).await,
        }
    }
}

async fn measure(
    options: &ServerOptions,
    json: bool,
    kind: &str,
    mut sizes: Vec<Size>,
) -> Result<(), String> {
    // Not 100 000 with `--full`: so many flows would turn a small gateway into a large one.
    let share = options.flows.div_ceil(ROUNDS);
    for _ in 0..ROUNDS {
        for size in &mut sizes {
            size.driven.round(share).await?;
            size.streams.as_mut().map_or(Ok(()), Streams::check)?;
        }
    }
    let mut smallest = None;
    for Size { count, driven, .. } in sizes {
        let row = driven.finish()?;
        let us = row.cpu_us();
        let by_place = [Place::Runtime, Place::Reader, Place::Writer].map(|place| place.us(&row));
        let times = us / *smallest.get_or_insert(us);
        if json {
            let case = format!("server_growth_{kind}_{count}");
            let [runtime, readers, writer] = by_place;
            println!(
                "{}",
                json!({ "case": case, "cpu_us_per_flow": us, "ratio": times,
                "runtime_us": runtime, "readers_us": readers, "writer_us": writer })
            );
        } else {
            let by_place = by_place.map(|us| format!("{us:>10.1}")).concat();
            println!("{kind:<12} {count:>10} {us:>12.1} {times:>8.2}{by_place}");
        }
    }
    Ok(())
}

impl Size {
    async fn of(options: &ServerOptions, count: usize, setup: &Setup<'_>) -> Result<Self, String> {
        let servers = vec![gateway::start_as(setup).await?];
        let driven = Driven::with(servers, Profile::Inline, options.connections()).await?;
        Ok(Self { count, driven, streams: None })
    }
}

/// Flows of all tenants, in turns.
async fn tenants(options: &ServerOptions, count: usize) -> Result<Size, String> {
    let mut size = Size::of(options, count, &Setup { tenants: count, ..Setup::DEFAULT }).await?;
    let servers = size.driven.servers.iter();
    let keys: Arc<[String]> = servers.flat_map(|it| it.keys().map(str::to_owned)).collect();
    let spread = keys.len().div_ceil(options.connections().max(1));
    for (n, client) in size.driven.clients.iter_mut().enumerate() {
        client.rotate(keys.clone(), n * spread);
    }
    Ok(size)
}

/// The certificate of the credential is below the last of them.
async fn roots(options: &ServerOptions, count: usize) -> Result<Size, String> {
    let now = now_ms();
    let root = Identity::issuer_root(Curve::P256, now);
    let other = |n: usize| {
        let key = SigningKey::from_seed(Curve::P256, format!("other root {n}"));
        let name = Name::new("UT", &format!("Other root {n}"));
        pem("CERTIFICATE", &CertificateBuilder::issuer_root(name, &key, now).self_sign(&key).der)
    };
    let roots = (1..count).map(other).chain([pem("CERTIFICATE", &root.der)]).collect::<String>();
    let mut size = Size::of(options, count, &Setup { roots: &roots, ..Setup::DEFAULT }).await?;
    let (issuer, holder) = (samples::issuer_key(Curve::P256), samples::holder_key(Curve::P256));
    let signer = root.issuer_of_sd_jwts(&issuer, now).der;
    let credential = samples::identity(&holder, now).x5c(&[signer]).issue(&issuer);
    for client in &mut size.driven.clients {
        client.set_wallet(Wallet::new(holder.clone()).with(credential.clone()));
    }
    Ok(size)
}

/// Streams of sessions that stay open.
async fn streams(options: &ServerOptions, count: usize) -> Result<Size, String> {
    let mut size = Size::of(options, count, &Setup::DEFAULT).await?;
    if let Some(server) = size.driven.servers.first() {
        size.streams = Some(Streams::open(server, count).await?);
    }
    Ok(size)
}

/// Settled sessions, with everything that stays stored.
async fn sessions(options: &ServerOptions, count: usize) -> Result<Size, String> {
    let mut size = Size::of(options, count, &Setup::DEFAULT).await?;
    let warmed = options.connections().saturating_mul(4);
    let clients = std::mem::take(&mut size.driven.clients);
    let mut clients = drive(clients, count.saturating_sub(warmed)).await?;
    clients.iter_mut().for_each(super::Client::forget_latencies);
    size.driven.clients = clients;
    for server in &size.driven.servers {
        rest(server).await?;
    }
    Ok(size)
}

/// Waits until earlier results are erased, so that the measured flows do not include that work.
async fn rest(server: &Server) -> Result<(), String> {
    tokio::time::sleep(UNTIL_ERASED).await;
    for _ in 0..300 {
        let before = server.cpu()?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        if server.cpu()?.saturating_sub(before) <= IDLE {
            return Ok(());
        }
    }
    Err("the gateway does not become idle".into())
}
