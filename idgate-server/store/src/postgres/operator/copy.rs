//! The target database of a copy. From the first step to the last it carries a mark with the id of
//! the directory, and no gateway and no other command uses it.

use std::time::Duration;

use idgate_core::{Entropy as _, UnixMillis};

use super::super::audit::{self as log, heads};
use super::super::claims::{SLOT_MS, SLOTS};
use super::super::error::{Done, Failure};
use super::super::instance::COPYING;
use super::super::pool::Tx;
use super::super::schema;
use super::PostgresOperator;
use crate::address::Address;
use crate::copied_tables::{Batch, SESSION_KEYS, TABLES, Table};
use crate::db::Db;
use crate::env::NODE_GONE_MS;
use crate::instance_keys::{first_key, note};
use crate::postgres_statements::{execute, row, rows};
use crate::seal::InstanceKey;
use crate::sql::{millis, number, unsigned};
use crate::types::StoreError;
use idgate_base::entropy::OsEntropy;

/// The directory that a completed database was copied from.
const COPIED: &str = "copied_from";

/// The mark during a copy: the copying process and the directory.
#[derive(Clone, Debug)]
pub(crate) struct Mark(Vec<u8>);

/// The length of a random token, unique to this copy.
const TOKEN: usize = 16;

impl Mark {
    fn new(directory: &[u8]) -> Result<Self, StoreError> {
        let mut token = [0; TOKEN];
        let drawn = OsEntropy.fill(&mut token);
        drawn.map_err(|_| {
            StoreError::Unavailable("the operating system's random source failed".into())
        })?;
        Ok(Self([token.as_slice(), directory].concat()))
    }

    fn directory(&self) -> &[u8] {
        self.0.get(TOKEN..).unwrap_or_default()
    }
}

/// The statement timeout of a copy: statements that derive or count read whole tables.
const STATEMENT: Duration = Duration::from_secs(1800);

impl PostgresOperator {
    /// Connects to a database with this program's schema, whatever its contents.
    ///
    /// # Errors
    /// The database cannot be reached or used, or its schema has another version. The text says
    /// what to do.
    pub(crate) fn open_for_copy(
        address: &Address,
        instance_key: &InstanceKey,
    ) -> Result<Self, StoreError> {
        let patient = address.with_statement_timeout(STATEMENT);
        let mut operator = Self::connect(&patient, instance_key)?;
        operator.answer = STATEMENT.saturating_add(operator.answer);
        operator.run(schema::require(&operator.desk.pool))?;
        Ok(operator)
    }

    /// Marks the database with the directory to be copied, and removes the rows of an unfinished
    /// copy of it. A process that is still running that copy fails from here on.
    ///
    /// # Errors
    /// The database has other contents.
    pub(crate) fn begin_copy(&self, directory: &[u8]) -> Result<Mark, StoreError> {
        let mark = Mark::new(directory)?;
        self.run(
            self.desk
                .pool
                .transact(&mark, |mark, tx| Box::pin(async move { begin(tx, mark).await })),
        )?;
        Ok(mark)
    }

    pub(crate) fn insert_copied(
        &self,
        mark: &Mark,
        table: &Table,
        batch: &Batch,
    ) -> Result<(), StoreError> {
        let (name, columns) = (table.name, table.columns().join(", "));
        let replacing = if table.replaces { replacing(table) } else { String::new() };
        let sql = format!(
            "INSERT INTO {name} ({columns}) SELECT {columns} \
             FROM json_populate_recordset(NULL::{name}, $1::text::json) {replacing}"
        );
        let with = (mark, sql, batch);
        let inserted = self.run(self.desk.pool.transact(&with, |(mark, sql, batch), tx| {
            Box::pin(async move {
                own(tx, mark).await?;
                execute(tx, sql, &[&batch.json]).await
            })
        }))?;
        if number(inserted) == number(batch.rows) { Ok(()) } else { Err(differs(table)) }
    }

