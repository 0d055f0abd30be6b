//! One SQL text for both databases. A use case is an asynchronous function of a [`Db`]. On SQLite
//! it runs to completion on the thread that owns the connection; on PostgreSQL it waits for the
//! server.

use std::borrow::Cow;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use deadpool_postgres::{Client, Transaction};
use idgate_core::UnixMillis;
use rusqlite::{Connection, ToSql as ToSqlite, params_from_iter};
use send_wrapper::SendWrapper;
use tokio_postgres::types::ToSql as ToPostgres;

use super::failure::{Done, Failure};
use super::postgres_statements as postgres;
use super::sql::{millis, time};
use super::types::StoreError;
use crate::columns::{Column, Value};

/// A statement for both databases, with PostgreSQL's numbered parameters. Words in braces are for
/// PostgreSQL only, for example `{FOR UPDATE}`, because SQLite has a single writer. `{seq|rowid}`
/// gives the words for each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sql(&'static str);

impl Sql {
    /// The text for PostgreSQL.
    pub(super) fn for_postgres(self) -> Cow<'static, str> {
        of_postgres(self.0)
    }
}

/// A statement. A test prepares every text passed to this function on both databases.
pub(super) const fn sql(text: &'static str) -> Sql {
    Sql(text)
}

/// The text for SQLite.
pub(super) fn of_sqlite(text: &str) -> String {
    with_words(text, |words| words.split_once('|').map_or("", |(_, own)| own)).replace('$', "?")
}

/// The text for PostgreSQL.
pub(super) fn of_postgres(text: &str) -> Cow<'_, str> {
    if !text.contains('{') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(with_words(text, |words| words.split_once('|').map_or(words, |(own, _)| own)))
}

fn with_words(text: &str, of: fn(&str) -> &str) -> String {
    let mut parts = text.split(['{', '}']);
    let mut whole = String::from(parts.next().unwrap_or_default());
    while let (Some(words), Some(rest)) = (parts.next(), parts.next()) {
        whole.push_str(of(words));
        whole.push_str(rest);
    }
    whole
}

/// The parameters of a statement.
pub(super) type Values<'v> = &'v [&'v dyn Value];

/// The connection that a use case works on.
pub(super) enum Db<'a> {
    /// A connection of this thread. It never moves to another thread: a use case on SQLite ends
    /// where it begins.
    Sqlite(SendWrapper<&'a Connection>),
    /// A connection for reads.
    Client(&'a Client),
    /// A transaction.
    Transaction(&'a Transaction<'a>),
}

/// A row of either database.
pub(super) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

impl Row<'_> {
    /// The column at this index.
    pub(super) fn get<T: Column>(&self, at: usize) -> Done<T> {
        match self {
            Self::Sqlite(row) => Ok(row.get(at)?),
            Self::Postgres(row) => Ok(row.try_get(at)?),
        }
    }

    /// The bytes at this index. SQLite columns are untyped: a value of another type reads as empty.
    pub(super) fn bytes(&self, at: usize) -> Done<Vec<u8>> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(at)?.as_blob().unwrap_or_default().to_vec()),
            Self::Postgres(row) => Ok(row.try_get(at)?),
        }
    }

    /// The text at this index. Another type, or bytes that are not UTF-8, read as empty.
    pub(super) fn text(&self, at: usize) -> Done<String> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(at)?.as_str().unwrap_or_default().to_owned()),
            Self::Postgres(row) => Ok(row.try_get(at)?),
        }
    }

    /// The digest at this index.
    pub(super) fn digest(&self, at: usize) -> Done<[u8; 32]> {
        digest(self.get(at)?)
    }

    /// The digest at this index, if any.
    pub(super) fn digest_if_any(&self, at: usize) -> Done<Option<[u8; 32]>> {
        self.get::<Option<Vec<u8>>>(at)?.map(digest).transpose()
    }

    /// The time at this index.
    pub(super) fn time(&self, at: usize) -> Done<UnixMillis> {
        self.get(at).map(time)
    }

    /// The time at this index, if any.
    pub(super) fn time_if_any(&self, at: usize) -> Done<Option<UnixMillis>> {
        Ok(self.get::<Option<i64>>(at)?.map(time))
    }
}

fn digest(stored: Vec<u8>) -> Done<[u8; 32]> {
    stored.try_into().map_err(|_| Failure::failed("a stored digest has another length"))
}

impl<'a> Db<'a> {
    /// Wraps a connection of this thread.
    pub(super) fn sqlite(main: &'a Connection) -> Self {
        Self::Sqlite(SendWrapper::new(main))
    }

