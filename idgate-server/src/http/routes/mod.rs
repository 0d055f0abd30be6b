//! One file for each group of endpoints. It turns a request into a use case, and the outcome into a
//! response.

pub(crate) mod api_keys;
pub(crate) mod audit;
pub(crate) mod dc_api;
pub(crate) mod health;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod page;
pub(crate) mod request_object;
pub(crate) mod sessions;
pub(crate) mod stream;
pub(crate) mod table;
pub(crate) mod wallet;
pub(crate) mod webhooks;
pub(crate) mod well_known;
