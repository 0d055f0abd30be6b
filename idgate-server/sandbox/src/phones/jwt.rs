//! JWTs from wallets (proofs, DPoP proofs, attestations), read and verified with ES256. The core
//! verifies the signatures and reads the keys.

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Alg, PublicKey};
use idgate_core::shell::{Jwk, json::Tape};
use idgate_testkit::codec::{base64url, from_base64url};
use idgate_testkit::openid4vp::Certificate;
use serde_json::{Map, Value};

use crate::limits::{MAX_CLOCK_AHEAD_MS, MAX_JWT_AGE_MS, MAX_JWT_BYTES};

/// A JWT in compact form, not yet verified.
pub(super) struct Jwt<'a> {
    pub(super) header: Map<String, Value>,
    pub(super) claims: Map<String, Value>,
    signing_input: &'a str,
    signature: Vec<u8>,
}

/// A wallet's public P-256 key.
#[derive(Clone)]
pub(super) struct HolderKey {
    key: PublicKey,
    /// Its thumbprint (RFC 7638), in base64url.
    pub(super) thumbprint: String,
}

impl<'a> Jwt<'a> {
    /// Reads `text`.
    ///
    /// # Errors
    /// The rule that is broken: it is not a JWT of strict JSON with a type in `types` and ES256, or
    /// it is too long.
    pub(super) fn read(text: &'a str, types: &[&str]) -> Result<Self, &'static str> {
        if text.len() > MAX_JWT_BYTES {
            return Err("a JWT is too long");
        }
        let (signing_input, signature) = text.rsplit_once('.').ok_or("a JWT has three parts")?;
        let (header, claims) = signing_input.split_once('.').ok_or("a JWT has three parts")?;
        let (header, claims) = (object(header)?, object(claims)?);
        let signature = from_base64url(signature).ok_or("the signature is not base64url")?;
        let jwt = Self { header, claims, signing_input, signature };
        if !types.contains(&jwt.header_text("typ").unwrap_or_default()) {
            return Err("typ is not the expected one");
        }
        if jwt.header_text("alg") != Some("ES256") {
            return Err("alg is not ES256");
        }
        if jwt.header.contains_key("crit") || jwt.header.contains_key("b64") {
            return Err("the header has an unsupported extension");
        }
        Ok(jwt)
    }

    /// # Errors
    /// It is not signed by `key`.
    pub(super) fn verify(&self, key: &HolderKey) -> Result<(), &'static str> {
        let verified = PROVIDER.verify(&key.key, self.signing_input.as_bytes(), &self.signature);
        verified.map_err(|_| "the signature does not verify with its key")
    }

    pub(super) fn header_text(&self, name: &str) -> Option<&str> {
        self.header.get(name)?.as_str()
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name)?.as_str()
    }

    /// A time in milliseconds; fractions of a second are dropped.
    pub(super) fn time_ms(&self, name: &str) -> Option<u64> {
        let time = self.claims.get(name)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
        let seconds = time.as_u64().or_else(|| time.as_f64().map(|time| time as u64))?;
        Some(seconds.saturating_mul(1000))
    }

    /// Whether `aud` is `expected`, as a text or as an array of only this text, which older wallets
    /// send.
    pub(super) fn is_for(&self, expected: &str) -> bool {
        match self.claims.get("aud") {
            Some(Value::String(one)) => one == expected,
            Some(Value::Array(all)) => matches!(all.as_slice(), [one] if *one == *expected),
            _ => false,
        }
    }

    /// # Errors
    /// `iat` is missing, too old, or ahead of the clock.
    pub(super) fn check_iat(&self, now_ms: u64) -> Result<(), &'static str> {
        let iat = self.time_ms("iat").ok_or("iat is missing")?;
        if iat > now_ms.saturating_add(MAX_CLOCK_AHEAD_MS) {
            return Err("iat is in the future");
        }
        if iat.saturating_add(MAX_JWT_AGE_MS) < now_ms {
            return Err("iat is too old");
        }
        Ok(())
    }

    /// The key in the header's `jwk`; `None` if there is none.
    ///
    /// # Errors
    /// It is not a public P-256 key.
    pub(super) fn header_key(&self) -> Result<Option<HolderKey>, &'static str> {
        self.header.get("jwk").map(HolderKey::from_jwk).transpose()
    }

    /// The key of the first certificate in `x5c`; `None` if there is none.
    ///
    /// # Errors
    /// It is not a certificate for a P-256 key, or a certificate of the chain is self-signed (HAIP
    /// 4.4.1).
    pub(super) fn certificate_key(&self) -> Result<Option<HolderKey>, &'static str> {
        let Some(chain) = self.header.get("x5c") else { return Ok(None) };
        let chain = chain.as_array().ok_or("x5c has no certificate")?;
        let read = |one: &Value| one.as_str().and_then(Certificate::from_x5c);
        let chain: Option<Vec<Certificate>> = chain.iter().map(read).collect();
        let chain = chain.ok_or("x5c has an entry that is not a certificate")?;
        if chain.iter().any(|one| one.is_issued_by(one)) {
            return Err("a certificate in x5c is self-signed");
        }
        let leaf = chain.first().ok_or("x5c has no certificate")?;
        HolderKey::from_point(&leaf.point).map(Some)
    }
}

impl HolderKey {
    /// # Errors
    /// It is not a public P-256 key.
    pub(super) fn from_jwk(jwk: &Value) -> Result<Self, &'static str> {
        let jwk = Jwk::parse(jwk.to_string().as_bytes()).map_err(|error| error.0)?;
        Self::new(jwk.key)
    }

    fn from_point(point: &[u8]) -> Result<Self, &'static str> {
        let (x, y) = match point.split_first() {
            Some((4, rest)) if rest.len() == 64 => rest.split_at(32),
            _ => return Err("the certificate in x5c has no key on P-256"),
        };
        let jwk = serde_json::json!({
            "kty": "EC", "crv": "P-256", "x": base64url(x), "y": base64url(y),
        });
        Self::from_jwk(&jwk)
    }

    fn new(key: PublicKey) -> Result<Self, &'static str> {
        if key.alg() != Alg::Es256 || PROVIDER.check_key(&key).is_err() {
            return Err("the key is not a point of P-256");
        }
        let thumbprint = base64url(&key.thumbprint(&PROVIDER));
        Ok(Self { key, thumbprint })
    }

    /// The coordinates of the point.
    pub(super) fn coordinates(&self) -> (&[u8], &[u8]) {
        self.key.coordinates()
    }

    /// The members of `cnf.jwk`, without others that the wallet sent.
    pub(super) fn to_jwk(&self) -> Value {
        let (x, y) = self.coordinates();
        serde_json::json!({ "kty": "EC", "crv": "P-256", "x": base64url(x), "y": base64url(y) })
    }
}

/// A part of a JWT as an object; the core's reader refuses repeated members.
fn object(part: &str) -> Result<Map<String, Value>, &'static str> {
    let bytes = from_base64url(part).ok_or("a part of a JWT is not base64url")?;
    let mut tape = Tape::default();
    tape.parse(&bytes).map_err(|_| "a part of a JWT is not strict JSON")?;
    serde_json::from_slice(&bytes).map_err(|_| "a part of a JWT is not an object")
}
