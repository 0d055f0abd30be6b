//! The compact JWS around a trusted list (JAdES baseline B). Header, signer and signature are
//! checked, in this order, before the payload is parsed. Keys that the header points to are never
//! fetched.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::ListRules;
use super::error::{TrustedListError, not_authentic, unusable};
use super::signer::{Authenticated, Claimed, ListSigner, lacks_signer};
use crate::codec::base64url;
use crate::codec::json::{JsonError, Tape, Value};
use crate::crypto::{CryptoProvider, HashAlg, IssuerKey, SignatureAlgorithm};
use crate::jose::{self, CompactJws, X5cError};
use crate::limits::MAX_TRUSTED_LIST_BYTES;
use crate::time::UnixMillis;

/// A list in its envelope.
pub(super) struct Envelope<'f> {
    header: Vec<u8>,
    pub(super) payload: Vec<u8>,
    signature: Vec<u8>,
    signing_input: &'f str,
}

impl<'f> Envelope<'f> {
    /// Splits and decodes `file`.
    pub(super) fn open(file: &'f [u8]) -> Result<Self, TrustedListError> {
        let not_compact = || unusable("is not a compact JWS");
        if file.first() == Some(&b'<') {
            return Err(unusable("is XML, and only lists in JSON are read here"));
        }
        if file.len() > MAX_TRUSTED_LIST_BYTES {
            return Err(unusable("is larger than 8 MiB"));
        }
        let text = core::str::from_utf8(file).map_err(|_| not_compact())?;
        let text =
            text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
        let jws = CompactJws::split(text).map_err(|_| not_compact())?;
        let part = |text: &str| base64url::decode(text).map_err(|_| not_compact());
        Ok(Self {
            header: part(jws.header)?,
            payload: part(jws.payload)?,
            signature: part(jws.signature)?,
            signing_input: jws.signing_input,
        })
    }

    /// Returns the signer after its signature is verified. The signer of a list that `is_new` must
    /// be valid now: only the signer says when it signed, and an attacker with an expired key would
    /// claim an earlier time.
    pub(super) fn authenticate(
        &self,
        provider: &CryptoProvider,
        rules: &ListRules<'_>,
        is_new: bool,
        now: UnixMillis,
    ) -> Result<Authenticated, TrustedListError> {
        let mut tape = Tape::default();
        let id = tape.parse(&self.header).map_err(|error| not_json("header", error))?;
        let header = Header::read(tape.value(id))?;
        if header.signed_at.is_none() && !rules.test_only {
            return Err(not_authentic("does not say when it was signed (iat)"));
        }
        let claimed = Claimed { chain: &header.x5c, signed_at: header.signed_at };
        claimed.authenticate(provider, rules, (is_new, now), |sha256, key| {
            if header.x5t.as_deref().is_some_and(|x5t| x5t != sha256) {
                let why = "has an x5t#S256 that is not of its signer's certificate";
                return Err(not_authentic(why));
            }
            let alg = algorithm(&header.alg, key)?;
            verify(provider, key, alg, self.signing_input.as_bytes(), &self.signature)
        })
    }

    /// Returns the signer that the header names, for a list that was authenticated when it was
    /// stored.
    pub(super) fn recall_signer(
        &self,
        provider: &CryptoProvider,
    ) -> Result<ListSigner, TrustedListError> {
        let mut tape = Tape::default();
        let id = tape.parse(&self.header).map_err(|error| not_json("header", error))?;
        let header = Header::read(tape.value(id))?;
        Claimed { chain: &header.x5c, signed_at: header.signed_at }.recalled(provider)
    }
}

/// The members of the header that matter.
struct Header {
    alg: String,
    x5c: Vec<Vec<u8>>,
    x5t: Option<Vec<u8>>,
    signed_at: Option<UnixMillis>,
}

impl Header {
    fn read(header: Value<'_, '_>) -> Result<Self, TrustedListError> {
        check_critical(header)?;
        let alg = header.get("alg").and_then(Value::as_str);
        let alg = alg.ok_or_else(|| not_authentic("has a header without alg"))?;
        let x5c = jose::x5c(header).map_err(|error| match error {
            X5cError::Malformed => lacks_signer(),
            X5cError::TooMany => not_authentic("has more than 10 certificates of its signer"),
        })?;
        let x5t = header.get("x5t#S256").map(|x5t| {
            let bytes = x5t.as_str().and_then(|text| base64url::decode(&text).ok());
            bytes.ok_or_else(|| not_authentic("has an x5t#S256 that is not a hash"))
        });
        Ok(Self {
            alg: alg.into_owned(),
            x5c: x5c.ok_or_else(lacks_signer)?,
            x5t: x5t.transpose()?,
            signed_at: signed_at(header)?,
        })
    }
}

