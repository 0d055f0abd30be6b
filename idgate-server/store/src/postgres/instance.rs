//! Checks which instance keys the database is sealed with. The database itself never has a key.

use super::super::instance_keys::{self, Lock, checks, judge};
use super::super::key_check::Check;
use super::error::{Done, Failure};
use super::pool::Pool;
use crate::db::Db;
use crate::postgres_statements::row;
use crate::seal::Sealer;

/// Rejects keys other than those that the database is sealed with. An empty database accepts any
/// key. Returns the key that seals if its check has to be stored with the first value that it
/// seals.
pub(crate) async fn check_key(pool: &Pool, sealer: &Sealer) -> Done<Option<Check>> {
    pool.transact(sealer, |sealer, tx| {
        Box::pin(async move {
            let copying = row(tx, "SELECT FROM instance WHERE name = $1", &[&COPYING]).await?;
            if copying.is_some() {
                return Err(Failure::failed(
                    "the copy of a data directory into this database is incomplete; run `idgate \
                     copy` again",
                ));
            }
            instance_keys::first_key(&Db::Transaction(tx), sealer).await
        })
    })
    .await
}

/// Set while a data directory is being copied into the database, which is incomplete until then.
pub(super) const COPYING: &str = "copying_from";

/// The same for a command, which may be read-only: without a lock, and without a change unless the
/// database is empty.
pub(crate) async fn first_key(pool: &Pool, sealer: &Sealer) -> Done<Option<Check>> {
    let client = pool.client().await?;
    let copying = row(&client, "SELECT FROM instance WHERE name = $1", &[&COPYING]).await?;
    let db = Db::Client(&client);
    let found = checks(&db, Lock::None).await?;
    if copying.is_none() && !found.is_empty() {
        return judge(&db, sealer, &found);
    }
    drop(db);
    drop(client);
    check_key(pool, sealer).await
}
