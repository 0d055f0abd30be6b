//! The documents that the gateway publishes about itself: its `did:web` and its signing keys, as a
//! DID document (DID Core 5, did:web 3.2) and as a JWK set (RFC 7517 5). Both have the same keys,
//! and only public ones.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use serde::Serialize;

use crate::codec::json::json_text;
use crate::codec::{base64url, origin};
use crate::crypto::{CryptoProvider, EcKey, PublicKey};
use crate::error::ConfigError;

/// The path of the [DID document](crate::Verifier::did_document_json) (did:web 3.2).
pub const DID_DOCUMENT_PATH: &str = "/.well-known/did.json";
/// The path of the JWK set with the [keys that sign](crate::Verifier::jwks_json).
pub const JWKS_PATH: &str = "/.well-known/jwks.json";

/// A published signing key: the current one, or an earlier one that sessions were created with.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PublishedKey {
    /// The DID URL of its verification method, which is also the `kid` of signatures by this key.
    pub id: String,
    /// The key.
    pub key: PublicKey,
}

impl PublishedKey {
    /// A key with the DID URL of its verification method.
    pub fn new(id: impl Into<String>, key: PublicKey) -> Self {
        Self { id: id.into(), key }
    }
}

/// Returns the `did:web` of the gateway at `base_url`, for example `did:web:gateway.example%3A8443`
/// (did:web 3.1).
///
/// # Errors
/// `base_url` is not an origin that a gateway may have.
pub fn did_web(base_url: &str) -> Result<String, ConfigError> {
    let origin = origin::of_base_url(base_url).map_err(ConfigError::BaseUrl)?;
    let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
    let mut did = String::from("did:web:");
    for byte in authority.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            did.push(char::from(byte));
        } else {
            let _infallible = write!(did, "%{byte:02X}");
        }
    }
    Ok(did)
}

/// Returns the DID URL of `key` in the document of `did`. The fragment is the thumbprint (RFC
/// 7638), so that no two keys share one.
pub fn key_id(provider: &CryptoProvider, did: &str, key: &PublicKey) -> String {
    [did, "#", &base64url::encode(&key.thumbprint(provider))].concat()
}

/// Returns the DID document of `did`.
pub fn did_document_json(did: &str, keys: &[PublishedKey]) -> String {
    #[derive(Serialize)]
    struct Document<'k> {
        #[serde(rename = "@context")]
        context: [&'static str; 2],
        id: &'k str,
        #[serde(rename = "verificationMethod")]
        verification_method: Vec<Method<'k>>,
        authentication: Vec<&'k str>,
        #[serde(rename = "assertionMethod")]
        assertion_method: Vec<&'k str>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Method<'k> {
        id: &'k str,
        r#type: &'static str,
        controller: &'k str,
        public_key_jwk: EcKey,
    }

    let ids: Vec<&str> = keys.iter().map(|key| &*key.id).collect();
    json_text(&Document {
        context: ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"],
        id: did,
        verification_method: keys
            .iter()
            .map(|key| Method {
                id: &key.id,
                r#type: "JsonWebKey2020",
                controller: did,
                public_key_jwk: EcKey::new(&key.key),
            })
            .collect(),
        authentication: ids.clone(),
        assertion_method: ids,
    })
}

/// Returns the JWK set of the gateway's signing keys.
pub fn jwks_json(keys: &[PublishedKey]) -> String {
    #[derive(Serialize)]
    struct Set<'k> {
        keys: Vec<Jwk<'k>>,
    }

    #[derive(Serialize)]
    struct Jwk<'k> {
        #[serde(flatten)]
        key: EcKey,
        r#use: &'static str,
        alg: &'static str,
        kid: &'k str,
    }

    let keys = keys.iter().map(|published| Jwk {
        key: EcKey::new(&published.key),
        r#use: "sig",
        alg: published.key.alg().name(),
        kid: &published.id,
    });
    json_text(&Set { keys: keys.collect() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::crypto::Es256Key;

    fn published(scalar: u8, id: &str) -> PublishedKey {
        let key = Es256Key::from_scalar(&[scalar; 32]).unwrap();
        PublishedKey::new(id, *key.public_key())
    }

    #[test]
    fn the_did_is_the_host_with_its_port() {
        for (base_url, did) in [
            ("https://gateway.example", "did:web:gateway.example"),
            ("https://Gateway.Example:443", "did:web:gateway.example"),
            ("https://a-b.gateway.example:8443", "did:web:a-b.gateway.example%3A8443"),
            ("https://Bücher.Example:8443", "did:web:xn--bcher-kva.example%3A8443"),
            ("http://localhost:8080", "did:web:localhost%3A8080"),
            ("http://127.0.0.1:8080", "did:web:127.0.0.1%3A8080"),
            ("http://[::1]:8080", "did:web:%5B%3A%3A1%5D%3A8080"),
        ] {
            assert_eq!(did_web(base_url).unwrap(), did);
        }
        assert!(matches!(did_web("gateway.example"), Err(ConfigError::BaseUrl(_))));
    }

    #[test]
    fn the_did_document_has_one_method_for_each_key() {
        let did = "did:web:gateway.example";
        let ids = ["did:web:gateway.example#new", "did:web:gateway.example#old"];
        let keys = [published(1, ids[0]), published(2, ids[1])];
        let document: Value = serde_json::from_str(&did_document_json(did, &keys)).unwrap();
        let jwk = |key: &PublishedKey| {
            let (x, y) = key.key.coordinates();
            json!({"kty": "EC", "crv": "P-256", "x": base64url::encode(x),
                "y": base64url::encode(y)})
        };
        let method = |key: &PublishedKey| {
            json!({"id": key.id, "type": "JsonWebKey2020", "controller": did,
                "publicKeyJwk": jwk(key)})
        };
        let expected = json!({
            "@context": ["https://www.w3.org/ns/did/v1",
                "https://w3id.org/security/suites/jws-2020/v1"],
            "id": did,
            "verificationMethod": [method(&keys[0]), method(&keys[1])],
            "authentication": ids,
            "assertionMethod": ids,
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn both_documents_publish_the_same_keys_under_the_same_ids() {
        let keys = [published(1, "did:web:a#1"), published(2, "did:web:a#2")];
        let set: Value = serde_json::from_str(&jwks_json(&keys)).unwrap();
        let document = did_document_json("did:web:a", &keys);
        let document: Value = serde_json::from_str(&document).unwrap();
        assert_eq!(set["keys"].as_array().unwrap().len(), 2);
        for at in 0..keys.len() {
            let (jwk, method) = (&set["keys"][at], &document["verificationMethod"][at]);
            assert_eq!(jwk["kid"], method["id"]);
            assert_eq!((&jwk["use"], &jwk["alg"]), (&json!("sig"), &json!("ES256")));
            for member in ["kty", "crv", "x", "y"] {
                assert_eq!(jwk[member], method["publicKeyJwk"][member]);
            }
            assert_eq!(jwk.as_object().unwrap().len(), 7, "{jwk}");
        }
    }

    #[cfg(feature = "rustcrypto")]
    #[test]
    fn a_key_is_named_after_its_thumbprint() {
        let provider = crate::crypto::rustcrypto::PROVIDER;
        let (one, two) = (published(1, ""), published(2, ""));
        let id = key_id(&provider, "did:web:a", &one.key);
        let (did, fragment) = id.split_once('#').unwrap();
        assert_eq!((did, fragment.len()), ("did:web:a", 43));
        assert_ne!(id, key_id(&provider, "did:web:a", &two.key));
    }
}
