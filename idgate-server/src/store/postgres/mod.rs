//! The store in PostgreSQL: any number of gateways share one database.
//!
//! Each use case is one statement or one transaction (`pool.rs`); nothing is locked for all. Times that
//! nodes compare are the database's (`clock_ms()`): when results are due, leases, heartbeats. Times that
//! callers give are what the product shows, and what one node alone decides by: `created_at`,
//! `expires_at`, `settled_at`, how old an audit entry is.

mod api_keys;
mod audit;
mod audit_store;
mod certificates;
mod change;
mod claims;
mod current;
mod destination;
mod endpoint_removal;
mod endpoints;
mod error;
mod events;
mod gateway;
mod gateway_keys;
mod groups;
mod held;
mod idempotency;
mod instance;
mod leases;
mod list_refresh;
mod listen;
mod metrics;
mod nodes;
mod numbers;
mod operator;
mod order;
mod origins;
mod outbox;
mod pages;
mod pool;
mod probe;
mod rates;
mod rekey;
mod reports;
mod schema;
mod sessions;
mod shared;
mod sql;
mod threads;
mod tls;
mod trust;
mod trusted_lists;
mod turns;

#[cfg(test)]
pub(super) use self::gateway::migrate_at;
pub use self::gateway::{PostgresOptions, PostgresStore, migrate};
pub use self::operator::PostgresOperator;
#[cfg(test)]
pub(super) use self::threads::Threads;
