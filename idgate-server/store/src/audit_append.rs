//! Appends to the audit log, in each database's own way.

use super::db::Db;
use super::failure::{Done, Failure};
use super::postgres::audit as postgres;
use super::sqlite::audit::Chains;
use crate::audit_chain::{AuditEvent, AuditKeys};

/// Appends an entry to the chain of `client_id`. In SQLite the transaction must be IMMEDIATE, and
/// any other [`Chains`] in it must be written already.
///
/// # Errors
/// As [`Chains::append`].
pub(super) async fn append(
    db: &Db<'_>,
    keys: &AuditKeys,
    client_id: &str,
    event: AuditEvent,
) -> Done<()> {
    match db {
        Db::Sqlite(main) => {
            let mut chains = Chains::new(main, keys);
            chains.append(client_id, event)?;
            Ok(chains.write()?)
        }
        Db::Transaction(tx) => postgres::append(tx, keys, client_id, event).await,
        Db::Client(_) => Err(Failure::failed("an audit entry needs a transaction")),
    }
}

/// Keeps other transactions from appending to the chain of `client_id` until this one ends.
pub(super) async fn hold(db: &Db<'_>, keys: &AuditKeys, client_id: &str) -> Done<()> {
    match db {
        Db::Transaction(tx) => postgres::hold(tx, keys, client_id).await,
        Db::Sqlite(_) | Db::Client(_) => Ok(()),
    }
}
