//! The numbers of what is read rarely and used by every request.

use deadpool_postgres::GenericClient;

use super::error::{Done, Failure};
use super::sql::row;
use crate::store::numbers::Numbers;

/// Those of now, or of the moment of a transaction.
pub(super) async fn read(on: &impl GenericClient) -> Done<Numbers> {
    let found = row(on, Numbers::SQL, &[]).await?;
    let found = found.ok_or_else(|| Failure::failed("the database does not count"))?;
    Ok(Numbers::of(&found)?)
}
