//! Values and columns that both databases have.

use rusqlite::ToSql as ToSqlite;
use rusqlite::types::FromSql as FromSqlite;
use tokio_postgres::types::{FromSqlOwned as FromPostgres, ToSql as ToPostgres};

/// What may stand for a parameter.
pub(super) trait Value: ToSqlite + ToPostgres + Send + Sync {}

impl<T: ToSqlite + ToPostgres + Send + Sync> Value for T {}

/// What may stand in a column.
pub(super) trait Column: FromSqlite + FromPostgres {}

impl<T: FromSqlite + FromPostgres> Column for T {}
