//! Statements on PostgreSQL, prepared once per connection.

use deadpool_postgres::GenericClient;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::failure::Done;

/// The parameter values of a statement.
pub(crate) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// All rows.
pub(crate) async fn rows(
    on: &impl GenericClient,
    sql: &str,
    parameters: Parameters<'_>,
) -> Done<Vec<Row>> {
    let statement = on.prepare_cached(sql).await?;
    Ok(on.query(&statement, parameters).await?)
}

/// The row, if there is one.
pub(crate) async fn row(
    on: &impl GenericClient,
    sql: &str,
    parameters: Parameters<'_>,
) -> Done<Option<Row>> {
    let statement = on.prepare_cached(sql).await?;
    Ok(on.query_opt(&statement, parameters).await?)
}

/// Executes a statement. Returns how many rows were changed.
pub(crate) async fn execute(
    on: &impl GenericClient,
    sql: &str,
    parameters: Parameters<'_>,
) -> Done<u64> {
    let statement = on.prepare_cached(sql).await?;
    Ok(on.execute(&statement, parameters).await?)
}

/// Prepares statements that wait for locks and are sent together. Only prepared statements run in
/// the order in which they are sent.
pub(crate) async fn prepare(on: &impl GenericClient, statements: &[&str]) -> Done<()> {
    for sql in statements {
        on.prepare_cached(sql).await?;
    }
    Ok(())
}
