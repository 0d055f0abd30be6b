//! `idgate-bench shared-floor`: what no gateway on PostgreSQL can avoid in a flow. HTTP, two P-256
//! signatures, and the statements that idgate asks, in its transactions and with as many sent at a time,
//! on its schema, but for what it asks once for all requests under way. A yardstick, not a product:
//! nothing is parsed, sealed, hashed or compared.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::rand;
use clap::Args;
use deadpool_postgres::{GenericClient, Manager, Pool};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_postgres::types::ToSql;
use tokio_postgres::{NoTls, Row};

use super::floor::{SETTLED, SIGNED_BYTES, Signed};

/// Where.
#[derive(Args)]
pub(crate) struct SharedFloorOptions {
    /// A database with idgate's schema
    #[arg(long)]
    database: String,
}

/// Serves until it is killed; says where on its first line, as the gateway does.
///
/// # Errors
/// The database cannot be used, or there is no port.
pub(crate) fn serve_shared_floor(options: &SharedFloorOptions) -> Result<(), String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let served = runtime.block_on(async {
        let floor = Floor::open(&options.database).await?;
        listen(Arc::new(floor)).await
    });
    served.map_err(|error| error.to_string())
}

type Failure = Box<dyn Error + Send + Sync>;
type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

struct Floor {
    pool: Pool,
    created: AtomicUsize,
    signatures: [Signed; 2],
}

/// As long as what idgate seals of a session, and of a result.
const RECORD: &[u8] = &[b'x'; 1100];
const RESULT: &[u8] = &[b'x'; 4041];
/// As long as its fields of an audit entry, and its notifications.
const ENTRY: &str = concat!(
    r#"{"actor":"key_0000000000000000000000","client_id":"cli_floor","details":null,"#,
    r#""issuer_ids":["https://issuer.example"],"livemode":true,"occurred_at":"2026-01-01T00:00:00.000Z","#,
    r#""reason":null,"seq":1,"session_id":"ses_0000000000000000000000","status":"VERIFIED"}"#
);
const HASH: &[u8] = &[7; 32];
const SKETCH: &[u8] = &[1; 256];
const CLIENT: &str = "cli_floor";
const DIGEST: &[u8] = &[1; 32];
/// An hour of its own.
const HOUR: i64 = 500_000;

const CLOSE: &str = "UPDATE open_sessions SET count = greatest(count - 1, 0) WHERE client_id = $1";
const HEAD: &str = "SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, mac \
     FROM audit_heads WHERE client_id = $1 FOR UPDATE";
const SLICE: &str = "SELECT slice, entries, mac FROM audit_totals WHERE slice = $1 FOR UPDATE";

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
        // A failure closes the connection, and whoever measures sees that.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

