//! E0277: a text becomes a request by `Request::from_json`, which checks.
pub fn read(text: &str) -> serde_json::Result<idgate_core::Request> {
    serde_json::from_str::<idgate_core::Request>(text)
}
