//! The Request Object of a session (RFC 9101).

use crate::error::NotFetched;
use crate::limits::MAX_WALLET_NONCE_CHARS;
use crate::request::{ObjectToSign, Profile};
use crate::session::{EncryptionKey, Session, Status};
use crate::time::UnixMillis;
use crate::verifier::{Asked, RequestObject, Verifier};

impl Verifier {
    /// Returns the Request Object of an offer by reference. A wallet may fetch it again while the
    /// session is CREATED or PENDING, and gets the same nonce and the same key. The first fetch
    /// makes the session PENDING.
    ///
    /// # Errors
    /// There is nothing to fetch, `wallet_nonce` is too long, or the key cannot sign now.
    pub fn request_object(
        &self,
        session: &Session,
        asked: &Asked<'_>,
        now: UnixMillis,
    ) -> Result<RequestObject, NotFetched> {
        let wallet_nonce = asked.wallet_nonce.as_deref();
        if !matches!(session.status_at(now), Status::Created | Status::Pending) {
            return Err(NotFetched::NotFetchable);
        }
        if wallet_nonce.is_some_and(|nonce| nonce.chars().count() > MAX_WALLET_NONCE_CHARS) {
            return Err(NotFetched::WalletNonce);
        }
        let offer = session.offer_at(asked.to).ok_or(NotFetched::NotFetchable)?;
        if offer.request_uri().is_none() || offer.lacks_key() {
            return Err(NotFetched::NotFetchable);
        }
        let kid = |key: &EncryptionKey| key.kid(offer.profile(), self.provider());
        let is_draft = offer.profile() == Profile::Draft;
        let object = ObjectToSign {
            parameters: session.request_parameters(offer),
            issued_at: now,
            expires_at: session.expires_at,
            draft_kid: offer.encryption_key.as_ref().filter(|_| is_draft).map(kid),
            wallet_nonce,
        };
        let form = offer.shape.client_id_form;
        let signer = self.signers.of(form, offer.signer()).map_err(NotFetched::Signer)?;
        let jwt = object.sign(signer).map_err(NotFetched::Signer)?;
        Ok(RequestObject { transition: session.followed(now), jwt })
    }
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
