//! Values and columns that both databases have.

use rusqlite::types::FromSql as FromSqlite;
use rusqlite::{Row, ToSql as ToSqlite};
use tokio_postgres::types::{FromSqlOwned as FromPostgres, ToSql as ToPostgres};

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