/// `iat`, in seconds, or `sigT`, a date and time (ETSI TS 119 182-1, before and since July 2025).
fn signed_at(header: Value<'_, '_>) -> Result<Option<UnixMillis>, TrustedListError> {
    let wrong = |what: &str| not_authentic(format!("has {what} that is not a time"));
    let iat = header.get("iat").map(|iat| iat.as_u64().ok_or_else(|| wrong("an iat")));
    let sig_t = header.get("sigT").map(|time| {
        let text = time.as_str();
        text.and_then(|text| UnixMillis::parse_rfc3339(&text)).ok_or_else(|| wrong("a sigT"))
    });
    let (iat, sig_t) = (iat.transpose()?.map(UnixMillis::from_secs), sig_t.transpose()?);
    match (iat, sig_t) {
        (Some(iat), Some(sig_t)) if iat.as_secs() != sig_t.as_secs() => {
            Err(not_authentic("says two times of its signature (iat, sigT)"))
        }
        _ => Ok(iat.or(sig_t)),
    }
}

/// Only understood members may be critical (RFC 7515 4.1.11): the time of signing. Every other
/// extension, and an unencoded payload (RFC 7797), is refused.
fn check_critical(header: Value<'_, '_>) -> Result<(), TrustedListError> {
    let demands = |name: &str| {
        // The name comes from the list: show no more of it than is needed to find it.
        let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        not_authentic(format!("demands the extension {name} (crit)"))
    };
    if header.get("b64").is_some() {
        return Err(demands("b64"));
    }
    let Some(crit) = header.get("crit") else { return Ok(()) };
    let malformed = || not_authentic("has a crit that is not a list of its header's extensions");
    let mut seen: Vec<Cow<'_, str>> = Vec::new();
    for name in crit.elements().ok_or_else(malformed)? {
        let name = name.as_str().ok_or_else(malformed)?;
        if name != "iat" && name != "sigT" {
            return Err(demands(&name));
        }
        if header.get(&name).is_none() || seen.contains(&name) {
            return Err(malformed());
        }
        seen.push(name);
    }
    if seen.is_empty() { Err(malformed()) } else { Ok(()) }
}

/// How the signature is verified: `alg` must fit the signer's key.
#[derive(Clone, Copy)]
enum Algorithm {
    Es,
    Rs256,
    Ps256,
}

fn algorithm(alg: &str, key: &IssuerKey) -> Result<Algorithm, TrustedListError> {
    match (alg, key) {
        (alg, IssuerKey::Nist(key)) if key.alg().name() == alg => Ok(Algorithm::Es),
        ("RS256", IssuerKey::Rsa { pss_only: false, .. }) => Ok(Algorithm::Rs256),
        ("PS256", IssuerKey::Rsa { .. }) => Ok(Algorithm::Ps256),
        _ => Err(not_authentic("has an alg that does not fit its signer's key")),
    }
}

fn verify(
    provider: &CryptoProvider,
    key: &IssuerKey,
    alg: Algorithm,
    input: &[u8],
    signature: &[u8],
) -> Result<(), TrustedListError> {
    let rsa = |algorithm| key.verify(provider, algorithm, input, signature).is_ok();
    let is_good = match alg {
        Algorithm::Es => {
            key.nist().is_some_and(|key| provider.verify(key, input, signature).is_ok())
        }
        Algorithm::Rs256 => rsa(SignatureAlgorithm::RsaPkcs1(HashAlg::Sha256)),
        Algorithm::Ps256 => rsa(SignatureAlgorithm::RsaPss { hash: HashAlg::Sha256, salt_len: 32 }),
    };
    match is_good {
        true => Ok(()),
        false => Err(not_authentic("has a signature that does not verify")),
    }
}

pub(super) fn not_json(part: &str, error: JsonError) -> TrustedListError {
    unusable(format!("has a {part} that {error}"))
}
