//! The parameters that every authorization request has, without those that identify the verifier.

use crate::crypto::PublicKey;
use crate::request::presentation_request::PresentationRequest;
use crate::request::profile::Profile;
use crate::request::verifier_info::VerifierInfo;

/// The audience of a request to a wallet that was not discovered (OpenID4VP 5.8).
pub(super) const SELF_ISSUED: &str = "https://self-issued.me/v2";

/// The parameters of an authorization request, in every request mode.
#[derive(Clone, Copy)]
pub(crate) struct RequestParameters<'r> {
    pub(crate) profile: Profile,
    pub(crate) client_id: &'r str,
    pub(crate) response_uri: &'r str,
    pub(crate) nonce: &'r str,
    pub(crate) state: &'r str,
    /// The key that the answer is encrypted to; `None`: a plain answer.
    pub(crate) encryption_key: Option<&'r PublicKey>,
    /// The id of the presentation definition; a submission must name it.
    pub(crate) definition_id: &'r str,
    /// The tenant's request.
    pub(crate) request: &'r PresentationRequest,
    /// Only for a request under `x509_hash`, which is never by value, because wallets compare it
    /// with the certificate.
    pub(crate) verifier_info: &'r [VerifierInfo],
}

impl RequestParameters<'_> {
    /// OpenID4VP 8.2, 8.3.1.
    pub(crate) fn response_mode(self) -> &'static str {
        match self.encryption_key {
            None => "direct_post",
            Some(_) => "direct_post.jwt",
        }
    }
}