    /// Fails unless the database has each of these rows with equal values.
    pub(crate) fn compare_copied(&self, table: &Table, batch: &Batch) -> Result<(), StoreError> {
        // Columns that only gateways write are not compared: no gateway has run here yet.
        let (name, key, columns) = (table.name, table.key, table.columns().join(", "));
        let of = |row: &str, columns: &str| {
            format!("{row}.{}", columns.replace(", ", &format!(", {row}.")))
        };
        let sql = format!(
            "SELECT FROM json_populate_recordset(NULL::{name}, $1::text::json) AS s \
             JOIN {name} AS t ON ({}) = ({}) WHERE ROW({}) IS NOT DISTINCT FROM ROW({})",
            of("s", key),
            of("t", key),
            of("s", &columns),
            of("t", &columns),
        );
        let same = self.execute(&sql, batch)?;
        if same == number(batch.rows) { Ok(()) } else { Err(differs(table)) }
    }

    /// Fails unless the table has this many rows.
    pub(crate) fn count_copied(&self, table: &Table, rows: u64) -> Result<(), StoreError> {
        // The copy's own mark is not part of the directory.
        let but = if table.name == "instance" {
            format!("WHERE name <> '{COPYING}'")
        } else {
            String::new()
        };
        let sql = format!("SELECT count(*) FROM {} {but}", table.name);
        let found: i64 = self.run(async {
            let client = self.desk.pool.client().await?;
            let found = row(&client, &sql, &[]).await?;
            Ok(found.map(|found| found.try_get(0)).transpose()?.unwrap_or(0))
        })?;
        // The check of the key that seals may be an additional row.
        let is_right = unsigned(found) == rows
            || (table.name == "instance" && unsigned(found) == rows.saturating_add(1));
        if is_right { Ok(()) } else { Err(differs(table)) }
    }

    /// The claims of verified sessions are not copied.
    pub(crate) fn lose_claims(
        &self,
        mark: &Mark,
        session_id: &str,
        until: UnixMillis,
    ) -> Result<(), StoreError> {
        let until = millis(until);
        let slot = i16::try_from(until.div_euclid(SLOT_MS).rem_euclid(SLOTS)).unwrap_or(0);
        let with = (mark, session_id, until, slot);
        self.run(self.desk.pool.transact(&with, |(mark, session_id, until, slot), tx| {
            Box::pin(async move {
                own(tx, mark).await?;
                let sql = "UPDATE sessions SET claims_until = $2, claims_slot = $3 WHERE id = $1";
                execute(tx, sql, &[session_id, until, slot]).await
            })
        }))?;
        Ok(())
    }

    /// Derives the rest from the copied rows before they are compared: the sequences, the number of
    /// audit entries, and the planner's statistics.
    pub(crate) fn complete_copy(&self, mark: &Mark) -> Result<(), StoreError> {
        let desk = &self.desk;
        self.run(desk.pool.transact(&(desk, mark), |(desk, mark), tx| {
            Box::pin(async move {
                own(tx, mark).await?;
                for table in TABLES {
                    let (name, Some(column)) = (table.name, table.counted) else { continue };
                    let sql = format!(
                        "SELECT setval(pg_get_serial_sequence('{name}', '{column}'), \
                         greatest((SELECT max({column}) FROM {name}), 1))"
                    );
                    rows(tx, &sql, &[]).await?;
                }
                let sql = "SELECT setval('webhook_failures', \
                           greatest((SELECT max(failure_seq) FROM webhook_deliveries), 1))";
                rows(tx, sql, &[]).await?;
                let db = Db::Transaction(tx);
                if let Some(first) = first_key(&db, &desk.sealer).await? {
                    note(&db, &first).await?;
                }
                heads::recount(tx, &desk.audit).await
            })
        }))?;
        self.run(async {
            let client = self.desk.pool.client().await?;
            let all: Vec<&str> = names().collect();
            Ok(client.batch_execute(&format!("ANALYZE {}", all.join(", "))).await?)
        })
    }

    /// From here on gateways may use the database.
    pub(crate) fn end_copy(&self, mark: &Mark) -> Result<(), StoreError> {
        self.run(self.desk.pool.transact(mark, |mark, tx| {
            Box::pin(async move {
                let sql = "DELETE FROM instance WHERE name = $1 AND sealed = $2";
                if execute(tx, sql, &[&COPYING, &mark.0]).await? != 1 {
                    return Err(another_copy());
                }
                let sql = "INSERT INTO instance (name, sealed) VALUES ($1, $2)";
                execute(tx, sql, &[&COPIED, &mark.directory()]).await?;
                Ok(())
            })
        }))?;
        self.run(log::begin(&self.desk.pool, &self.desk.audit))
    }

