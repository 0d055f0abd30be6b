//! The signed authorization request (RFC 9101, OpenID4VP 5.8, decisions 5).

use alloc::string::String;
use core::fmt;

use serde::Serialize;

use crate::codec::base64url;
use crate::crypto::{ContentEncryption, EcKey, PublicKey, RequestSigner, SignerUnavailable};
use crate::request::parameters::RequestParameters;
use crate::request::presentation_definition::{Format, PresentationDefinition};
use crate::time::UnixMillis;

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

/// What a Request Object says beside the parameters of every request.
pub(crate) struct RequestObject<'r> {
    pub(crate) parameters: RequestParameters<'r>,
    pub(crate) issued_at: UnixMillis,
    pub(crate) expires_at: UnixMillis,
    /// What the answer is to be encrypted to.
    pub(crate) encryption_key: &'r PublicKey,
    /// The `kid` of that key.
    pub(crate) kid: String,
    /// Echoed (OpenID4VP 5.10).
    pub(crate) wallet_nonce: Option<&'r str>,
}

impl RequestObject<'_> {
    /// The object, signed.
    ///
    /// # Errors
    /// The key cannot be used now, or gives something else than an ES256 signature.
    pub(crate) fn sign(
        self,
        signer: &dyn RequestSigner,
    ) -> Result<RequestObjectJwt, SignerUnavailable> {
        sign(signer, &Claims::of(self))
    }
}

impl<'r> Claims<'r> {
    fn of(object: RequestObject<'r>) -> Self {
        let RequestParameters { client_id, response_uri, nonce, state, definition_id, request } =
            object.parameters;
        Self {
            client_id,
            response_uri,
            response_type: "vp_token",
            response_mode: "direct_post.jwt",
            nonce,
            state,
            aud: SELF_ISSUED,
            iat: object.issued_at.as_secs(),
            exp: object.expires_at.as_secs(),
            presentation_definition: PresentationDefinition::new(definition_id, request),
            client_metadata: ClientMetadata {
                vp_formats: Format::of_request(request),
                jwks: Jwks {
                    keys: [Jwk {
                        key: EcKey::new(object.encryption_key),
                        r#use: "enc",
                        alg: "ECDH-ES",
                        kid: object.kid,
                    }],
                },
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
) -> Result<RequestObjectJwt, SignerUnavailable> {
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
    let signature = signer.sign(jwt.as_bytes())?;
    if signature.len() != SIGNATURE_LEN {
        let why = "the signer gave no raw signature of 64 bytes";
        return Err(SignerUnavailable::new(why));
    }
    jwt.push('.');
    jwt.push_str(&base64url::encode(&signature));
    Ok(RequestObjectJwt(jwt))
}
