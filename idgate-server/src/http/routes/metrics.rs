//! Metrics for operators (decisions 14 and 17). Both endpoints need an admin token.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::StatusCode;
use idgate_core::ErrorCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use crate::http::answer_body::of_type;
use crate::http::auth::AdminAuthorized;
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::json as body;
use crate::http::{paging, query};
use crate::limits::MAX_WINDOW_HOURS;
use idgate_store::{MetricsSummary, Outcomes};

const DEFAULT_HOURS: usize = 24;

/// `GET /v1/admin/metrics`. Every fault here counts as one of the metrics store: there is no 500.
pub(crate) async fn summary(mut call: Call<'_>) -> Answered {
    let window = window_hours(call.head.uri.query());
    let (app, headers) = (call.gateway.app.clone(), call.head.headers.clone());
    // A task of its own, so that a panic also counts as a fault of the metrics store. If the time
    // is over, the task and its read are cancelled.
    let mut work = JoinSet::new();
    work.spawn(async move {
        AdminAuthorized::require(&app, &headers).await?;
        let window = window?;
        let hours = u64::try_from(window).unwrap_or(u64::MAX);
        Ok::<_, HttpError>(summary_json(window, &app.metrics_summary(hours).await?))
    });
    match tokio::time::timeout(call.gateway.limits.metrics_timeout, work.join_next()).await {
        Ok(Some(Ok(Ok(summary)))) => {
            call.know_admin();
            Ok(body::answer(StatusCode::OK, Zeroizing::new(summary.to_string().into_bytes())))
        }
        Ok(Some(Ok(Err(error)))) => Err(call.refuse_authentication(error.or_metrics_unavailable())),
        Ok(None | Some(Err(_))) => Err(HttpError::internal("panic").or_metrics_unavailable()),
        Err(_late) => {
            Err(HttpError::internal("the metrics store took too long").or_metrics_unavailable())
        }
    }
}

/// `GET /metrics`
pub(crate) async fn exposition(mut call: Call<'_>) -> Answered {
    call.authorize_admin().await?;
    let app = &call.gateway.app;
    let telemetry = app.store().telemetry();
    call.gateway.connections.report(telemetry);
    telemetry.resource("body_memory_bytes", call.gateway.memory.used());
    if let Some(tracer) = &call.gateway.tracer {
        telemetry.spans(&tracer.counts());
    }
    let text = app.exposition().await?;
    Ok(of_type("text/plain; version=0.0.4; charset=utf-8", text))
}

fn window_hours(query: Option<&str>) -> Result<usize, HttpError> {
    let Some(text) = query::single(query, "window_hours")? else { return Ok(DEFAULT_HOURS) };
    paging::whole_number(&text, MAX_WINDOW_HOURS).ok_or_else(|| {
        let message = "window_hours must be a whole number from 1 to 720";
        HttpError::new(ErrorCode::InvalidLimit, message)
    })
}

/// `MetricsSummary` (specification 2).
fn summary_json(window_hours: usize, summary: &MetricsSummary) -> Value {
    let MetricsSummary { outcomes, latency, processing, by_credential_type, by_error_code } =
        summary;
    let milliseconds = |us: u64| Duration::from_micros(us).as_secs_f64() * 1000.0;
    json!({
        "window_hours": window_hours,
        "total_estimated": outcomes.total(),
        "verified_estimated": outcomes.verified,
        "failed_estimated": outcomes.failed,
        "success_rate": success_rate(outcomes),
        "latency_ms_p50": latency.percentile(50),
        "latency_ms_p95": latency.percentile(95),
        "processing_latency_ms_p50": processing.percentile(50).map(milliseconds),
        "processing_latency_ms_p95": processing.percentile(95).map(milliseconds),
        "by_credential_type": types_json(by_credential_type),
        "by_error_code": errors_json(by_error_code),
    })
}

fn types_json(types: &BTreeMap<String, Outcomes>) -> Vec<Value> {
    most_first(types, Outcomes::total)
        .map(|(name, outcomes)| {
            json!({
                "credential_type": name,
                "total_estimated": outcomes.total(),
                "verified_estimated": outcomes.verified,
                "failed_estimated": outcomes.failed,
                "success_rate": success_rate(outcomes),
            })
        })
        .collect()
}

fn errors_json(errors: &BTreeMap<String, u64>) -> Vec<Value> {
    most_first(errors, |count| *count)
        .map(|(code, count)| json!({ "error_code": code, "count_estimated": count }))
        .collect()
}

/// Sorted by count, then by name, which is the map's order.
fn most_first<V>(
    map: &BTreeMap<String, V>,
    count: impl Fn(&V) -> u64,
) -> impl Iterator<Item = (&String, &V)> {
    let mut sorted: Vec<(&String, &V)> = map.iter().collect();
    sorted.sort_by_key(|(_, value)| std::cmp::Reverse(count(value)));
    sorted.into_iter()
}

#[allow(clippy::cast_precision_loss)] // f64 is precise enough for a rate
fn success_rate(outcomes: &Outcomes) -> f64 {
    match outcomes.verified.saturating_add(outcomes.failed) {
        0 => 0.0,
        decided => outcomes.verified as f64 / decided as f64,
    }
}
