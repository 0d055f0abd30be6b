//! The store in PostgreSQL: any number of gateways share one database.
//!
//! Each use case is one statement or one transaction (`pool.rs`); nothing is locked for all. Times that
//! nodes compare are the database's (`clock_ms()`): when results are due, leases, heartbeats. Times that
//! callers give are what the product shows, and what one node alone decides by: `created_at`,
//! `expires_at`, `settled_at`, how old an audit entry is.

mod api_keys;
pub(super) mod audit;
mod audit_store;
mod change;
mod claims;
mod current;
mod endpoint_removal;
mod endpoints;
mod error;
mod events;
mod gateway;
mod groups;
mod held;
mod idempotency;
mod instance;
mod leases;
mod list_refresh;
mod listen;
mod metrics;
mod nodes;
mod operator;
mod order;
pub(super) mod outbox;
mod pages;
pub(super) mod pool;
mod probe;
mod rates;
mod rekey;
mod reports;
mod schema;
mod sessions;
mod shared;
pub(super) mod sql;
mod threads;
mod tls;
mod turns;

#[cfg(test)]
pub(super) use self::gateway::migrate_at;
pub use self::gateway::{PostgresOptions, PostgresStore, migrate};
pub(super) use self::operator::PostgresOperator;
#[cfg(test)]
pub(super) use self::threads::Threads;
