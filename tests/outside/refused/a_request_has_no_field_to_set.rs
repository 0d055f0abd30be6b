//! E0609: a request is changed by its own methods, which check.
pub fn longer(mut request: idgate_core::Request) -> idgate_core::Request {
    request.ttl_ms = u64::MAX;
    request
}
