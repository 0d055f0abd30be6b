//! The pieces of the gateway.
