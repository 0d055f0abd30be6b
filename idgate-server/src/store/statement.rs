//! Statements that both databases understand, and rows that are read alike. Parameters are numbered as
//! PostgreSQL does.

use rusqlite::types::FromSql as FromSqlite;
use rusqlite::{Connection, Params, Row, ToSql as ToSqlite, params_from_iter};
use tokio_postgres::types::{FromSqlOwned as FromPostgres, ToSql as ToPostgres};

use super::interface::StoreError;

/// What may stand for a parameter.
pub(super) trait Value: ToSqlite + ToPostgres + Send + Sync {}

impl<T: ToSqlite + ToPostgres + Send + Sync> Value for T {}

/// What may stand in a column.
pub(super) trait Column: FromSqlite + FromPostgres {}

impl<T: FromSqlite + FromPostgres> Column for T {}

/// A row of either.
pub(super) trait Columns {
    /// Why a column cannot be read.
    type Error;

    /// The column at this place.
    fn column<T: Column>(&self, at: usize) -> Result<T, Self::Error>;
}

impl Columns for Row<'_> {
    type Error = rusqlite::Error;

    fn column<T: Column>(&self, at: usize) -> Result<T, Self::Error> {
        self.get(at)
    }
}

impl Columns for tokio_postgres::Row {
    type Error = tokio_postgres::Error;

    fn column<T: Column>(&self, at: usize) -> Result<T, Self::Error> {
        self.try_get(at)
    }
}

/// A statement that changes rows.
pub(super) struct Statement<'v> {
    pub(super) sql: &'static str,
    values: Vec<Box<dyn Value + 'v>>,
}

impl<'v> Statement<'v> {
    pub(super) const fn new(sql: &'static str) -> Self {
        Self { sql, values: Vec::new() }
    }

    /// With its next parameter.
    pub(super) fn with(mut self, value: impl Value + 'v) -> Self {
        self.values.push(Box::new(value));
        self
    }

    /// What PostgreSQL takes for its parameters.
    pub(super) fn for_postgres(&self) -> Vec<&(dyn ToPostgres + Sync)> {
        self.values.iter().map(|value| -> &(dyn ToPostgres + Sync) { &**value }).collect()
    }

    /// Runs it in SQLite; how many rows were changed.
    pub(super) fn run(&self, main: &Connection) -> Result<usize, StoreError> {
        let values = self.values.iter().map(|value| -> &dyn ToSqlite { &**value });
        Ok(main.prepare_cached(&of_sqlite(self.sql))?.execute(params_from_iter(values))?)
    }
}

/// All rows in SQLite.
pub(super) fn rows<T, E>(
    main: &Connection,
    sql: &str,
    parameters: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, E>,
) -> Result<Vec<T>, StoreError>
where
    StoreError: From<E>,
{
    let mut statement = main.prepare_cached(&of_sqlite(sql))?;
    let mut found = statement.query(parameters)?;
    let mut all = Vec::new();
    while let Some(row) = found.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

/// A statement as SQLite numbers its parameters.
pub(super) fn of_sqlite(sql: &str) -> String {
    sql.replace('$', "?")
}
