//! The reference: the sum of the work in a flow that no gateway with idgate's promises can avoid. The
//! bench measures each term alone, in the same run as the gateway. The sum has no JSON, no API keys,
//! no sealing and no waking of threads.

mod writes;

use std::hint::black_box;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use cpu_time::ThreadTime;
use serde_json::{Value, json};

use super::floor::{Commit, Failure, HELLO, Jar, SIGNED_BYTES, Signed};
use super::flow::{Connection, Profile};
use super::process::start_floor;
use super::row::{Row, count};
use super::{Repeats, drive};

/// Operations per measurement of the cryptography.
const OPERATIONS: u32 = 2000;
/// Exchanges per measurement: enough for the kernel's ticks.
const EXCHANGES: usize = 100_000;

/// The terms, in microseconds of CPU.
pub(super) struct Reference {
    profile: Profile,
    connections: usize,
    signatures: f64,
    exchanges: f64,
    writes: f64,
    /// The flows that shared a commit in the gateway.
    flows_per_commit: Option<f64>,
    gateway: f64,
}

/// The work of one flow.
struct Work {
    verifies: u32,
    /// With a Request Object to sign, a key pair to generate, and an answer to decrypt.
    is_jar: bool,
    exchanges: u32,
}

impl Work {
    const fn of(profile: Profile) -> Self {
        match profile {
            Profile::Create => Self { verifies: 0, is_jar: false, exchanges: 1 },
            Profile::Jar => Self { verifies: 2, is_jar: true, exchanges: 4 },
            _ => Self { verifies: 2, is_jar: false, exchanges: 3 },
        }
    }
}

impl Reference {
    /// Measures the terms for the gateway in `row` on SQLite. Its durable writes are made in commits as
    /// large as the gateway's own.
    pub(super) async fn on_sqlite(row: &Row) -> Result<Self, String> {
        let flows_per_commit = row.sessions_per_commit().ok_or("the gateway counts no commits")?;
        let (profile, flows) = (row.profile(), row.flows.min(5000));
        let writes =
            tokio::task::spawn_blocking(move || writes::measure(profile, flows_per_commit, flows));
        let writes = writes.await.map_err(|error| error.to_string())??;
        Self::new(row, writes, Some(flows_per_commit)).await
    }

    /// The same on PostgreSQL. `floor`: a server that sends the gateway's statements; the statements
    /// are what is left of it without the signatures and the exchanges.
    pub(super) async fn on_postgres(row: &Row, floor: &Row) -> Result<Self, String> {
        let mut reference = Self::new(row, 0.0, None).await?;
        let rest = floor.cpu_us() - reference.signatures - reference.exchanges;
        reference.writes = rest.max(0.0);
        Ok(reference)
    }

    async fn new(row: &Row, writes: f64, flows_per_commit: Option<f64>) -> Result<Self, String> {
        let work = Work::of(row.profile());
        Ok(Self {
            profile: row.profile(),
            connections: row.connections(),
            signatures: signatures(&work)?,
            exchanges: f64::from(work.exchanges) * exchange(row.connections()).await?,
            writes,
            flows_per_commit,
            gateway: row.cpu_us(),
        })
    }

    fn sum(&self) -> f64 {
        self.signatures + self.exchanges + self.writes
    }

    /// The CPU of the gateway over the sum.
    fn ratio(&self) -> f64 {
        self.gateway / self.sum()
    }

    pub(super) fn text(&self) -> String {
        let work = Work::of(self.profile);
        let cryptography = match (work.verifies, work.is_jar) {
            (0, _) => "no signature".to_owned(),
            (verifies, false) => format!("{verifies} verifications"),
            (verifies, true) => {
                format!("{verifies} verifications, a signature, a key pair and a decryption")
            }
        };
        let writes = match self.flows_per_commit {
            Some(flows) => format!("durable writes at {flows:.2} flows per commit"),
            None => "statements in groups".to_owned(),
        };
        let Self { signatures, exchanges, writes: written, gateway, .. } = self;
        format!(
            "    reference: {cryptography} {signatures:.1} + {} exchanges {exchanges:.1} + {writes} \
             {written:.1} = {:.1} us; {gateway:.1} us is {:.2} times that",
            work.exchanges,
            self.sum(),
            self.ratio(),
        )
    }

    pub(super) fn json(&self) -> Value {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        json!({
            "case": format!("{}_reference", self.profile.case()),
            "connections": self.connections,
            "signatures_us": round(self.signatures),
            "exchanges_us": round(self.exchanges),
            "writes_us": round(self.writes),
            "flows_per_commit": self.flows_per_commit.map(round),
            "sum_us": round(self.sum()),
            "gateway_us": round(self.gateway),
            "ratio": round(self.ratio()),
        })
    }
}

/// The cryptography of a flow, on a thread that does nothing else.
fn signatures(work: &Work) -> Result<f64, String> {
    let failed = |error: Failure| error.to_string();
    let [issuer, holder] = SIGNED_BYTES.map(Signed::new);
    let signed = [issuer.map_err(failed)?, holder.map_err(failed)?];
    let jar = if work.is_jar { Some(Jar::new().map_err(failed)?) } else { None };
    let is_verified = work.verifies > 0;
    let start = ThreadTime::now();
    for _ in 0..OPERATIONS {
        for one in signed.iter().filter(|_| is_verified) {
            one.verify().map_err(failed)?;
        }
        if let Some(jar) = &jar {
            black_box(jar.request_object());
            let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING);
            black_box(pair.map_err(|error| error.to_string())?);
            jar.open().map_err(failed)?;
        }
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(OPERATIONS))
}

/// The server's CPU of one request and its answer with hyper alone, on so many connections.
async fn exchange(connections: usize) -> Result<f64, String> {
    let server = start_floor(Commit::Group, &[])?;
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(server.connect().await?);
    }
    let clients = drive(clients, EXCHANGES / 10).await?;
    let before = server.cpu()?;
    drive(clients, EXCHANGES).await?;
    let used = server.cpu()?.saturating_sub(before);
    Ok(used.as_secs_f64() * 1e6 / count(EXCHANGES))
}

impl Repeats for Connection {
    async fn once(&mut self) -> Result<(), String> {
        self.send("GET", HELLO, "", None).await.map(drop)
    }
}
