//! Credential formats. They do not know each other; `verify` is the only place that knows both.

pub mod mdoc;
pub mod sd_jwt_vc;
