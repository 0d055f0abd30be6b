//! sd-jwt-rs as issuer, holder and verifier, with keys from ring.

use idgate_core::shell::base64url;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
};
use sd_jwt_rs::{
    ClaimsForSelectiveDisclosureStrategy, SDJWTHolder, SDJWTIssuer, SDJWTSerializationFormat,
    SDJWTVerifier,
};
use serde_json::{Map, Value, json};

use crate::{AUDIENCE, ISSUER, NONCE, VCT, now_secs};

/// A key pair of the peer, which does not support P-521.
pub struct PeerKey {
    alg: Algorithm,
    pkcs8: Vec<u8>,
    point: Vec<u8>,
}

impl PeerKey {
    /// A fresh key for ES256 or ES384.
    ///
    /// # Panics
    /// Another algorithm, or no entropy.
    pub fn generate(alg: Algorithm) -> Self {
        let signing = match alg {
            Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
            Algorithm::ES384 => &ECDSA_P384_SHA384_FIXED_SIGNING,
            _ => panic!("the peer signs with ES256 or ES384"),
        };
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(signing, &random).expect("entropy");
        let pair = EcdsaKeyPair::from_pkcs8(signing, pkcs8.as_ref(), &random).expect("own key");
        Self { alg, pkcs8: pkcs8.as_ref().to_vec(), point: pair.public_key().as_ref().to_vec() }
    }

    /// The name of the algorithm.
    pub fn alg(&self) -> &'static str {
        if self.alg == Algorithm::ES256 { "ES256" } else { "ES384" }
    }

    /// The public key.
    pub fn jwk(&self) -> Value {
        let crv = if self.alg == Algorithm::ES256 { "P-256" } else { "P-384" };
        // An uncompressed point: 04, x, y.
        let (x, y) = self.point[1..].split_at(self.point.len() / 2);
        json!({"kty": "EC", "crv": crv, "x": base64url::encode(x), "y": base64url::encode(y)})
    }

    /// `input.signature` by this key.
    ///
    /// # Panics
    /// The key cannot sign.
    pub fn sign(&self, input: &str) -> String {
        let signature = jsonwebtoken::crypto::sign(input.as_bytes(), &self.encoding(), self.alg);
        format!("{input}.{}", signature.expect("a signature"))
    }

    fn encoding(&self) -> EncodingKey {
        EncodingKey::from_ec_der(&self.pkcs8)
    }
}

/// A credential for `holder` with `claims`, of which `disclosable` (JSON paths) may be withheld.
/// Its `typ` is what sd-jwt-rs makes it: none. See [`with_typ`].
///
/// # Panics
/// The peer cannot issue it.
pub fn issue(issuer: &PeerKey, holder: &PeerKey, claims: Value, disclosable: &[&str]) -> String {
    let now = now_secs();
    let mut payload = json!({"iss": ISSUER, "vct": VCT, "iat": now, "exp": now + 3600});
    let members = payload.as_object_mut().expect("an object");
    members.append(&mut claims.as_object().expect("an object").clone());
    let strategy = ClaimsForSelectiveDisclosureStrategy::Custom(disclosable.to_vec());
    let holder = serde_json::from_value(holder.jwk()).expect("a JWK");
    let format = SDJWTSerializationFormat::Compact;
    SDJWTIssuer::new(issuer.encoding(), Some(issuer.alg().to_owned()))
        .issue_sd_jwt(payload, strategy, Some(holder), true, format)
        .expect("an SD-JWT")
}

/// The same credential, its unchanged payload signed again under a header with `typ`.
///
/// # Panics
/// `issued` is not an SD-JWT.
pub fn with_typ(issued: &str, issuer: &PeerKey, typ: &str) -> String {
    let (jwt, disclosures) = issued.split_once('~').expect("an SD-JWT");
    let payload = jwt.split('.').nth(1).expect("a JWT");
    let header = json!({"alg": issuer.alg(), "typ": typ}).to_string();
    let jwt = issuer.sign(&format!("{}.{payload}", base64url::encode(header.as_bytes())));
    format!("{jwt}~{disclosures}")
}

/// A presentation of what `disclose` marks, bound to the request of these tests.
///
/// # Panics
/// The peer cannot present it.
pub fn present(credential: &str, holder: &PeerKey, disclose: Value) -> String {
    present_for(credential, holder, disclose, NONCE, AUDIENCE)
}

/// A presentation bound to another request.
///
/// # Panics
/// The peer cannot present it.
pub fn present_for(
    credential: &str,
    holder: &PeerKey,
    disclose: Value,
    nonce: &str,
    audience: &str,
) -> String {
    let disclose: Map<String, Value> = disclose.as_object().expect("an object").clone();
    let (nonce, audience) = (Some(nonce.to_owned()), Some(audience.to_owned()));
    SDJWTHolder::new(credential.to_owned(), SDJWTSerializationFormat::Compact)
        .and_then(|mut wallet| {
            let (key, alg) = (Some(holder.encoding()), Some(holder.alg().to_owned()));
            wallet.create_presentation(disclose, nonce, audience, key, alg)
        })
        .expect("a presentation")
}

/// The peer's verdict: the claims, or its complaint.
///
/// # Errors
/// The peer refuses the presentation.
///
/// # Panics
/// The peer itself panics on some presentations; `jwk` is not a key.
pub fn verdict(presentation: &str, jwk: &Value) -> Result<Value, String> {
    verdict_for(presentation, &decoding_key(jwk), AUDIENCE, NONCE)
}

/// The peer's form of a public key.
///
/// # Panics
/// `jwk` is not a key.
pub fn decoding_key(jwk: &Value) -> DecodingKey {
    let jwk = serde_json::from_value(jwk.clone()).expect("a JWK");
    DecodingKey::from_jwk(&jwk).expect("a public key")
}

/// The peer's verdict for any request.
///
/// # Errors
/// The peer refuses the presentation.
///
/// # Panics
/// The peer itself panics on some presentations.
pub fn verdict_for(
    presentation: &str,
    key: &DecodingKey,
    audience: &str,
    nonce: &str,
) -> Result<Value, String> {
    let key = key.clone();
    SDJWTVerifier::new(
        presentation.to_owned(),
        Box::new(move |_, _| key.clone()),
        Some(audience.to_owned()),
        Some(nonce.to_owned()),
        SDJWTSerializationFormat::Compact,
    )
    .map(|verifier| verifier.verified_claims)
    .map_err(|error| error.to_string())
}
