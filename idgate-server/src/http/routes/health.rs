//! Liveness and readiness, with one boolean for each check.

use hyper::StatusCode;

use crate::http::call::Call;
use crate::http::error::Answered;
use crate::http::json::{self, Object};
use crate::limits::PROBE_TIMEOUT;

/// `GET /healthz`: the process answers. Nothing else is checked.
pub(crate) async fn alive(_: Call<'_>) -> Answered {
    Ok(json::answer(StatusCode::OK, Object::new().boolean("alive", true).finish()))
}

/// `GET /readyz`: the gateway can do its work.
pub(crate) async fn ready(call: Call<'_>) -> Answered {
    let gateway = call.gateway;
    let probe = tokio::time::timeout(PROBE_TIMEOUT, gateway.app.store().probe()).await;
    let store = matches!(probe, Ok(Ok(())));
    let trust = gateway.app.verifier().await.is_ok();
    let accepting = !gateway.is_draining();
    let tasks = gateway.are_tasks_well();
    let ready = store && trust && accepting && tasks;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = Object::new()
        .boolean("ready", ready)
        .boolean("store", store)
        .boolean("trust", trust)
        .boolean("accepting", accepting)
        .boolean("tasks", tasks)
        .finish();
    Ok(json::answer(status, body))
}
