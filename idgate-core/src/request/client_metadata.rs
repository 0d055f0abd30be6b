//! `client_metadata` of OpenID4VP 1.0 (5.1): exactly three members, and the key for the answer,
//! which drafts offer too.

use alloc::string::String;

use serde::Serialize;

use crate::codec::base64url;
use crate::crypto::{Alg, ContentEncryption, EcKey, PublicKey};
use crate::ids::CredentialFormat;
use crate::request::presentation_request::PresentationRequest;

/// The algorithms for credentials and holders.
const JOSE: [Alg; 3] = [Alg::Es256, Alg::Es384, Alg::Es512];

/// The same algorithms as COSE numbers, on P-256, P-384 and P-521: those that do not fix the curve,
/// and those of RFC 9864 that do. Wallets compare plain numbers, so both of each pair are listed.
const COSE: [i64; 6] = [-7, -9, -35, -51, -36, -52];

#[derive(Serialize)]
pub(crate) struct ClientMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks: Option<Jwks>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_response_enc_values_supported: Option<[&'static str; 2]>,
    vp_formats_supported: VpFormats,
}

impl ClientMetadata {
    /// The metadata for the formats of `request`, and for answers encrypted to the key, if there is
    /// one.
    pub(crate) fn new(request: &PresentationRequest, encryption_key: Option<&PublicKey>) -> Self {
        Self {
            jwks: encryption_key.map(|key| Jwks::of(key, key_id(key))),
            encrypted_response_enc_values_supported: encryption_key
                .map(|_| ContentEncryption::GCM.map(ContentEncryption::name)),
            vp_formats_supported: VpFormats::of(request),
        }
    }
}

/// The `kid` of an offer's key: no two keys have the same x, and it costs no hash.
pub(crate) fn key_id(key: &PublicKey) -> String {
    base64url::encode(key.coordinates().0)
}

/// A JWK set with the key of an offer.
#[derive(Serialize)]
pub(crate) struct Jwks {
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

impl Jwks {
    pub(crate) fn of(key: &PublicKey, kid: String) -> Self {
        Self { keys: [Jwk { key: EcKey::new(key), r#use: "enc", alg: "ECDH-ES", kid }] }
    }
}

/// The formats of the query and no others (OpenID4VP B.2.2, B.3.4).
#[derive(Serialize)]
struct VpFormats {
    #[serde(rename = "dc+sd-jwt", skip_serializing_if = "Option::is_none")]
    sd_jwt_vc: Option<SdJwtAlgs>,
    #[serde(rename = "mso_mdoc", skip_serializing_if = "Option::is_none")]
    mdoc: Option<MdocAlgs>,
}

#[derive(Serialize)]
struct SdJwtAlgs {
    #[serde(rename = "sd-jwt_alg_values")]
    issuer: [Alg; 3],
    #[serde(rename = "kb-jwt_alg_values")]
    holder: [Alg; 3],
}

/// Without device MACs, which are refused here.
#[derive(Serialize)]
struct MdocAlgs {
    issuerauth_alg_values: [i64; 6],
    deviceauth_alg_values: [i64; 6],
}

impl VpFormats {
    fn of(request: &PresentationRequest) -> Self {
        let asks = |format| request.credentials.iter().any(|asked| asked.format == format);
        Self {
            sd_jwt_vc: asks(CredentialFormat::SdJwtVc)
                .then_some(SdJwtAlgs { issuer: JOSE, holder: JOSE }),
            mdoc: asks(CredentialFormat::Mdoc)
                .then_some(MdocAlgs { issuerauth_alg_values: COSE, deviceauth_alg_values: COSE }),
        }
    }
}
