//! Everything that the gateway stores. [`Store`] is the store of a running gateway.
//! [`OperatorStore`] is the store for operator commands, on the same data directory or database.

#![allow(clippy::exhaustive_enums, clippy::exhaustive_structs)] // the crate is not published

mod address;
mod api_keys;
mod audit;
mod audit_append;
pub mod audit_chain;
mod authentication;
mod cache;
mod certificates;
mod changes;
mod claims;
mod columns;
mod copied_tables;
mod copy;
mod cursor;
mod database_settings;
mod db;
mod endpoint_removal;
mod env;
mod environment;
mod events;
mod examine_database;
mod failure;
mod fault;
mod finding;
mod gateway;
pub mod gateway_key;
mod gateway_keys;
mod idempotency;
mod instance_keys;
mod key_check;
mod key_uses;
mod keys;
mod lanes;
mod limits;
mod list_url;
mod metrics;
mod new_secrets;
mod operator;
mod outbox;
mod over_asking;
mod pages;
mod postgres;
mod postgres_statements;
mod prepared_session;
mod quotas;
mod recall;
mod recent_sessions;
mod registered;
mod registrations;
mod rekey;
mod reports;
mod retention;
pub mod seal;
mod session_keys;
mod session_upkeep;
mod sessions;
mod shared_reads;
mod sketch;
mod sql;
mod sqlite;
mod stored_session;
mod trust;
mod types;
pub mod upkeep;
mod version_numbers;
mod webhook_endpoints;

pub use self::address::Address;
pub use self::audit::{AuditReport, ExportError};
pub use self::certificates::CertificateRecord;
pub use self::changes::Watch;
pub use self::copy::{Copied, copy};
pub use self::environment::Environment;
pub use self::examine_database::examine_database;
pub use self::gateway::Store;
pub use self::keys::{ClientRecord, NewClient};
pub use self::limits::MAX_REGISTRATIONS;
pub use self::list_url::list_url;
pub use self::operator::*;
pub use self::outbox::notification_id;
pub use self::postgres::{PostgresOptions, migrate};
pub use self::quotas::{OwnQuotas, Quotas};
pub use self::recall::{Basis, Recalled};
pub use self::sqlite::StoreOptions;
pub use self::trust::{
    ListOfListsRow, ListRow, ListSettings, NewCrl, NewList, NewListOfLists, NewTrustedList,
    RemovedMaterial, TrustCertificate, TrustChange, TrustCrl, TrustKey, TrustList, TrustRecord,
    TrustedListRecord,
};
pub use self::types::*;
pub use crate::sqlite::backup::{Backup, back_up};
pub use crate::sqlite::directory::{SANDBOX_FILE, exposed};
pub use crate::sqlite::examine::{Examination, Finding, Health, examine};
pub use crate::sqlite::missing_settings::missing;

#[cfg(any(test, feature = "fixtures"))]
pub use self::fault::Mood;
#[cfg(test)]
mod conformance;
#[cfg(any(test, feature = "fixtures"))]
#[allow(clippy::unwrap_used)]
pub mod fixtures;
#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "fixtures"))]
pub mod wait;
