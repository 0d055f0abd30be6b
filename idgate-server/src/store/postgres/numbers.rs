//! The numbers of what is read rarely and used by every request.

use deadpool_postgres::GenericClient;

use super::error::{Done, Failure};
use super::sql::row;
use crate::store::numbers::Numbers;
use crate::store::sql::unsigned;

/// Those of now, or of the moment of a transaction.
pub(super) async fn read(on: &impl GenericClient) -> Done<Numbers> {
    let found = row(on, Numbers::SQL, &[]).await?;
    let found = found.ok_or_else(|| Failure::failed("the database does not count"))?;
    let number = |column: usize| {
        Ok::<_, Failure>(found.try_get::<_, Option<i64>>(column)?.map_or(0, unsigned))
    };
    Ok(Numbers { trust: number(0)?, gateway_keys: number(1)?, certificates: number(2)? })
}
