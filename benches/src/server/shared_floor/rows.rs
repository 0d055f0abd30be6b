//! The statements of the floor on PostgreSQL: idgate stores changes of one client's sessions with the
//! same ones, in one transaction.

use deadpool_postgres::{GenericClient, Pool};
use futures_util::future::join_all;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::{CLIENT, ENTRY, Failure, HASH, HOUR, RECORD, RESULT, SKETCH};

pub(super) type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

/// A change, with the id of its session.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Create(String),
    Settle(String),
}

const STEP: &str = "UPDATE sessions SET status = $3, revision = $4, lease_until = $5, node_id = $6, \
     settled_at = $7, reason = $8, latency_ms = $9, \
     processing_us = coalesce($10, processing_us), record = $11, events = events || $12, \
     claims_until = clock.until, claims_slot = (clock.until / $15) % $16 \
     FROM (SELECT CASE WHEN $13 THEN coalesce($14::bigint, clock_ms() + $17) END AS until) \
     AS clock WHERE id = $1 AND revision = $2 RETURNING claims_slot, claims_until";
const CLOSE: &str = "UPDATE open_sessions SET count = greatest(count - $2, 0) WHERE client_id = $1";
const HEAD: &str = "SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, open_since, mac \
     FROM audit_heads WHERE client_id = $1 FOR UPDATE";
const SLICE: &str = "SELECT slice, entries, mac FROM audit_totals WHERE slice = $1 FOR UPDATE";
const TURN: &str = "SELECT pg_advisory_xact_lock(1, 1)";

/// Stores these changes in one transaction.
pub(super) async fn write(pool: &Pool, changes: &[Change]) -> Result<(), Failure> {
    let mut client = pool.get().await?;
    let tx = client.transaction().await?;
    let (mut new, mut ended) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            Change::Create(id) => new.push(id.as_str()),
            Change::Settle(id) => ended.push(id.as_str()),
        }
    }
    change(&tx, TURN, &[]).await?;
    prepare(&tx, &[STEP]).await?;
    let mut kept = Vec::new();
    for step in join_all(ended.iter().map(|id| step(&tx, id))).await {
        let step = step?;
        kept.push((step.try_get(0)?, step.try_get(1)?));
    }
    count(&tx, new.len()).await?;
    prepare(&tx, &[CLOSE, HEAD, SLICE]).await?;
    let (made, kept, closed, locked, noticed, taken) = tokio::join!(
        insert(&tx, &new),
        keep(&tx, &ended, kept),
        close(&tx, ended.len()),
        lock(&tx),
        notify(&tx, &ended),
        take(&tx, ended.len()),
    );
    made.and(kept).and(closed).and(noticed)?;
    let (locked, is_free) = (locked?, taken?);
    let (appended, summed) =
        tokio::join!(append(&tx, locked, changes.len()), sum(&tx, is_free, ended.len()));
    appended.and(summed)?;
    Ok(tx.commit().await?)
}

async fn count(tx: &impl GenericClient, new: usize) -> Result<(), Failure> {
    if new == 0 {
        return Ok(());
    }
    let sql = "INSERT INTO open_sessions AS o (client_id, count) \
               SELECT id, $3 FROM clients WHERE id = $1 AND coalesce(max_open_sessions, $2) >= $3 \
               ON CONFLICT (client_id) DO UPDATE SET count = o.count + $3 \
               WHERE o.count + $3 <= coalesce( \
                   (SELECT max_open_sessions FROM clients WHERE id = $1), $2)";
    change(tx, sql, &[&CLIENT, &1_000_000_i64, &number(new)]).await
}

