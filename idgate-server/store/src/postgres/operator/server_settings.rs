//! Reads the database's settings on this connection, for `idgate doctor`.

use super::PostgresOperator;
use crate::database_settings::DatabaseSettings;
use crate::postgres_statements::rows;
use crate::types::StoreError;

impl PostgresOperator {
    /// The settings that `doctor` checks, with the values in force for one of the gateway's
    /// connections.
    ///
    /// # Errors
    /// The database failed.
    pub fn server_settings(&self) -> Result<DatabaseSettings, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let names = DatabaseSettings::names();
            let sql = "SELECT name, setting FROM pg_settings WHERE name = ANY($1)";
            let found = rows(&client, sql, &[&names]).await?;
            let found: Result<_, _> =
                found.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect();
            found.map(DatabaseSettings).map_err(|error: tokio_postgres::Error| error.into())
        })
    }
}
