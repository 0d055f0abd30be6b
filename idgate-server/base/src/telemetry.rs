//! Prometheus metrics. Every label is a fixed word from a short list, or the URL of a trusted list
//! that the operator configured; no label names a client, session or peer.

mod measures;
mod register;
mod status;
mod trust;

use std::fmt;

use prometheus::{
    Error, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Registry, TextEncoder,
};

pub use self::measures::{Gauges, PoolLoad, Use};
use self::register::{add, counters, gauge, gauges, seconds};
use self::status::OfStatus;
use self::trust::OfTrust;
use crate::spans::Counts;

/// Upper bounds for the number of writes in one commit, which is at most 64.
const JOBS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// The metrics of one gateway.
pub struct Telemetry {
    registry: Registry,
    http_requests: IntCounterVec,
    http_seconds: HistogramVec,
    rate_limited: IntCounterVec,
    sessions: IntCounterVec,
    verify_seconds: Histogram,
    verify_errors: IntCounterVec,
    webhook_attempts: IntCounterVec,
    webhook_queue: IntGauge,
    webhook_oldest: IntGauge,
    dead_letters: IntGauge,
    ws_streams: IntGauge,
    commit_seconds: Histogram,
    batch_size: Histogram,
    claims_rows: IntGauge,
    purge_lag: IntGauge,
    clock_steps: IntCounterVec,
    disk_full: IntGauge,
    wal_bytes: IntGauge,
    audit_checkpoint: IntGauge,
    task_restarts: IntCounterVec,
    trust: OfTrust,
    status: OfStatus,
    log_dropped: IntCounter,
    spans_exported: IntCounter,
    spans_lost: IntCounterVec,
    pool: IntGaugeVec,
    connections: IntGaugeVec,
    connections_refused: IntCounterVec,
    connections_displaced: IntCounterVec,
    used: IntGaugeVec,
    limits: IntGaugeVec,
}

