//! Parameter and column types that both databases support.

use rusqlite::ToSql as ToSqlite;
use rusqlite::types::FromSql as FromSqlite;
use tokio_postgres::types::{FromSqlOwned as FromPostgres, ToSql as ToPostgres};

/// A type that parameters may have.
pub(super) trait Value: ToSqlite + ToPostgres + Send + Sync {}

impl<T: ToSqlite + ToPostgres + Send + Sync> Value for T {}

/// A type that columns may have.
pub(super) trait Column: FromSqlite + FromPostgres {}

impl<T: FromSqlite + FromPostgres> Column for T {}
