//! Credential formats. They are independent of each other; only `verify` uses both.

pub(crate) mod mdoc;
pub(crate) mod sd_jwt_vc;
