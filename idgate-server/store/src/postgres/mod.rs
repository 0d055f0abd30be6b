//! The store in PostgreSQL, which any number of gateways share.
//!
//! Each use case is one statement or one transaction (`pool.rs`); there is no global lock. Times
//! that nodes compare are the database's (`clock_ms()`): expiry of results, leases, heartbeats.
//! Times from callers are those that the product shows, or that a single node decides by:
//! `created_at`, `expires_at`, `settled_at`, the age of an audit entry.

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
