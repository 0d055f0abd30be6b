//! What every authorization request says, in plain arguments: who asks is for others to know.

use crate::request::presentation_request::PresentationRequest;

/// What an authorization request says, however it reaches the wallet.
#[derive(Clone, Copy)]
pub(crate) struct RequestParameters<'r> {
    pub(crate) client_id: &'r str,
    pub(crate) response_uri: &'r str,
    pub(crate) nonce: &'r str,
    pub(crate) state: &'r str,
    /// The id of the presentation definition; a submission must name it.
    pub(crate) definition_id: &'r str,
    /// What is asked for.
    pub(crate) request: &'r PresentationRequest,
}
