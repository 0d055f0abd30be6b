//! JSON bodies from tenants: media type and size are checked before parsing (decisions 17).

use idgate_core::limits::MAX_CREATE_BYTES;

use super::body::{self, BodyError, Received};
use super::call::Call;
use super::error::HttpError;

/// Reads a body of at most 64 KiB that is declared as JSON.
pub(crate) async fn read(call: Call<'_>) -> Result<Received, HttpError> {
    body::check_is_json(&call.head.headers)?;
    call.read_body(MAX_CREATE_BYTES).await.map_err(BodyError::refuse_64_kib)
}
