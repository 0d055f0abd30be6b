//! The store in PostgreSQL: any number of gateways share one database.
//!
//! Each use case is one statement or one transaction (`pool.rs`); nothing is locked for all. Times that
//! nodes compare are the database's (`clock_ms()`): when results are due, leases, heartbeats. Times that
//! callers give are what the product shows, and what one node alone decides by: `created_at`,
//! `expires_at`, `settled_at`, how old an audit entry is.

pub(super) mod audit;
mod change;
mod claims;
mod error;
mod gateway;
mod gauges;
mod groups;
mod idempotency;
mod instance;
mod leases;
mod listen;
mod nodes;
mod operator;
mod order;
pub(super) mod outbox;
pub(super) mod pool;
mod probe;
mod rates;
mod schema;
mod sessions;
mod shared;
mod threads;
mod tls;
mod turns;

pub(super) use self::gateway::PostgresStore;
#[cfg(test)]
pub(super) use self::gateway::migrate_at;
pub use self::gateway::{PostgresOptions, migrate};
pub(super) use self::operator::PostgresOperator;
#[cfg(test)]
pub(super) use self::threads::Threads;
