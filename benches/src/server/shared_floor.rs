//! `idgate-bench shared-floor`: the work that no gateway on PostgreSQL can avoid in a flow. HTTP, two
//! P-256 signatures, and the statements of idgate on its schema, in the same transactions and with the
//! same pipelining. A yardstick, not a product: nothing is parsed, sealed, hashed or compared.

mod rows;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::rand;
use clap::Args;
use deadpool_postgres::{Manager, Pool};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio_postgres::NoTls;
use tokio_postgres::types::ToSql;

use self::rows::{Change, rows, write};
use super::floor::{Commit, SETTLED, SIGNED_BYTES, Signed};

/// The options of the floor.
#[derive(Args)]
pub(crate) struct SharedFloorOptions {
    /// The address of a database with idgate's schema
    #[arg(long)]
    database: String,
    /// The changes in a transaction
    #[arg(long, value_enum)]
    commit: Commit,
}

/// Serves until it is killed. Like the gateway, it prints its address on the first line.
///
/// # Errors
/// The database cannot be used, or there is no free port.
pub(crate) fn serve_shared_floor(options: &SharedFloorOptions) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let served = runtime.block_on(async {
        let floor = Floor::open(options).await?;
        listen(Arc::new(floor)).await
    });
    served.map_err(|error| error.to_string())
}

type Failure = Box<dyn Error + Send + Sync>;

struct Floor {
    pool: Pool,
    /// With group commit: the queue of changes.
    waiting: Option<UnboundedSender<Waiting>>,
    created: AtomicUsize,
    signatures: [Signed; 2],
}

/// A change that a request waits for.
type Waiting = (Change, oneshot::Sender<()>);

/// As long as idgate's sealed sessions and results.
const RECORD: &[u8] = &[b'x'; 1100];
const RESULT: &[u8] = &[b'x'; 4041];
/// As long as idgate's audit entries and notifications.
const ENTRY: &str = concat!(
    r#"{"actor":"key_0000000000000000000000","client_id":"cli_floor","details":null,"#,
    r#""issuer_ids":["https://issuer.example"],"livemode":true,"occurred_at":"2026-01-01T00:00:00.000Z","#,
    r#""reason":null,"seq":1,"session_id":"ses_0000000000000000000000","status":"VERIFIED"}"#
);
const HASH: &[u8] = &[7; 32];
const SKETCH: &[u8] = &[1; 256];
const CLIENT: &str = "cli_floor";
const DIGEST: &[u8] = &[1; 32];
/// A separate hour.
const HOUR: i64 = 500_000;
/// The columns of a key, the numbers of current trust and keys, and the condition for a valid key.
const KEY: &str = "k.id, k.client_id, k.livemode, k.scopes, k.last_used_at";
const NUMBERS: &str = "(SELECT version FROM trust_version), \
     (SELECT coalesce(max(version), 0) + count(*) - count(sealed) FROM gateway_keys), \
     (SELECT version FROM certificates_version)";
const GOOD: &str = "WHERE k.digest = $1 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
     AND (k.expires_at IS NULL OR k.expires_at > $2) AND k.livemode = c.livemode";

async fn listen(floor: Arc<Floor>) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let floor = floor.clone();
        let service = service_fn(move |request| {
            let floor = floor.clone();
            async move {
                let answered = floor.answer(request).await;
                answered.inspect_err(|error| eprintln!("shared-floor: {error:?}"))
            }
        });
        // A failure closes the connection, so the measurement fails.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

impl Floor {
    async fn open(options: &SharedFloorOptions) -> Result<Self, Failure> {
        let manager = Manager::new(options.database.parse()?, NoTls);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = Pool::builder(manager).max_size((4 * cores).clamp(8, 32)).build()?;
        let [issuer, holder] = SIGNED_BYTES.map(Signed::new);
        let waiting = (options.commit == Commit::Group).then(|| {
            let (waiting, group) = unbounded_channel();
            tokio::spawn(write_groups(pool.clone(), group));
            waiting
        });
        let created = AtomicUsize::new(0);
        let floor = Self { pool, waiting, created, signatures: [issuer?, holder?] };
        floor.fill().await?;
        Ok(floor)
    }

