//! The Request Object of a session (RFC 9101, decisions 5).

use crate::crypto::{RequestSigner, SignerUnavailable};
use crate::error::RequestObjectError;
use crate::ids::OfferId;
use crate::limits::MAX_WALLET_NONCE_CHARS;
use crate::request::{RequestObject, RequestObjectJwt};
use crate::session::{Session, Status, Transition};
use crate::time::UnixMillis;
use crate::verifier::Verifier;

impl Verifier {
    /// The Request Object of an offer by reference: of the session's own, or of the one that is named. A wallet may fetch it again while the
    /// session is CREATED or PENDING, and finds the same nonce and the same key in it. The first
    /// fetch makes the session PENDING: commit the transition, if there is one, before answering.
    ///
    /// `wallet_nonce` is what the wallet sent, if it did (OpenID4VP 5.10).
    ///
    /// # Errors
    /// There is nothing to fetch, `wallet_nonce` is too long, or the key cannot sign now.
    pub fn request_object(
        &self,
        session: &Session,
        offer: Option<&OfferId>,
        wallet_nonce: Option<&str>,
        now: UnixMillis,
    ) -> Result<(Option<Transition>, RequestObjectJwt), RequestObjectError> {
        if !matches!(session.status_at(now), Status::Created | Status::Pending) {
            return Err(RequestObjectError::NotFetchable);
        }
        if wallet_nonce.is_some_and(|nonce| nonce.chars().count() > MAX_WALLET_NONCE_CHARS) {
            return Err(RequestObjectError::WalletNonce);
        }
        let offer = session.offer(offer).ok_or(RequestObjectError::NotFetchable)?;
        // An offer whose request travels by value has no key, and no Request Object either.
        let key = offer.encryption_key.as_ref().ok_or(RequestObjectError::NotFetchable)?;
        let object = RequestObject {
            parameters: session.request_parameters(offer),
            issued_at: now,
            expires_at: session.expires_at,
            encryption_key: key.public(),
            kid: key.kid(&self.provider),
            wallet_nonce,
        };
        let jwt = object.sign(self.signer()?).map_err(RequestObjectError::Signer)?;
        Ok((session.followed(now), jwt))
    }

    fn signer(&self) -> Result<&dyn RequestSigner, RequestObjectError> {
        let why = "this verifier has none; give it the one of the jar profile";
        let missing = || RequestObjectError::Signer(SignerUnavailable::new(why));
        self.signer.as_deref().ok_or_else(missing)
    }
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
