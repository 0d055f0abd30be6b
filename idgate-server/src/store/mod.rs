//! What the gateway keeps. [`Store`] is the store of a running gateway, and [`OperatorStore`]
//! that of commands, on the same data directory or database.

mod api_keys;
mod audit;
mod audit_append;
mod backup;
mod certificates;
mod changes;
mod claims;
mod claims_file;
mod copy;
mod cursor;
mod database_settings;
mod db;
mod directory;
mod disk;
mod endpoint_removal;
mod env;
mod events;
mod examine;
mod examine_database;
mod failure;
mod fault;
mod files;
mod finding;
mod fresh;
mod gateway;
mod gateway_keys;
mod held;
mod idempotency;
mod key_check;
mod keys;
mod known;
mod lanes;
mod metrics;
mod missing;
mod numbers;
mod operator;
mod outbox;
mod pages;
mod postgres;
mod prepared;
mod probe;
mod quotas;
mod readers;
mod rekey;
mod reports;
mod reseal;
mod reserve;
mod schema;
mod session_keys;
mod session_upkeep;
mod sessions;
mod sql;
mod sqlite;
mod statement;
mod together;
mod trust;
mod types;
mod underway;
mod uses;
mod webhook_endpoints;
mod writer;

pub use self::audit::{AuditReport, ExportError};
pub use self::backup::{Backup, back_up};
pub use self::certificates::CertificateRecord;
pub use self::changes::Watch;
pub use self::copy::{Copied, copy};
pub use self::directory::exposed;
pub use self::examine::{Examination, Finding, Health, examine};
pub use self::examine_database::examine_database;
pub use self::gateway::Store;
pub use self::keys::{ClientRecord, NewClient};
pub use self::missing::missing;
pub use self::operator::*;
pub(crate) use self::outbox::notification_id;
pub use self::postgres::{PostgresOptions, migrate};
pub use self::quotas::OwnQuotas;
pub use self::sqlite::StoreOptions;
pub use self::trust::{
    ListRow, ListSettings, NewCrl, NewList, NewTrustedList, RemovedMaterial, TrustCertificate,
    TrustChange, TrustCrl, TrustKey, TrustList, TrustRecord, TrustedListRecord,
};
pub use self::types::*;

#[cfg(test)]
pub(crate) use self::fault::Mood;
#[cfg(test)]
mod conformance;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod temporary;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod wait;
