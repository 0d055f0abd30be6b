//! DPoP proofs (RFC 9449): the sender of a request has the key that its token is bound to.

use hyper::HeaderMap;
use idgate_testkit::codec::HashAlg;

use super::jwt::Jwt;
use super::requests::only;

/// A proof that holds, but for whether it was seen before.
pub(super) struct Proven {
    /// The thumbprint of the key.
    pub(super) thumbprint: String,
    pub(super) jti: String,
}

/// The proof of a request; `None`: it brings none. `url`: the public address of the endpoint. `token`: the access token
/// that the proof has to name.
///
/// # Errors
/// The rule that it breaks (RFC 9449 4.3).
pub(super) fn prove(
    headers: &HeaderMap,
    url: &str,
    token: Option<&str>,
    now_ms: u64,
) -> Result<Option<Proven>, &'static str> {
    let proof = only(headers, "dpop").map_err(|()| "DPoP came twice")?;
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
