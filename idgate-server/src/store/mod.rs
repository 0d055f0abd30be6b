//! Everything that the gateway stores. [`Store`] is the store of a running gateway, and [`OperatorStore`]
//! that of commands, on the same data directory or database.

mod api_keys;
mod audit;
mod audit_append;
mod cache;
mod certificates;
mod changes;
mod claims;
mod columns;
mod copy;
mod cursor;
mod database_settings;
mod db;
mod endpoint_removal;
mod env;
mod events;
mod examine_database;
mod failure;
mod fault;
mod finding;
mod gateway;
mod gateway_keys;
mod idempotency;
mod key_check;
mod key_uses;
mod keys;
mod lanes;
mod metrics;
mod new_secrets;
mod operator;
mod outbox;
mod over_asking;
mod pages;
mod postgres;
mod prepared_session;
mod quotas;
mod registered;
mod rekey;
mod reports;
mod session_keys;
mod session_upkeep;
mod shared_reads;
mod sql;
mod sqlite;
mod trust;
mod types;
mod version_numbers;
mod webhook_endpoints;

pub use self::audit::{AuditReport, ExportError};
pub use self::certificates::CertificateRecord;
pub use self::changes::Watch;
pub use self::copy::{Copied, copy};
pub use self::examine_database::examine_database;
pub use self::gateway::Store;
pub use self::keys::{ClientRecord, NewClient};
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
pub use crate::store::sqlite::backup::{Backup, back_up};
pub use crate::store::sqlite::directory::exposed;
pub use crate::store::sqlite::examine::{Examination, Finding, Health, examine};
pub use crate::store::sqlite::missing_settings::missing;

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
