//! The HTTP layer: turns bytes from sockets into calls of [`crate::app`], and their outcomes into
//! responses. Only this module uses hyper, and only `error.rs` chooses error statuses.

mod added;
mod admission;
mod answer_body;
mod auth;
mod body;
mod call;
mod cors;
mod error;
mod events;
mod exchange;
mod gateway;
mod head;
mod idempotency_key;
mod json;
mod json_body;
pub mod listener;
pub(crate) mod page;
mod paging;
mod peer;
mod query;
mod refusal;
mod route;
mod router;
mod routes;
mod status_event;
mod tls;
mod traceparent;
mod ws;

pub use self::added::AddedRoutes;
pub use self::gateway::Gateway;
pub use self::page::{Html, Qr};
pub use self::router::routes;
pub use self::tls::{Tls, certificates};
pub use crate::limits::{HttpLimits, StreamTimes};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;
