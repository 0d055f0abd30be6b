//! Client attestations (about the wallet) and key attestations (about its keys) from a wallet's
//! provider. The sandbox trusts every provider: it checks form and signature, but no chain, so a
//! false signature is refused. The plain issuer also accepts a client attestation that names its
//! key only by `kid`, and cannot check that signature.

use hyper::HeaderMap;
use serde_json::Value;

use super::jwt::{HolderKey, Jwt};
use super::requests::only;
use crate::limits::{MAX_BATCH, MAX_CLOCK_AHEAD_MS};

/// The content of a key attestation.
pub(super) struct AttestedKeys {
    pub(super) keys: Vec<HolderKey>,
    /// The `kid` of each key.
    kids: Vec<Option<String>>,
    pub(super) nonce: Option<String>,
}

impl AttestedKeys {
    /// The key for this `kid`: a key's own, or its index.
    pub(super) fn named(&self, kid: &str) -> Option<&HolderKey> {
        let at = self.kids.iter().position(|own| own.as_deref() == Some(kid));
        self.keys.get(at.or_else(|| kid.parse().ok())?)
    }
}

/// Verifies the client attestation of a token request and its proof of possession; returns the
/// proof's `jti`, or `None` if the request has neither. `must_be_signed`: require the provider's
/// signature.
///
/// # Errors
/// The rule that is broken (draft-ietf-oauth-attestation-based-client-auth 8).
pub(super) fn verify_client(
    headers: &HeaderMap,
    client_id: Option<&str>,
    issuer: &str,
    must_be_signed: bool,
    now_ms: u64,
) -> Result<Option<String>, &'static str> {
    let header = |name| only(headers, name).map_err(|()| "an attestation header is repeated");
    let (attestation, proof) =
        match (header("oauth-client-attestation")?, header("oauth-client-attestation-pop")?) {
            (None, None) => return Ok(None),
            (Some(attestation), Some(proof)) => (attestation, proof),
            _ => return Err("a client attestation and its proof of possession must come together"),
        };
    let attestation = Jwt::read(attestation, &["oauth-client-attestation+jwt"])?;
    match signer(&attestation)? {
        Some(key) => attestation.verify(&key)?,
        // A provider's key that is named only by `kid` is unknown here.
        None if must_be_signed => return Err("the client attestation has neither x5c nor jwk"),
        None => {}
    }
    check_times(&attestation, true, now_ms)?;
    let subject = attestation.text("sub").filter(|subject| !subject.is_empty());
    let subject = subject.ok_or("the client attestation has no sub")?;
    if client_id.is_some_and(|client_id| client_id != subject) {
        return Err("client_id is not the sub of the client attestation");
    }
    let key = attestation.claims.get("cnf").and_then(|cnf| cnf.get("jwk"));
    let key = HolderKey::from_jwk(key.ok_or("the client attestation has no cnf.jwk")?)?;
    let proof = Jwt::read(proof, &["oauth-client-attestation-pop+jwt"])?;
    proof.verify(&key)?;
    if !proof.is_for(issuer) {
        return Err("aud of the attestation proof is not this issuer");
    }
    check_times(&proof, false, now_ms)?;
    proof.check_iat(now_ms)?;
    let jti = proof.text("jti").filter(|jti| !jti.is_empty());
    let jti = jti.ok_or("the attestation proof has no jti")?;
    Ok(Some(format!("attestation {} {jti}", key.thumbprint)))
}

/// Reads and verifies a key attestation (OpenID4VCI D.1). `must_end`: require `exp`.
///
/// # Errors
/// The rule that is broken.
pub(super) fn verify_keys(
    text: &str,
    must_end: bool,
    now_ms: u64,
) -> Result<AttestedKeys, &'static str> {
    // The second type is that of drafts up to 15.
    let jwt = Jwt::read(text, &["key-attestation+jwt", "keyattestation+jwt"])?;
    let key = signer(&jwt)?.ok_or("the key attestation has neither x5c nor jwk")?;
    jwt.verify(&key)?;
    jwt.time_ms("iat").ok_or("the key attestation has no iat")?;
    check_times(&jwt, must_end, now_ms)?;
    let attested = jwt.claims.get("attested_keys").and_then(Value::as_array);
    let attested = attested.filter(|keys| !keys.is_empty());
    let attested = attested.ok_or("the key attestation has no attested_keys")?;
    if attested.len() > MAX_BATCH {
        return Err("the key attestation has more keys than a batch may have");
    }
    let keys: Result<Vec<HolderKey>, _> = attested.iter().map(HolderKey::from_jwk).collect();
    let kid = |key: &Value| key.get("kid").and_then(Value::as_str).map(String::from);
    let kids = attested.iter().map(kid).collect();
    Ok(AttestedKeys { keys: keys?, kids, nonce: jwt.text("nonce").map(String::from) })
}

/// The provider's key: that of its certificate, or the one in the header.
fn signer(jwt: &Jwt<'_>) -> Result<Option<HolderKey>, &'static str> {
    match jwt.certificate_key()? {
        Some(key) => Ok(Some(key)),
        None => jwt.header_key(),
    }
}

fn check_times(jwt: &Jwt<'_>, must_end: bool, now_ms: u64) -> Result<(), &'static str> {
    let are_times = ["iat", "nbf", "exp"].iter().all(|name| {
        jwt.claims.get(*name).is_none_or(|time| time.is_number() && jwt.time_ms(name).is_some())
    });
    if !are_times {
        return Err("a time of an attestation is not a number");
    }
    let latest = now_ms.saturating_add(MAX_CLOCK_AHEAD_MS);
    if ["iat", "nbf"].into_iter().filter_map(|name| jwt.time_ms(name)).any(|time| time > latest) {
        return Err("an attestation is not valid yet");
    }
    match (jwt.time_ms("exp"), must_end) {
        (Some(exp), _) if exp <= now_ms => Err("an attestation has expired"),
        (None, true) => Err("an attestation has no exp"),
        _ => Ok(()),
    }
}