impl Telemetry {
    /// All metrics at 0.
    ///
    /// # Errors
    /// A name is used twice or is invalid: a bug in this file.
    pub fn new() -> Result<Self, Error> {
        let registry = Registry::new();
        let build = gauges(&registry, "idgate_build_info", "The running version", &["version"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        let r = &registry;
        Ok(Self {
            http_requests: counters(
                r,
                "idgate_http_requests_total",
                "Answered requests",
                &["route", "method", "status"],
            )?,
            http_seconds: add(
                r,
                HistogramVec::new(
                    seconds(
                        "idgate_http_request_seconds",
                        "Time from the request's head to the response",
                    ),
                    &["route"],
                )?,
            )?,
            rate_limited: counters(
                r,
                "idgate_rate_limited_total",
                "Requests answered with 429",
                &["route"],
            )?,
            sessions: counters(
                r,
                "idgate_sessions_total",
                "Sessions created and settled",
                &["status", "format", "livemode"],
            )?,
            verify_seconds: add(
                r,
                Histogram::with_opts(seconds("idgate_verify_seconds", "Time to verify an answer"))?,
            )?,
            verify_errors: counters(
                r,
                "idgate_verify_errors_total",
                "Answers refused, by reason",
                &["code"],
            )?,
            webhook_attempts: counters(
                r,
                "idgate_webhook_attempts_total",
                "Notifications sent, by outcome",
                &["outcome"],
            )?,
            webhook_queue: gauge(r, "idgate_webhook_queue", "Notifications that wait")?,
            webhook_oldest: gauge(
                r,
                "idgate_webhook_oldest_seconds",
                "How long the oldest waiting notification has waited",
            )?,
            dead_letters: gauge(r, "idgate_dead_letters", "Notifications that were given up")?,
            ws_streams: gauge(r, "idgate_ws_streams", "Open status streams")?,
            commit_seconds: add(
                r,
                Histogram::with_opts(seconds("idgate_db_commit_seconds", "Time of a commit"))?,
            )?,
            batch_size: add(
                r,
                Histogram::with_opts(
                    HistogramOpts::new("idgate_db_batch_size", "Writes that share a commit")
                        .buckets(JOBS.to_vec()),
                )?,
            )?,
            claims_rows: gauge(r, "idgate_claims_rows", "Stored results")?,
            purge_lag: gauge(
                r,
                "idgate_purge_lag_seconds",
                "How long the erasure of the oldest due result is overdue",
            )?,
            clock_steps: counters(
                r,
                "idgate_clock_steps_total",
                "How often the clock was set by half a second or more",
                &["direction"],
            )?,
            disk_full: gauge(
                r,
                "idgate_disk_full",
                "1: the disk is full, and only erasures are stored",
            )?,
            wal_bytes: gauge(r, "idgate_wal_bytes", "Size of the write-ahead logs")?,
            pool: gauges(
                r,
                "idgate_database_connections",
                "Connections to PostgreSQL, and requests that wait for one",
                &["state"],
            )?,
            audit_checkpoint: gauge(
                r,
                "idgate_audit_last_checkpoint_seconds",
                "How long the oldest audit entry without a checkpoint has waited for one",
            )?,
            task_restarts: counters(
                r,
                "idgate_task_restarts_total",
                "Background tasks that panicked and were restarted",
                &["task"],
            )?,
            trust: OfTrust::new(r)?,
            status: OfStatus::new(r)?,
            connections: gauges(
                r,
                "idgate_connections",
                "Open connections: strangers, newcomers on probation, and those with a valid key",
                &["kind"],
            )?,
            connections_refused: counters(
                r,
                "idgate_connections_refused_total",
                "Connections that were refused, by the exhausted limit",
                &["reason"],
            )?,
            connections_displaced: counters(
                r,
                "idgate_connections_displaced_total",
                "Silent connections that were displaced by others",
                &["kind"],
            )?,
            used: gauges(
                r,
                "idgate_resource_used",
                "Current use of limited resources",
                &["resource"],
            )?,
            limits: gauges(r, "idgate_resource_limit", "Limits of these resources", &["resource"])?,
            spans_exported: add(
                r,
                IntCounter::new(
                    "idgate_spans_exported_total",
                    "Spans that the collector accepted",
                )?,
            )?,
            spans_lost: counters(
                r,
                "idgate_spans_dropped_total",
                "Spans that did not reach the collector, by reason",
                &["reason"],
            )?,
            log_dropped: add(
                r,
                IntCounter::new("idgate_log_dropped_lines_total", "Log lines that were lost")?,
            )?,
            registry,
        })
    }

    /// Counts an answered request. `route` is the path template.
    pub fn request(&self, route: Option<&'static str>, method: &'static str, status: u16, us: u64) {
        let route = route.unwrap_or("none");
        let text = status.to_string();
        self.http_requests.with_label_values(&[route, method, &text]).inc();
        self.http_seconds.with_label_values(&[route]).observe(from_micros(us));
        if status == 429 {
            self.rate_limited.with_label_values(&[route]).inc();
        }
    }

    /// Counts a session that was created or settled.
    pub fn session(&self, status: &'static str, format: &'static str, livemode: bool) {
        let livemode = if livemode { "true" } else { "false" };
        self.sessions.with_label_values(&[status, format, livemode]).inc();
    }

    /// Counts a verification; `code` is the reason if the answer was refused.
    pub fn verification(&self, us: u64, code: Option<&'static str>) {
        self.verify_seconds.observe(from_micros(us));
        if let Some(code) = code {
            self.verify_errors.with_label_values(&[code]).inc();
        }
    }

    /// Counts a delivery attempt; `outcome`: `delivered`, `failed`, or `given_up`.
    pub fn webhook(&self, outcome: &'static str) {
        self.webhook_attempts.with_label_values(&[outcome]).inc();
    }

    /// Sets the number of open status streams.
    pub fn streams(&self, count: usize) {
        self.ws_streams.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets the open connections of a kind, and how many were displaced since this process started.
    pub fn connections(&self, kind: &'static str, open: usize, displaced: usize) {
        let open = i64::try_from(open).unwrap_or(i64::MAX);
        self.connections.with_label_values(&[kind]).set(open);
        let counter = self.connections_displaced.with_label_values(&[kind]);
        let displaced = u64::try_from(displaced).unwrap_or(u64::MAX);
        counter.inc_by(displaced.saturating_sub(counter.get()));
    }

    /// Counts a refused connection; `reason`: `peer`, `all`, `no_key`, or `descriptors`.
    pub fn connection_refused(&self, reason: &'static str) {
        self.connections_refused.with_label_values(&[reason]).inc();
    }

    /// Sets the number of log lines lost since this process started.
    pub fn log_dropped(&self, lines: u64) {
        self.log_dropped.inc_by(lines.saturating_sub(self.log_dropped.get()));
    }

    /// Sets the counts of spans since this process started.
    pub fn spans(&self, counts: &Counts) {
        let Counts { exported, queue, refused, unreachable } = *counts;
        self.spans_exported.inc_by(exported.saturating_sub(self.spans_exported.get()));
        for (reason, lost) in [("queue", queue), ("refused", refused), ("unreachable", unreachable)]
        {
            let counter = self.spans_lost.with_label_values(&[reason]);
            counter.inc_by(lost.saturating_sub(counter.get()));
        }
    }

    /// Counts a step of the clock, by this many milliseconds.
    pub fn clock_step(&self, by_ms: i64) {
        let direction = if by_ms < 0 { "back" } else { "forward" };
        self.clock_steps.with_label_values(&[direction]).inc();
    }

    /// Counts a commit of `jobs` writes.
    pub fn commit(&self, us: u64, jobs: usize) {
        self.commit_seconds.observe(from_micros(us));
        self.batch_size.observe(f64::from(u32::try_from(jobs).unwrap_or(u32::MAX)));
    }

    /// The number of commits.
    #[cfg(any(test, feature = "fixtures"))]
    pub fn commits(&self) -> u64 {
        self.commit_seconds.get_sample_count()
    }

    /// Counts a background task that panicked and is restarted.
    pub fn task_restarted(&self, task: &'static str) {
        self.task_restarts.with_label_values(&[task]).inc();
    }

    /// Sets the gauges of the store.
    pub fn stored(&self, gauges: &Gauges) {
        let whole_seconds = |ms: u64| signed(ms.checked_div(1000).unwrap_or(0));
        self.claims_rows.set(signed(gauges.claims_rows));
        self.disk_full.set(i64::from(gauges.disk_full));
        self.purge_lag.set(whole_seconds(gauges.purge_lag_ms));
        self.webhook_queue.set(signed(gauges.webhook_queue));
        self.webhook_oldest.set(whole_seconds(gauges.webhook_oldest_ms));
        self.dead_letters.set(signed(gauges.dead_letters));
        self.wal_bytes.set(signed(gauges.wal_bytes));
        self.audit_checkpoint.set(whole_seconds(gauges.audit_open_ms));
        for (resource, of) in
            [("disk_bytes", gauges.disk), ("db_writes", gauges.writes), ("db_reads", gauges.reads)]
        {
            of.into_iter().for_each(|of| self.resource(resource, of));
        }
    }

    /// Sets the current use of a resource.
    pub fn resource(&self, name: &'static str, Use { used, limit }: Use) {
        self.used.with_label_values(&[name]).set(signed(used));
        self.limits.with_label_values(&[name]).set(signed(limit));
    }

    /// Sets the use of the connections to PostgreSQL.
    pub fn pool(&self, load: PoolLoad) {
        let PoolLoad { busy, idle, waiting, limit } = load;
        self.resource("db_connections", Use::of(busy, limit));
        for (state, count) in [("busy", busy), ("idle", idle), ("waiting", waiting)] {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.pool.with_label_values(&[state]).set(count);
        }
    }

    /// All metrics in the text exposition format.
    ///
    /// # Errors
    /// A metric cannot be written.
    pub fn text(&self) -> Result<String, Error> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Telemetry")
    }
}

fn from_micros(us: u64) -> f64 {
    std::time::Duration::from_micros(us).as_secs_f64()
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_exposition_has_the_counted_values() {
        let telemetry = Telemetry::new().unwrap();
        telemetry.request(Some("/v1/sessions"), "POST", 201, 700);
        telemetry.request(Some("/v1/sessions"), "POST", 429, 700);
        telemetry.request(None, "other", 404, 1);
        telemetry.session("VERIFIED", "vc+sd-jwt", true);
        telemetry.verification(250, Some("nonce_mismatch"));
        telemetry.commit(2000, 9);
        telemetry.trusted("root", 3, Some(-5));
        telemetry.certified("gateway", Some(86_400));
        telemetry.pool(PoolLoad { busy: 2, idle: 1, waiting: 0, limit: 8 });
        telemetry.resource("descriptors", Use { used: 7, limit: 20_000 });
        let text = telemetry.text().unwrap();
        for line in [
            r#"idgate_http_requests_total{method="POST",route="/v1/sessions",status="201"} 1"#,
            r#"idgate_rate_limited_total{route="/v1/sessions"} 1"#,
            r#"idgate_http_request_seconds_count{route="none"} 1"#,
            r#"idgate_sessions_total{format="vc+sd-jwt",livemode="true",status="VERIFIED"} 1"#,
            r#"idgate_verify_seconds_bucket{le="0.0005"} 1"#,
            r#"idgate_verify_errors_total{code="nonce_mismatch"} 1"#,
            r#"idgate_db_batch_size_bucket{le="8"} 0"#,
            r#"idgate_db_batch_size_bucket{le="16"} 1"#,
            "idgate_db_commit_seconds_sum 0.002",
            r#"idgate_trust_expiry_seconds{kind="root"} -5"#,
            r#"idgate_certificate_expiry_seconds{of="gateway"} 86400"#,
            r#"idgate_database_connections{state="busy"} 2"#,
            r#"idgate_database_connections{state="waiting"} 0"#,
            r#"idgate_resource_used{resource="db_connections"} 2"#,
            r#"idgate_resource_limit{resource="db_connections"} 8"#,
            r#"idgate_resource_used{resource="descriptors"} 7"#,
            r#"idgate_resource_limit{resource="descriptors"} 20000"#,
            "idgate_build_info{version=",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        telemetry.trusted("root", 0, None);
        assert!(!telemetry.text().unwrap().contains("idgate_trust_expiry_seconds{"));
    }
}
