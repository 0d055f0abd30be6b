//! The Request Object of a session (RFC 9101, decisions 5).

use crate::error::RequestObjectError;
use crate::limits::MAX_WALLET_NONCE_CHARS;
use crate::request::{Profile, RequestObject, RequestObjectJwt};
use crate::session::{EncryptionKey, Session, Status, Transition};
use crate::time::UnixMillis;
use crate::verifier::Verifier;

impl Verifier {
    /// The Request Object of an offer by reference. `to` is the last segment of the path that the wallet
    /// fetches: the id of the session or of an offer. A wallet may fetch it again while the session is
    /// CREATED or PENDING, and finds the same nonce and the same key in it. The first fetch makes the session PENDING: commit the
    /// transition, if there is one, before answering.
    ///
    /// `wallet_nonce` is what the wallet sent, if it did (OpenID4VP 5.10).
    ///
    /// # Errors
    /// There is nothing to fetch, `wallet_nonce` is too long, or the key cannot sign now.
    pub fn request_object(
        &self,
        session: &Session,
        to: &str,
        wallet_nonce: Option<&str>,
        now: UnixMillis,
    ) -> Result<(Option<Transition>, RequestObjectJwt), RequestObjectError> {
        if !matches!(session.status_at(now), Status::Created | Status::Pending) {
            return Err(RequestObjectError::NotFetchable);
        }
        if wallet_nonce.is_some_and(|nonce| nonce.chars().count() > MAX_WALLET_NONCE_CHARS) {
            return Err(RequestObjectError::WalletNonce);
        }
        let offer = session.offer_at(to).ok_or(RequestObjectError::NotFetchable)?;
        if offer.request_uri().is_none() || offer.lacks_key() {
            return Err(RequestObjectError::NotFetchable);
        }
        let kid = |key: &EncryptionKey| key.kid(offer.profile(), &self.provider);
        let is_draft = offer.profile() == Profile::Draft;
        let object = RequestObject {
            parameters: session.request_parameters(offer),
            issued_at: now,
            expires_at: session.expires_at,
            draft_kid: offer.encryption_key.as_ref().filter(|_| is_draft).map(kid),
            wallet_nonce,
        };
        let form = offer.shape.client_id_form;
        let signer = self.signers.of(form, offer.signer()).map_err(RequestObjectError::Signer)?;
        let jwt = object.sign(signer).map_err(RequestObjectError::Signer)?;
        Ok((session.followed(now), jwt))
    }
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
