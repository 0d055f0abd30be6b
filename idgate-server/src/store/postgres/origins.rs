//! Where a client's own pages are from.

use deadpool_postgres::GenericClient;

use super::error::Done;
use super::sql::rows;

/// In alphabetical order.
pub(super) async fn of_client(on: &impl GenericClient, client_id: &str) -> Done<Vec<String>> {
    let sql = "SELECT origin FROM client_origins WHERE client_id = $1 ORDER BY origin";
    rows(on, sql, &[&client_id]).await?.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