async fn insert(tx: &impl GenericClient, new: &[&str]) -> Result<(), Failure> {
    if new.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO sessions (id, client_id, livemode, status, revision, created_at, \
               expires_at, formats, issuer_ids, record, events) \
               SELECT n.id, $1, $2, n.status, n.revision, n.created_at, n.expires_at, n.formats, \
               n.issuer_ids, n.record, n.events FROM unnest($3::text[], $4::text[], $5::bigint[], \
               $6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::bytea[], $11::text[]) AS n \
               (id, status, revision, created_at, expires_at, formats, issuer_ids, record, events)";
    let of = |text: &'static str| vec![text; new.len()];
    let numbers = |number: i64| vec![number; new.len()];
    let (statuses, lists, events) = (of("PENDING"), of("[]"), of("[\"CREATED\",null,0],"));
    let (revisions, created, expire) = (numbers(1), numbers(0), numbers(9_000_000_000_000));
    let records = vec![RECORD; new.len()];
    let values: Values<'_> = &[
        &CLIENT, &true, &new, &statuses, &revisions, &created, &expire, &lists, &lists, &records,
        &events,
    ];
    change(tx, sql, values).await
}

/// The settlement of a session.
async fn step(tx: &impl GenericClient, id: &str) -> Result<Row, Failure> {
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
    let found = rows(tx, STEP, values).await?;
    found.into_iter().next().ok_or_else(|| "no such session".into())
}

async fn keep(
    tx: &impl GenericClient,
    ended: &[&str],
    kept: Vec<(i16, i64)>,
) -> Result<(), Failure> {
    let mut slots = std::collections::BTreeMap::<i16, (Vec<&str>, Vec<i64>)>::new();
    for (id, (slot, until)) in ended.iter().zip(kept) {
        let (ids, ends) = slots.entry(slot).or_default();
        ids.push(id);
        ends.push(until);
    }
    for (slot, (ids, ends)) in slots {
        let sql = format!(
            "INSERT INTO claims_{slot:02} (session_id, erase_at, sealed) \
             SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])"
        );
        let results = vec![RESULT; ids.len()];
        change(tx, &sql, &[&ids, &ends, &results]).await?;
    }
    Ok(())
}

async fn close(tx: &impl GenericClient, ended: usize) -> Result<(), Failure> {
    if ended == 0 {
        return Ok(());
    }
    change(tx, CLOSE, &[&CLIENT, &number(ended)]).await
}

/// The end of the chain and its part of the number of entries.
async fn lock(tx: &impl GenericClient) -> Result<(i64, i64), Failure> {
    let (head_values, slice_values): (Values<'_>, Values<'_>) = (&[&CLIENT], &[&0_i64]);
    let (head, slice) = tokio::join!(rows(tx, HEAD, head_values), rows(tx, SLICE, slice_values));
    let number = |found: Vec<Row>| {
        found.first().ok_or("no chain")?.try_get::<_, i64>(1).map_err(Failure::from)
    };
    Ok((number(head?)?, number(slice?)?))
}

async fn append(
    tx: &impl GenericClient,
    (seq, entries): (i64, i64),
    count: usize,
) -> Result<(), Failure> {
    let entry = "INSERT INTO audit_entries (client_id, seq, fields, prev_hash, entry_hash) \
                 SELECT $1, a.seq, a.fields, a.prev_hash, a.entry_hash \
                 FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::bytea[]) \
                 AS a (seq, fields, prev_hash, entry_hash)";
    let head = "WITH counted AS (UPDATE audit_totals SET entries = $9, mac = $10 WHERE slice = $8) \
                UPDATE audit_heads SET seq = $2, entry_hash = $3, checkpoint_seq = $4, \
                checkpoint_hash = $5, open_since = $6, mac = $7 WHERE client_id = $1";
    let (last, counted, slice) = (seq + number(count), entries + number(count), 0_i64);
    let seqs: Vec<i64> = (seq + 1..=last).collect();
    let (fields, hashes) = (vec![ENTRY; count], vec![HASH; count]);
    let entry_values: Values<'_> = &[&CLIENT, &seqs, &fields, &hashes, &hashes];
    let head_values: Values<'_> =
        &[&CLIENT, &last, &HASH, &0_i64, &HASH, &Some(0_i64), &HASH, &slice, &counted, &HASH];
    let (entry, head) =
        tokio::join!(change(tx, entry, entry_values), change(tx, head, head_values));
    entry.and(head)
}

