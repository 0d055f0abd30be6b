//! The signed authorization request (RFC 9101, OpenID4VP 5.8).

use alloc::string::String;
use core::fmt;

use serde::Serialize;

use crate::crypto::{ContentEncryption, RequestSigner, SignerUnavailable};
use crate::request::client_metadata::Jwks;
use crate::request::dcql_request;
use crate::request::jws;
use crate::request::parameters::{RequestParameters, SELF_ISSUED};
use crate::request::presentation_definition::{Format, PresentationDefinition};
use crate::request::profile::Profile;
use crate::time::UnixMillis;

/// A Request Object as a compact JWS; its media type is [`RequestObjectJwt::MEDIA_TYPE`].
#[derive(Clone, Eq, PartialEq)]
pub struct RequestObjectJwt(String);

impl RequestObjectJwt {
    /// RFC 9101 5.2.3
    pub const MEDIA_TYPE: &'static str = "application/oauth-authz-req+jwt";

    /// The text. It contains nonce and state: keep it out of logs.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Omits the request.
impl fmt::Debug for RequestObjectJwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestObjectJwt({} bytes)", self.0.len())
    }
}

/// The content of a Request Object in addition to the parameters of every request.
pub(crate) struct ObjectToSign<'r> {
    pub(crate) parameters: RequestParameters<'r>,
    pub(crate) issued_at: UnixMillis,
    pub(crate) expires_at: UnixMillis,
    /// The `kid` of the key in `draft`: its thumbprint.
    pub(crate) draft_kid: Option<String>,
    /// The wallet's nonce, which the object repeats (OpenID4VP 5.10).
    pub(crate) wallet_nonce: Option<&'r str>,
}

impl ObjectToSign<'_> {
    /// The object, signed.
    ///
    /// # Errors
    /// The key cannot be used now, or the result is not an ES256 signature.
    pub(crate) fn sign(
        self,
        signer: &dyn RequestSigner,
    ) -> Result<RequestObjectJwt, SignerUnavailable> {
        match self.parameters.profile {
            Profile::Draft => jws::compact(signer, &Claims::of(self)),
            Profile::V1_0 | Profile::Haip => jws::compact(
                signer,
                &dcql_request::Claims::new(
                    self.parameters,
                    self.issued_at,
                    self.expires_at,
                    self.wallet_nonce,
                ),
            ),
        }
        .map(RequestObjectJwt)
    }
}

impl<'r> Claims<'r> {
    fn of(object: ObjectToSign<'r>) -> Self {
        let response_mode = object.parameters.response_mode();
        let RequestParameters {
            client_id,
            response_uri,
            nonce,
            state,
            definition_id,
            request,
            encryption_key,
            ..
        } = object.parameters;
        let kid = object.draft_kid.unwrap_or_default();
        Self {
            client_id,
            response_uri,
            response_type: "vp_token",
            response_mode,
            nonce,
            state,
            aud: SELF_ISSUED,
            iat: object.issued_at.as_secs(),
            exp: object.expires_at.as_secs(),
            presentation_definition: PresentationDefinition::new(definition_id, request),
            client_metadata: ClientMetadata {
                vp_formats: Format::of_request(request),
                jwks: encryption_key.map(|key| Jwks::of(key, kid)),
                authorization_encrypted_response_alg: "ECDH-ES",
                authorization_encrypted_response_enc: ContentEncryption::A256Gcm.name(),
                encrypted_response_enc_values_supported: ContentEncryption::ALL
                    .map(ContentEncryption::name),
            },
            wallet_nonce: object.wallet_nonce,
        }
    }
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

/// The names of both generations: wallets ignore unknown ones.
#[derive(Serialize)]
struct ClientMetadata {
    vp_formats: Format,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks: Option<Jwks>,
    authorization_encrypted_response_alg: &'static str,
    authorization_encrypted_response_enc: &'static str,
    encrypted_response_enc_values_supported: [&'static str; 3],
}
