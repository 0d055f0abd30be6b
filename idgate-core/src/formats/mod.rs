//! Credential formats. They do not know each other; `verify` is the only place that knows both.

pub(crate) mod mdoc;
pub(crate) mod sd_jwt_vc;