async fn notify(tx: &impl GenericClient, ended: &[&str]) -> Result<(), Failure> {
    if ended.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO webhook_deliveries (id, session_id, client_id, livemode, body, queued_at, \
               held, due_at, failed_at, failure_seq, error_message) \
               SELECT n.id, n.session_id, e.client_id, e.livemode, n.body, n.queued_at, \
               h.status IS NULL, \
               CASE WHEN h.status = 'REJECTED' THEN NULL ELSE coalesce(n.due_at, clock_ms()) END, \
               CASE WHEN h.status = 'REJECTED' THEN n.queued_at END, \
               CASE WHEN h.status = 'REJECTED' THEN nextval('webhook_failures') END, \
               CASE WHEN h.status = 'REJECTED' THEN $7::text END \
               FROM webhook_endpoints AS e JOIN clients AS c ON c.id = e.client_id \
               LEFT JOIN webhook_hosts AS h ON h.host = e.host \
               CROSS JOIN unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[]) \
               WITH ORDINALITY AS n (id, session_id, body, queued_at, due_at, place) \
               WHERE e.client_id = $1 AND c.revoked_at IS NULL ORDER BY n.place";
    let (bodies, queued) = (vec![ENTRY; ended.len()], vec![0_i64; ended.len()]);
    let due = vec![None::<i64>; ended.len()];
    let values: Values<'_> = &[&CLIENT, &ended, &ended, &bodies, &queued, &due, &"rejected"];
    change(tx, sql, values).await
}

/// Whether it could lock the sums.
async fn take(tx: &impl GenericClient, ended: usize) -> Result<bool, Failure> {
    if ended == 0 {
        return Ok(false);
    }
    let sql = "SELECT shard, latency, processing FROM metrics_hours WHERE hour = $1 \
               ORDER BY shard LIMIT 1 FOR UPDATE SKIP LOCKED";
    Ok(!rows(tx, sql, &[&HOUR]).await?.is_empty())
}

async fn sum(tx: &impl GenericClient, is_free: bool, ended: usize) -> Result<(), Failure> {
    if !is_free {
        return Ok(());
    }
    let hour = "UPDATE metrics_hours SET verified = verified + $3, failed = failed + $4, \
                expired = expired + $5, latency = $6, processing = $7 WHERE hour = $1 AND shard = $2";
    let types = "INSERT INTO metrics_types AS t VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT (hour, shard, credential_type) DO UPDATE SET \
                 verified = t.verified + excluded.verified, failed = t.failed + excluded.failed, \
                 expired = t.expired + excluded.expired";
    let ended = number(ended);
    let hour_values: Values<'_> = &[&HOUR, &"floor", &ended, &0_i64, &0_i64, &SKETCH, &SKETCH];
    let types_values: Values<'_> = &[&HOUR, &"floor", &"type", &ended, &0_i64, &0_i64];
    let (hour, types) =
        tokio::join!(change(tx, hour, hour_values), change(tx, types, types_values));
    hour.and(types)
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Statements that wait for locks keep this order only if they are prepared.
async fn prepare(on: &impl GenericClient, statements: &[&str]) -> Result<(), Failure> {
    for sql in statements {
        on.prepare_cached(sql).await?;
    }
    Ok(())
}

pub(super) async fn rows(
    on: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
) -> Result<Vec<Row>, Failure> {
    let statement = on.prepare_cached(sql).await?;
    Ok(on.query(&statement, values).await?)
}

async fn change(on: &impl GenericClient, sql: &str, values: Values<'_>) -> Result<(), Failure> {
    let statement = on.prepare_cached(sql).await?;
    on.execute(&statement, values).await?;
    Ok(())
}
