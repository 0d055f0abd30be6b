//! DPoP proofs (RFC 9449): the sender has the key to which its token is bound.

use hyper::HeaderMap;
use idgate_testkit::codec::HashAlg;

use super::jwt::Jwt;
use super::requests::only;

/// A valid proof that is not yet checked for replay.
pub(super) struct Proven {
    /// The key's thumbprint.
    pub(super) thumbprint: String,
    pub(super) jti: String,
}

/// The DPoP proof of a request; `None` if it has none. `url` is the endpoint's public address;
/// `token` is the access token that the proof must name.
///
/// # Errors
/// The rule that is broken (RFC 9449 4.3).
pub(super) fn prove(
    headers: &HeaderMap,
    url: &str,
    token: Option<&str>,
    now_ms: u64,
) -> Result<Option<Proven>, &'static str> {
    let proof = only(headers, "dpop").map_err(|()| "DPoP is repeated")?;
    let Some(proof) = proof else { return Ok(None) };
    let jwt = Jwt::read(proof, &["dpop+jwt"])?;
    let key = jwt.header_key()?.ok_or("the DPoP proof has no jwk")?;
    jwt.verify(&key)?;
    if jwt.text("htm") != Some("POST") {
        return Err("htm is not the method of the request");
    }
    let htu = jwt.text("htu").unwrap_or_default();
    let htu = htu.split(['?', '#']).next().unwrap_or_default();
    if htu != url {
        return Err("htu is not the address of the endpoint");
    }
    jwt.check_iat(now_ms)?;
    let ath = token.map(|token| HashAlg::Sha256.digest(token));
    if ath.is_some() && jwt.text("ath") != ath.as_deref() {
        return Err("ath is not the hash of the access token");
    }
    let jti = jwt.text("jti").filter(|jti| !jti.is_empty()).ok_or("jti is missing")?;
    Ok(Some(Proven { jti: format!("dpop {} {jti}", key.thumbprint), thumbprint: key.thumbprint }))
}