    /// A client with a key, an endpoint, a chain and sums.
    async fn fill(&self) -> Result<(), Failure> {
        let client = self.pool.get().await?;
        let client_id = &CLIENT;
        for (sql, values) in [
            (
                "INSERT INTO clients (id, name, livemode, signing_secret, created_at) \
                 VALUES ($1, 'floor', true, '', 0)",
                &[client_id as &(dyn ToSql + Sync)][..],
            ),
            (
                "INSERT INTO api_keys (id, client_id, digest, hint, livemode, created_at) \
                 VALUES ('key_floor', $1, $2, 'x', true, 0)",
                &[client_id, &DIGEST],
            ),
            (
                "INSERT INTO webhook_endpoints (client_id, livemode, url, host, created_at, secret) \
                 VALUES ($1, true, 'https://x.example/', 'x.example', 0, '')",
                &[client_id],
            ),
            (
                "INSERT INTO audit_heads (client_id, seq, entry_hash, checkpoint_seq, \
                 checkpoint_hash, mac) VALUES ($1, 0, $2, 0, $2, $2)",
                &[client_id, &HASH],
            ),
            ("INSERT INTO audit_totals (slice, entries, mac) VALUES (0, 0, $1)", &[&HASH]),
            ("INSERT INTO metrics_hours VALUES ($1, 'floor', 0, 0, 0, $2, $2)", &[&HOUR, &SKETCH]),
        ] {
            client.execute(sql, values).await?;
        }
        Ok(())
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Failure> {
        let (head, body) = request.into_parts();
        body.collect().await?;
        let id = head.uri.path().rsplit('/').next().unwrap_or_default().to_owned();
        let (status, answer) = match (head.method, &*id) {
            (Method::POST, "sessions") => (StatusCode::CREATED, self.create().await?),
            (Method::POST, _) => (StatusCode::OK, self.settle(&id).await?),
            (_, "metrics") => (StatusCode::NOT_FOUND, String::new()),
            _ => (StatusCode::OK, self.read(&id).await?),
        };
        let mut response = Response::new(Full::new(answer.into()));
        *response.status_mut() = status;
        Ok(response)
    }

    async fn create(&self) -> Result<String, Failure> {
        self.authenticate().await?;
        let id = self.new_id()?;
        self.write(Change::Create(id.clone())).await?;
        Ok(format!(r#"{{"session_id":"{id}"}}"#))
    }

    async fn settle(&self, id: &str) -> Result<String, Failure> {
        let client = self.pool.get().await?;
        let select = format!(
            "SELECT s.id, s.client_id, s.livemode, s.record, k.sealed, {NUMBERS} FROM sessions AS s \
             LEFT JOIN session_keys AS k ON k.session_id = s.id WHERE s.id = $1"
        );
        rows(&client, &select, &[&id]).await?;
        drop(client);
        for signed in &self.signatures {
            signed.verify()?;
        }
        self.write(Change::Settle(id.to_owned())).await?;
        Ok("{}".to_owned())
    }

    /// Writes a change alone, or in a group with those queued during the previous write.
    async fn write(&self, change: Change) -> Result<(), Failure> {
        let Some(waiting) = &self.waiting else {
            return write(&self.pool, &[change]).await;
        };
        let (done, told) = oneshot::channel();
        waiting.send((change, done))?;
        told.await?;
        Ok(())
    }

    async fn read(&self, id: &str) -> Result<String, Failure> {
        let client = self.pool.get().await?;
        let select = format!(
            "SELECT {KEY}, {NUMBERS}, s.id, s.client_id, s.livemode, s.record, s.claims_slot \
             FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id LEFT JOIN sessions AS s \
             ON s.id = $3 AND s.client_id = k.client_id AND s.livemode = k.livemode {GOOD}"
        );
        let found = rows(&client, &select, &[&DIGEST, &0_i64, &id]).await?;
        let slot: i16 = found.first().ok_or("no such session")?.try_get(12)?;
        let claims = format!(
            "SELECT sealed, erase_at - now FROM claims_{slot:02}, \
             (SELECT coalesce($2::bigint, clock_ms()) AS now) AS clock \
             WHERE session_id = $1 AND erase_at > now AND erase_at <= now + $3"
        );
        rows(&client, &claims, &[&id, &None::<i64>, &32_000_i64]).await?;
        Ok(SETTLED.to_owned())
    }

    async fn authenticate(&self) -> Result<(), Failure> {
        let client = self.pool.get().await?;
        let select = format!(
            "SELECT {KEY}, {NUMBERS} FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id {GOOD}"
        );
        rows(&client, &select, &[&DIGEST, &0_i64]).await?;
        Ok(())
    }

    /// An id that cannot be guessed.
    fn new_id(&self) -> Result<String, Failure> {
        let mut random = [0; 8];
        rand::fill(&mut random)?;
        let created = self.created.fetch_add(1, Ordering::Relaxed);
        Ok(format!("ses_{created:06x}{:016x}", u64::from_be_bytes(random)))
    }
}

/// Writes queued changes, up to 64 at a time. After a failure, waiting requests get no answer.
async fn write_groups(pool: Pool, mut group: UnboundedReceiver<Waiting>) {
    let mut waiting = Vec::new();
    while group.recv_many(&mut waiting, 64).await > 0 {
        let (changes, tellers): (Vec<_>, Vec<_>) = waiting.drain(..).unzip();
        if let Err(error) = write(&pool, &changes).await {
            eprintln!("shared-floor: {error:?}");
            continue;
        }
        for teller in tellers {
            // A request that is gone needs no answer.
            let _ = teller.send(());
        }
    }
}
