//! The description of the HTTP interface (specification 9): OpenAPI 3.1.0 in both of its forms.

/// As it is kept by hand.
pub const YAML: &str = include_str!("../openapi.yaml");

/// The same, rendered when this crate is built.
pub const JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));
