//! E0063: a presentation is compared with the client identifier, the nonce and the time of its request.
pub fn sent<'a>(client_id: &'a str, nonce: &'a str) -> idgate_core::Sent<'a> {
    idgate_core::Sent { client_id, nonce }
}