    fn execute(&self, sql: &str, batch: &Batch) -> Result<i64, StoreError> {
        let changed = self.run(async {
            let client = self.desk.pool.client().await?;
            execute(&client, sql, &[&batch.json]).await
        })?;
        Ok(number(changed))
    }
}

async fn begin(tx: &Tx<'_>, mark: &Mark) -> Done<()> {
    tx.execute("SELECT pg_advisory_xact_lock($1)", &[&schema::LOCK]).await?;
    let all: Vec<&str> = names().collect();
    let all = all.join(", ");
    // A process that has to be rejected fails here without waiting. The others wait until earlier
    // ones are done, and check again.
    admit(tx, mark).await?;
    tx.batch_execute(&format!("LOCK TABLE {all} IN ACCESS EXCLUSIVE MODE")).await?;
    admit(tx, mark).await?;
    tx.batch_execute(&format!("TRUNCATE {all}")).await?;
    let sql = "INSERT INTO instance (name, sealed) VALUES ($1, $2)";
    execute(tx, sql, &[&COPYING, &mark.0]).await?;
    Ok(())
}

/// Rejects a database that has other contents, or that a gateway uses.
async fn admit(tx: &Tx<'_>, mark: &Mark) -> Done<()> {
    let found = |name: &'static str| async move {
        let found = row(tx, "SELECT sealed FROM instance WHERE name = $1", &[&name]).await?;
        Ok::<Option<Vec<u8>>, Failure>(found.map(|found| found.try_get(0)).transpose()?)
    };
    match (found(COPYING).await?.map(Mark), found(COPIED).await?) {
        (Some(other), _) if other.directory() != mark.directory() => {
            return Err(Failure::failed(
                "the database has an unfinished copy of another data directory; finish that one, \
                 or create a new database",
            ));
        }
        (Some(_), _) => {}
        (None, Some(copied)) if copied == mark.directory() => {
            return Err(Failure::failed(
                "this data directory was copied into the database already: start the gateways with \
                 IDGATE_DATABASE_URL",
            ));
        }
        (None, _) if !is_empty(tx).await? => {
            return Err(Failure::failed(
                "the database is not empty, and a copy replaces nothing; create a new database, \
                 and its schema with `idgate migrate`",
            ));
        }
        (None, _) => {}
    }
    let sql = "SELECT FROM nodes WHERE beat_at > clock_ms() - $1 LIMIT 1";
    if row(tx, sql, &[&NODE_GONE_MS]).await?.is_some() {
        return Err(Failure::failed("a gateway runs on the database; stop it, and copy again"));
    }
    Ok(())
}

/// Fails if another copy began in the meantime, and keeps others from beginning until the commit.
async fn own(tx: &Tx<'_>, mark: &Mark) -> Done<()> {
    let sql = "SELECT FROM instance WHERE name = $1 AND sealed = $2 FOR SHARE";
    match row(tx, sql, &[&COPYING, &mark.0]).await? {
        Some(_) => Ok(()),
        None => Err(another_copy()),
    }
}

fn another_copy() -> Failure {
    Failure::failed(
        "another `idgate copy` into the database began after this one; wait until it is over, and \
         copy again unless it was of the same data directory",
    )
}

/// Rows from the schema, and those that a gateway's first start creates, do not count.
async fn is_empty(tx: &Tx<'_>) -> Done<bool> {
    for name in names().filter(|name| !BEGUN_WITH.contains(name)) {
        if row(tx, &format!("SELECT FROM {name} LIMIT 1"), &[]).await?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

const BEGUN_WITH: [&str; 8] = [
    "instance",
    "trust_version",
    "certificates_version",
    "gateway_keys",
    "audit_totals",
    "session_rates",
    "nodes",
    "leases",
];

fn names() -> impl Iterator<Item = &'static str> {
    let copied = TABLES.iter().chain(std::iter::once(&SESSION_KEYS)).map(|table| table.name);
    copied.chain(["audit_totals", "session_rates", "nodes", "leases"])
}

fn replacing(table: &Table) -> String {
    let set = table.columns().into_iter().map(|column| format!("{column} = excluded.{column}"));
    format!("ON CONFLICT ({}) DO UPDATE SET {}", table.key, set.collect::<Vec<_>>().join(", "))
}

fn differs(table: &Table) -> StoreError {
    StoreError::Damaged(format!(
        "table {} differs from the data directory after the copy; copy again",
        table.name
    ))
}