impl Floor {
    async fn open(url: &str) -> Result<Self, Failure> {
        let manager = Manager::new(url.parse()?, NoTls);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = Pool::builder(manager).max_size((4 * cores).clamp(8, 32)).build()?;
        let [issuer, holder] = SIGNED_BYTES.map(Signed::new);
        let floor = Self { pool, created: AtomicUsize::new(0), signatures: [issuer?, holder?] };
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
        let mut client = self.pool.get().await?;
        let tx = client.transaction().await?;
        let count = "INSERT INTO open_sessions AS o (client_id, count) \
                     SELECT id, 1 FROM clients WHERE id = $1 AND coalesce(max_open_sessions, $2) > 0 \
                     ON CONFLICT (client_id) DO UPDATE SET count = o.count + 1 WHERE o.count < coalesce( \
                     (SELECT max_open_sessions FROM clients WHERE id = $1), $2)";
        change(&tx, count, &[&CLIENT, &1_000_000_i64]).await?;
        let insert = "INSERT INTO sessions (id, client_id, livemode, status, revision, created_at, \
                      expires_at, formats, issuer_ids, record, events) VALUES \
                      ($1, $2, true, 'PENDING', 1, 0, 9000000000000, '[]', '[]', $3, $4)";
        let values: Values<'_> = &[&id, &CLIENT, &RECORD, &"[\"CREATED\",null,0],"];
        let (inserted, locked) = tokio::join!(change(&tx, insert, values), lock(&tx));
        inserted?;
        append(&tx, locked?).await?;
        tx.commit().await?;
        Ok(format!(r#"{{"session_id":"{id}"}}"#))
    }

    async fn settle(&self, id: &str) -> Result<String, Failure> {
        let mut client = self.pool.get().await?;
        let select = "SELECT s.id, s.client_id, s.livemode, s.record, k.sealed FROM sessions AS s \
                      LEFT JOIN session_keys AS k ON k.session_id = s.id WHERE s.id = $1";
        rows(&client, select, &[&id]).await?;
        for signed in &self.signatures {
            signed.verify()?;
        }
        let tx = client.transaction().await?;
        let kept = step(&tx, id).await?;
        let (slot, until): (i16, i64) = (kept.try_get(0)?, kept.try_get(1)?);
        let keep = format!(
            "INSERT INTO claims_{slot:02} (session_id, erase_at, sealed) VALUES ($1, $2, $3)"
        );
        prepare(&tx, &[CLOSE, HEAD, SLICE]).await?;
        let take = "SELECT shard, latency, processing FROM metrics_hours WHERE hour = $1 \
                    ORDER BY shard LIMIT 1 FOR UPDATE SKIP LOCKED";
        let (keep_values, close_values): (Values<'_>, Values<'_>) =
            (&[&id, &until, &RESULT], &[&CLIENT]);
        let take_values: Values<'_> = &[&HOUR];
        let (kept, closed, locked, noticed, taken) = tokio::join!(
            change(&tx, &keep, keep_values),
            change(&tx, CLOSE, close_values),
            lock(&tx),
            notify(&tx, id),
            rows(&tx, take, take_values),
        );
        kept.and(closed).and(noticed)?;
        let is_free = !taken?.is_empty();
        let (appended, summed) = tokio::join!(append(&tx, locked?), sum(&tx, is_free));
        appended.and(summed)?;
        tx.commit().await?;
        Ok("{}".to_owned())
    }

    async fn read(&self, id: &str) -> Result<String, Failure> {
        self.authenticate().await?;
        let client = self.pool.get().await?;
        let select = "SELECT id, client_id, livemode, record, claims_slot FROM sessions \
                      WHERE id = $1 AND client_id = $2 AND livemode = $3";
        let found = rows(&client, select, &[&id, &CLIENT, &true]).await?;
        let slot: i16 = found.first().ok_or("no such session")?.try_get(4)?;
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
        let select = "SELECT k.id, k.client_id, k.livemode, k.scopes, k.last_used_at \
                      FROM api_keys AS k JOIN clients AS c ON c.id = k.client_id \
                      WHERE k.digest = $1 AND k.revoked_at IS NULL AND c.revoked_at IS NULL \
                      AND (k.expires_at IS NULL OR k.expires_at > $2) AND k.livemode = c.livemode";
        rows(&client, select, &[&DIGEST, &0_i64]).await?;
        Ok(())
    }

    /// Nobody can guess it.
    fn new_id(&self) -> Result<String, Failure> {
        let mut random = [0; 8];
        rand::fill(&mut random)?;
        let created = self.created.fetch_add(1, Ordering::Relaxed);
        Ok(format!("ses_{created:06x}{:016x}", u64::from_be_bytes(random)))
    }
}

/// The settlement of a session, as idgate stores it.
async fn step(tx: &impl GenericClient, id: &str) -> Result<Row, Failure> {
    let sql = "UPDATE sessions SET status = $3, revision = $4, lease_until = $5, node_id = $6, \
               settled_at = $7, reason = $8, latency_ms = $9, \
               processing_us = coalesce($10, processing_us), record = $11, events = events || $12, \
               claims_until = clock.until, claims_slot = (clock.until / $15) % $16 \
               FROM (SELECT CASE WHEN $13 THEN coalesce($14::bigint, clock_ms() + $17) END AS until) \
               AS clock WHERE id = $1 AND revision = $2 RETURNING claims_slot, claims_until";
    let (never, nobody, settled) = (None::<i64>, None::<&str>, Some(1_i64));
    let values: Values<'_> = &[
        &id,
        &1_i64,
        &"VERIFIED",
        &2_i64,
        &never,
        &nobody,
        &settled,
        &nobody,
        &settled,
        &settled,
        &RECORD,
        &"[\"VERIFIED\",null,0],",
        &true,
        &never,
        &500_i64,
        &96_i64,
        &30_000_i64,
    ];
    let found = rows(tx, sql, values).await?;
    found.into_iter().next().ok_or_else(|| "no such session".into())
}

/// The end of the chain and its part of the number of entries.
async fn lock(tx: &impl GenericClient) -> Result<(i64, i64), Failure> {
    prepare(tx, &[HEAD, SLICE]).await?;
    let (head_values, slice_values): (Values<'_>, Values<'_>) = (&[&CLIENT], &[&0_i64]);
    let (head, slice) = tokio::join!(rows(tx, HEAD, head_values), rows(tx, SLICE, slice_values));
    let number = |found: Vec<Row>| {
        found.first().ok_or("no chain")?.try_get::<_, i64>(1).map_err(Failure::from)
    };
    Ok((number(head?)?, number(slice?)?))
}

async fn append(tx: &impl GenericClient, (seq, entries): (i64, i64)) -> Result<(), Failure> {
    let entry = "INSERT INTO audit_entries (client_id, seq, fields, prev_hash, entry_hash) \
                 VALUES ($1, $2, $3, $4, $5)";
    let head = "UPDATE audit_heads SET seq = $2, entry_hash = $3, checkpoint_seq = $4, \
                checkpoint_hash = $5, open_since = $6, mac = $7 WHERE client_id = $1";
    let total = "UPDATE audit_totals SET entries = $2, mac = $3 WHERE slice = $1";
    let next = seq + 1;
    let entry_values: Values<'_> = &[&CLIENT, &next, &ENTRY, &HASH, &HASH];
    let head_values: Values<'_> = &[&CLIENT, &next, &HASH, &0_i64, &HASH, &Some(0_i64), &HASH];
    let (counted, slice) = (entries + 1, 0_i64);
    let total_values: Values<'_> = &[&slice, &counted, &HASH];
    let (entry, head, total) = tokio::join!(
        change(tx, entry, entry_values),
        change(tx, head, head_values),
        change(tx, total, total_values),
    );
    entry.and(head).and(total)
}

async fn notify(tx: &impl GenericClient, id: &str) -> Result<(), Failure> {
    let sql = "INSERT INTO webhook_deliveries (id, session_id, client_id, livemode, body, queued_at, \
               held, due_at, failed_at, failure_seq, error_message) \
               SELECT $1::text, $2::text, e.client_id, e.livemode, $4::text, $5::bigint, \
               h.status IS NULL, \
               CASE WHEN h.status = 'REJECTED' THEN NULL ELSE coalesce($6::bigint, clock_ms()) END, \
               CASE WHEN h.status = 'REJECTED' THEN $5::bigint END, \
               CASE WHEN h.status = 'REJECTED' THEN nextval('webhook_failures') END, \
               CASE WHEN h.status = 'REJECTED' THEN $7::text END \
               FROM webhook_endpoints AS e JOIN clients AS c ON c.id = e.client_id \
               LEFT JOIN webhook_hosts AS h ON h.host = e.host \
               WHERE e.client_id = $3 AND c.revoked_at IS NULL";
    let values: Values<'_> = &[&id, &id, &CLIENT, &ENTRY, &0_i64, &None::<i64>, &"rejected"];
    change(tx, sql, values).await
}

async fn sum(tx: &impl GenericClient, is_free: bool) -> Result<(), Failure> {
    if !is_free {
        return Ok(());
    }
    let hour = "UPDATE metrics_hours SET verified = verified + $3, failed = failed + $4, \
                expired = expired + $5, latency = $6, processing = $7 WHERE hour = $1 AND shard = $2";
    let types = "INSERT INTO metrics_types AS t VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT (hour, shard, credential_type) DO UPDATE SET \
                 verified = t.verified + excluded.verified, failed = t.failed + excluded.failed, \
                 expired = t.expired + excluded.expired";
    let hour_values: Values<'_> = &[&HOUR, &"floor", &1_i64, &0_i64, &0_i64, &SKETCH, &SKETCH];
    let types_values: Values<'_> = &[&HOUR, &"floor", &"type", &1_i64, &0_i64, &0_i64];
    let (hour, types) =
        tokio::join!(change(tx, hour, hour_values), change(tx, types, types_values));
    hour.and(types)
}

/// What waits for locks is sent in this order only when it is prepared.
async fn prepare(on: &impl GenericClient, statements: &[&str]) -> Result<(), Failure> {
    for sql in statements {
        on.prepare_cached(sql).await?;
    }
    Ok(())
}

async fn rows(on: &impl GenericClient, sql: &str, values: Values<'_>) -> Result<Vec<Row>, Failure> {
    let statement = on.prepare_cached(sql).await?;
    Ok(on.query(&statement, values).await?)
}

async fn change(on: &impl GenericClient, sql: &str, values: Values<'_>) -> Result<(), Failure> {
    let statement = on.prepare_cached(sql).await?;
    on.execute(&statement, values).await?;
    Ok(())
}
