//! The signed authorization request (RFC 9101, OpenID4VP 5.8, decisions 5).

use alloc::string::String;
use core::fmt;

use serde::Serialize;

use crate::codec::base64url;
use crate::crypto::{ContentEncryption, EcKey, RequestSigner, SignerUnavailable};
use crate::error::RequestObjectError;
use crate::limits::MAX_WALLET_NONCE_CHARS;
use crate::request::presentation_definition::{Format, PresentationDefinition};
use crate::session::{Session, Status, Transition};
use crate::time::UnixMillis;
use crate::verifier::Verifier;

/// The audience of a request to a wallet that was not discovered (OpenID4VP 5.8).
const SELF_ISSUED: &str = "https://self-issued.me/v2";

/// A Request Object as a compact JWS, to be served as [`RequestObjectJwt::MEDIA_TYPE`].
#[derive(Clone, Eq, PartialEq)]
pub struct RequestObjectJwt(String);

impl RequestObjectJwt {
    /// RFC 9101 5.2.3
    pub const MEDIA_TYPE: &'static str = "application/oauth-authz-req+jwt";

    /// The text. It carries nonce and state: keep it out of logs.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Never the request.
impl fmt::Debug for RequestObjectJwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestObjectJwt({} bytes)", self.0.len())
    }
}

impl Verifier {
    /// The Request Object of a session in the jar profile. A wallet may fetch it again while the
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
        wallet_nonce: Option<&str>,
        now: UnixMillis,
    ) -> Result<(Option<Transition>, RequestObjectJwt), RequestObjectError> {
        if !matches!(session.status_at(now), Status::Created | Status::Pending) {
            return Err(RequestObjectError::NotFetchable);
        }
        if wallet_nonce.is_some_and(|nonce| nonce.chars().count() > MAX_WALLET_NONCE_CHARS) {
            return Err(RequestObjectError::WalletNonce);
        }
        let claims = self.claims(session, wallet_nonce, now);
        let claims = claims.ok_or(RequestObjectError::NotFetchable)?;
        let jwt = sign(self.signer()?, &claims)?;
        Ok((session.followed(now), jwt))
    }

    fn signer(&self) -> Result<&dyn RequestSigner, RequestObjectError> {
        let why = "this verifier has none; give it the one of the jar profile";
        let missing = || RequestObjectError::Signer(SignerUnavailable::new(why));
        self.signer.as_deref().ok_or_else(missing)
    }

    /// `None`: the session has no key, so no Request Object either.
    fn claims<'c>(
        &self,
        session: &'c Session,
        wallet_nonce: Option<&'c str>,
        now: UnixMillis,
    ) -> Option<Claims<'c>> {
        let key = session.encryption_key.as_ref()?;
        let request = &session.request;
        Some(Claims {
            client_id: session.client_identifier.as_str(),
            response_uri: &session.response_uri,
            response_type: "vp_token",
            response_mode: "direct_post.jwt",
            nonce: session.nonce.expose(),
            state: session.state.expose(),
            aud: SELF_ISSUED,
            iat: now.as_secs(),
            exp: session.expires_at.as_secs(),
            presentation_definition: PresentationDefinition::new(session.definition_id(), request),
            client_metadata: ClientMetadata {
                vp_formats: Format::of_request(request),
                jwks: Jwks {
                    keys: [Jwk {
                        key: EcKey::new(key.public()),
                        r#use: "enc",
                        alg: "ECDH-ES",
                        kid: key.kid(&self.provider),
                    }],
                },
                authorization_encrypted_response_alg: "ECDH-ES",
                authorization_encrypted_response_enc: ContentEncryption::A256Gcm.name(),
                encrypted_response_enc_values_supported: ContentEncryption::ALL
                    .map(ContentEncryption::name),
            },
            wallet_nonce,
        })
    }
}

#[derive(Serialize)]
struct Header<'k> {
    alg: &'static str,
    typ: &'static str,
    kid: &'k str,
}

#[derive(Serialize)]
struct Claims<'c> {
    client_id: &'c str,
    response_uri: &'c str,
    response_type: &'static str,
    response_mode: &'static str,
    nonce: &'c str,
    state: &'c str,
    aud: &'static str,
    iat: u64,
    exp: u64,
    presentation_definition: PresentationDefinition<'c>,
    client_metadata: ClientMetadata,
    #[serde(skip_serializing_if = "Option::is_none")]
    wallet_nonce: Option<&'c str>,
}

/// Both generations of names: wallets ignore those that they do not know.
#[derive(Serialize)]
struct ClientMetadata {
    vp_formats: Format,
    jwks: Jwks,
    authorization_encrypted_response_alg: &'static str,
    authorization_encrypted_response_enc: &'static str,
    encrypted_response_enc_values_supported: [&'static str; 3],
}

#[derive(Serialize)]
struct Jwks {
    keys: [Jwk; 1],
}

#[derive(Serialize)]
struct Jwk {
    #[serde(flatten)]
    key: EcKey,
    r#use: &'static str,
    alg: &'static str,
    kid: String,
}

fn sign(
    signer: &dyn RequestSigner,
    claims: &Claims<'_>,
) -> Result<RequestObjectJwt, RequestObjectError> {
    /// r‖s on P-256
    const SIGNATURE_LEN: usize = 64;
    let header =
        Header { alg: signer.alg().name(), typ: "oauth-authz-req+jwt", kid: signer.key_id() };
    // Strings, numbers and lists of them always have a JSON text.
    let encoded = |json: serde_json::Result<alloc::vec::Vec<u8>>| {
        base64url::encode(&json.unwrap_or_default())
    };
    let mut jwt = encoded(serde_json::to_vec(&header));
    jwt.push('.');
    jwt.push_str(&encoded(serde_json::to_vec(claims)));
    let signature = signer.sign(jwt.as_bytes()).map_err(RequestObjectError::Signer)?;
    if signature.len() != SIGNATURE_LEN {
        let why = "the signer gave no raw signature of 64 bytes";
        return Err(RequestObjectError::Signer(SignerUnavailable::new(why)));
    }
    jwt.push('.');
    jwt.push_str(&base64url::encode(&signature));
    Ok(RequestObjectJwt(jwt))
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
