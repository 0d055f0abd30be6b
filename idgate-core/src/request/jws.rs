//! Signatures on requests, by a key with a name or a certificate (RFC 7515, RFC 9101 5).

use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::codec::base64url;
use crate::crypto::{RequestSigner, SignerUnavailable, sign_es256};
use crate::request::verifier_info::VerifierInfo;

/// The protected header of a signed request.
#[derive(Serialize)]
pub(super) struct Header<'k> {
    alg: &'static str,
    typ: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<&'k str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    x5c: Vec<String>,
    /// Present if there are several signatures (OpenID4VP A.3.2.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'k str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    verifier_info: &'k [VerifierInfo],
}

impl<'k> Header<'k> {
    /// Identifies the key by its name, or by its certificate (RFC 7515 4.1.6: not base64url, and
    /// padded).
    pub(super) fn of(signer: &'k dyn RequestSigner) -> Self {
        let chain = signer.certificate_chain();
        Self {
            alg: signer.alg().name(),
            typ: "oauth-authz-req+jwt",
            kid: chain.is_empty().then(|| signer.key_id()),
            x5c: chain.iter().map(|certificate| STANDARD.encode(certificate)).collect(),
            client_id: None,
            verifier_info: &[],
        }
    }

    /// The header of one of several signatures, with its own client identifier.
    pub(super) fn named(
        signer: &'k dyn RequestSigner,
        client_id: &'k str,
        verifier_info: &'k [VerifierInfo],
    ) -> Self {
        Self { client_id: Some(client_id), verifier_info, ..Self::of(signer) }
    }
}

/// The signed part in base64url. Strings, numbers and lists of them can always be written as JSON.
pub(super) fn encoded(part: &impl Serialize) -> String {
    base64url::encode(&serde_json::to_vec(part).unwrap_or_default())
}

/// The signature over `protected` and `payload`, each in base64url.
///
/// # Errors
/// The key cannot be used now, or the result is not an ES256 signature.
pub(super) fn signature(
    signer: &dyn RequestSigner,
    protected: &str,
    payload: &str,
) -> Result<String, SignerUnavailable> {
    let signature = sign_es256(signer, [protected, ".", payload].concat().as_bytes())?;
    Ok(base64url::encode(&signature))
}

/// A compact JWS.
///
/// # Errors
/// Those of [`signature`].
pub(super) fn compact(
    signer: &dyn RequestSigner,
    claims: &impl Serialize,
) -> Result<String, SignerUnavailable> {
    let (protected, payload) = (encoded(&Header::of(signer)), encoded(claims));
    let signature = signature(signer, &protected, &payload)?;
    Ok([protected, payload, signature].join("."))
}