    /// All rows, each read by `read`.
    pub(super) async fn all<T>(
        &self,
        sql: Sql,
        values: Values<'_>,
        read: impl Fn(&Row<'_>) -> Done<T>,
    ) -> Done<Vec<T>> {
        let found = match self {
            Self::Sqlite(main) => {
                let mut statement = main.prepare_cached(&of_sqlite(sql.0))?;
                let mut found = statement.query(params_from_iter(for_sqlite(values)))?;
                let mut all = Vec::new();
                while let Some(row) = found.next()? {
                    all.push(read(&Row::Sqlite(row))?);
                }
                return Ok(all);
            }
            Self::Client(on) => {
                postgres::rows(*on, &of_postgres(sql.0), &for_postgres(values)).await?
            }
            Self::Transaction(on) => {
                postgres::rows(*on, &of_postgres(sql.0), &for_postgres(values)).await?
            }
        };
        found.iter().map(|row| read(&Row::Postgres(row))).collect()
    }

    /// The row, if there is one.
    pub(super) async fn one<T>(
        &self,
        sql: Sql,
        values: Values<'_>,
        read: impl Fn(&Row<'_>) -> Done<T>,
    ) -> Done<Option<T>> {
        Ok(self.all(sql, values, read).await?.into_iter().next())
    }

    /// Executes a statement. Returns how many rows were changed.
    pub(super) async fn run(&self, sql: Sql, values: Values<'_>) -> Done<usize> {
        let changed = match self {
            Self::Sqlite(main) => {
                let mut statement = main.prepare_cached(&of_sqlite(sql.0))?;
                return Ok(statement.execute(params_from_iter(for_sqlite(values)))?);
            }
            Self::Client(on) => {
                postgres::execute(*on, &of_postgres(sql.0), &for_postgres(values)).await?
            }
            Self::Transaction(on) => {
                postgres::execute(*on, &of_postgres(sql.0), &for_postgres(values)).await?
            }
        };
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// The current time by the database's clock; on SQLite, the caller's.
    pub(super) async fn clock(&self, now: UnixMillis) -> Done<i64> {
        if matches!(self, Self::Sqlite(_)) {
            return Ok(millis(now));
        }
        let clock = self.one(Sql("SELECT clock_ms()"), &[], |row| row.get(0)).await?;
        clock.ok_or_else(|| Failure::failed("the database returned no time"))
    }

    /// Runs a command without parameters.
    pub(super) async fn command(&self, text: &'static str) -> Done<()> {
        match self {
            Self::Sqlite(main) => Ok(main.execute_batch(text)?),
            Self::Client(on) => Ok(on.batch_execute(text).await?),
            Self::Transaction(on) => Ok(on.batch_execute(text).await?),
        }
    }

    /// The same for PostgreSQL only: SQLite has a single writer.
    pub(super) async fn lock(&self, text: &'static str) -> Done<()> {
        if matches!(self, Self::Sqlite(_)) { Ok(()) } else { self.command(text).await }
    }
}

fn for_sqlite<'v>(values: Values<'v>) -> impl Iterator<Item = &'v dyn ToSqlite> {
    fn value(value: &dyn Value) -> &dyn ToSqlite {
        value
    }
    values.iter().map(|it| value(*it))
}

fn for_postgres<'v>(values: Values<'v>) -> Vec<&'v (dyn ToPostgres + Sync)> {
    fn value(value: &dyn Value) -> &(dyn ToPostgres + Sync) {
        value
    }
    values.iter().map(|it| value(*it)).collect()
}

/// The outcome of a use case on SQLite, which never has to wait.
pub(super) fn at_once<T>(work: impl Future<Output = Done<T>>) -> Result<T, StoreError> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Ok(done?),
        Poll::Pending => {
            debug_assert!(false, "a use case waits on SQLite");
            Err(StoreError::Failed("a use case waits on SQLite".into()))
        }
    }
}

/// The outcome of a use case that needs one snapshot of SQLite, so that a change in between does
/// not show.
pub(super) fn at_one_moment<T>(
    main: &Connection,
    work: impl AsyncFnOnce(&Db<'_>) -> Done<T>,
) -> Result<T, StoreError> {
    let moment = main.unchecked_transaction()?;
    let read = at_once(work(&Db::sqlite(&moment)))?;
    moment.finish()?;
    Ok(read)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_in_braces_are_chosen_by_database() {
        for (text, sqlite, postgres) in [
            ("SELECT $2, $1", "SELECT ?2, ?1", "SELECT $2, $1"),
            ("SELECT a FROM t {FOR UPDATE}", "SELECT a FROM t ", "SELECT a FROM t FOR UPDATE"),
            ("ORDER BY {seq|rowid} DESC", "ORDER BY rowid DESC", "ORDER BY seq DESC"),
            ("{CAST(}a{ AS json)}", "a", "CAST(a AS json)"),
        ] {
            assert_eq!((of_sqlite(text).as_str(), &*of_postgres(text)), (sqlite, postgres));
        }
    }

    #[test]
    fn parameters_keep_their_numbers_on_sqlite() {
        let main = Connection::open_in_memory().unwrap();
        let db = Db::sqlite(&main);
        let read = |row: &Row<'_>| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?));
        let found = at_once(db.one(Sql("SELECT $2, $1"), &[&1_i64, &2_i64], read));
        assert_eq!(found.unwrap(), Some((2, 1)));
    }

    #[test]
    fn a_failing_step_rolls_back_the_whole_use_case() {
        let main = Connection::open_in_memory().unwrap();
        main.execute_batch("CREATE TABLE t (n INTEGER UNIQUE)").unwrap();
        let change = main.unchecked_transaction().unwrap();
        let db = Db::sqlite(&change);
        let twice = async {
            db.run(Sql("INSERT INTO t VALUES ($1)"), &[&1_i64]).await?;
            db.run(Sql("INSERT INTO t VALUES ($1)"), &[&1_i64]).await
        };
        assert!(matches!(at_once(twice), Err(StoreError::Failed(_))));
        drop(db);
        drop(change);
        let count = at_once(
            Db::sqlite(&main).one(Sql("SELECT count(*) FROM t"), &[], |row| row.get::<i64>(0)),
        );
        assert_eq!(count.unwrap(), Some(0));
    }
}
