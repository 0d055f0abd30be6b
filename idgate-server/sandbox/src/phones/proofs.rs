//! The keys that a credential request proves, each once (OpenID4VCI F, 8.2).

use serde_json::{Map, Value};

use super::attestation::verify_keys;
use super::jwt::{HolderKey, Jwt};
use super::nonces::Nonces;
use super::refusal::Refusal;
use crate::limits::MAX_BATCH;

const TYP: &str = "openid4vci-proof+jwt";

/// The values that proofs are compared with.
pub(super) struct Expected<'e> {
    /// The identifier of the issuer.
    pub(super) issuer: &'e str,
    /// Whether keys require an attestation.
    pub(super) attested: bool,
    pub(super) nonces: &'e Nonces,
    pub(super) now_ms: u64,
}

/// Proven keys, and the nonces that their proofs used up.
pub(super) struct ProvenKeys {
    pub(super) keys: Vec<HolderKey>,
    pub(super) nonces: Vec<String>,
}

/// Why a proof is refused.
enum Broken {
    Proof(&'static str),
    Nonce(&'static str),
}

impl From<&'static str> for Broken {
    fn from(rule: &'static str) -> Self {
        Self::Proof(rule)
    }
}

impl From<Broken> for Refusal {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Proof(rule) => Self::new("invalid_proof", rule),
            Broken::Nonce(rule) => Self::new("invalid_nonce", rule),
        }
    }
}

/// The type of a request's proof, for the log; `None` if it is unknown.
pub(super) fn kind_of(request: &Map<String, Value>) -> Option<&'static str> {
    let proofs = request.get("proofs").and_then(Value::as_object);
    let of_draft = request.get("proof").and_then(|proof| proof.get("proof_type"));
    ["jwt", "attestation"].into_iter().find(|kind| {
        proofs.is_some_and(|proofs| proofs.contains_key(*kind))
            || of_draft.and_then(Value::as_str) == Some(kind)
    })
}

/// Verifies `proofs`, or `proof` of drafts 13 and 14.
///
/// # Errors
/// A proof is missing, breaks a rule, or has a nonce that is not valid.
pub(super) fn verify(
    request: &Map<String, Value>,
    expected: &Expected<'_>,
) -> Result<ProvenKeys, Refusal> {
    let refused = |rule| Refusal::new("invalid_proof", rule);
    let proofs = match (request.get("proofs"), request.get("proof")) {
        (Some(_), Some(_)) => {
            let rule = "proof and proofs are not both allowed";
            return Err(Refusal::new("invalid_credential_request", rule));
        }
        (None, None) => return Err(refused("proofs are missing")),
        (Some(proofs), None) => {
            let proofs = proofs.as_object().filter(|proofs| proofs.len() == 1);
            let (kind, values) = proofs
                .and_then(|proofs| proofs.iter().next())
                .ok_or_else(|| refused("proofs must have exactly one type"))?;
            let values = values.as_array().filter(|values| !values.is_empty());
            (kind.as_str(), values.cloned().ok_or_else(|| refused("proofs has an empty type"))?)
        }
        (None, Some(proof)) => {
            let kind = proof.get("proof_type").and_then(Value::as_str).unwrap_or_default();
            let value = proof.get(kind).cloned();
            (kind, vec![value.ok_or_else(|| refused("proof has no value of its type"))?])
        }
    };
    let (kind, values) = proofs;
    if values.len() > MAX_BATCH {
        return Err(refused("there are more proofs than batch_size"));
    }
    let texts: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
    let texts = texts.ok_or_else(|| refused("a proof is not a text"))?;
    match kind {
        "jwt" => {}
        "attestation" if expected.attested && texts.len() == 1 => {}
        "attestation" if expected.attested => {
            return Err(refused("there must be exactly one attestation"));
        }
        _ => return Err(refused("this issuer does not support that type of proof")),
    }
    let mut proven = ProvenKeys { keys: Vec::new(), nonces: Vec::new() };
    for text in texts {
        let (keys, nonces) = match kind {
            "jwt" => by_jwt(text, expected)?,
            _ => by_attestation(text, expected)?,
        };
        proven.keys.extend(keys);
        for nonce in nonces {
            if !proven.nonces.contains(&nonce) {
                proven.nonces.push(nonce);
            }
        }
    }
    if proven.keys.len() > MAX_BATCH {
        return Err(refused("there are more keys than batch_size"));
    }
    let mut thumbprints: Vec<&str> = proven.keys.iter().map(|key| &*key.thumbprint).collect();
    thumbprints.sort_unstable();
    if thumbprints.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(refused("two proofs have the same key"));
    }
    Ok(proven)
}

/// The keys of a `jwt` proof (its own, or all those of its attestation), and the nonces of both.
fn by_jwt(text: &str, expected: &Expected<'_>) -> Result<(Vec<HolderKey>, Vec<String>), Broken> {
    let jwt = Jwt::read(text, &[TYP])?;
    let attested = match jwt.header.get("key_attestation") {
        Some(attestation) => {
            let text = attestation.as_str().ok_or("key_attestation is not a text")?;
            Some(verify_keys(text, true, expected.now_ms)?)
        }
        None if expected.attested => return Err("key_attestation is missing".into()),
        None => None,
    };
    let given = |name| jwt.header.contains_key(name);
    let key = match (given("jwk"), given("kid"), given("x5c"), &attested) {
        (true, false, false, _) => jwt.header_key()?,
        (false, true, false, Some(attested)) => {
            attested.named(jwt.header_text("kid").unwrap_or_default()).cloned()
        }
        // Newer wallets name none of the attested keys, and sign with the first.
        (false, false, false, Some(attested)) => attested.keys.first().cloned(),
        _ => return Err("the header must have jwk, and neither kid nor x5c".into()),
    };
    let key = key.ok_or("the header names no known key")?;
    jwt.verify(&key)?;
    if !jwt.is_for(expected.issuer) {
        return Err("aud is not the identifier of this issuer".into());
    }
    jwt.check_iat(expected.now_ms)?;
    let nonce = jwt.text("nonce").ok_or("nonce is missing")?;
    let mut nonces = vec![live(nonce, expected)?];
    let keys = match attested {
        None => vec![key],
        Some(attested) => {
            if !attested.keys.iter().any(|one| one.thumbprint == key.thumbprint) {
                return Err("the key of the proof is not one of attested_keys".into());
            }
            if let Some(own) = &attested.nonce {
                nonces.push(live(own, expected)?);
            }
            attested.keys
        }
    };
    Ok((keys, nonces))
}

/// The keys of an `attestation` proof.
fn by_attestation(
    text: &str,
    expected: &Expected<'_>,
) -> Result<(Vec<HolderKey>, Vec<String>), Broken> {
    let attested = verify_keys(text, false, expected.now_ms)?;
    let nonce = attested.nonce.as_deref().ok_or("nonce is missing")?;
    let nonce = live(nonce, expected)?;
    Ok((attested.keys, vec![nonce]))
}

fn live(nonce: &str, expected: &Expected<'_>) -> Result<String, Broken> {
    match expected.nonces.is_live(nonce, expected.now_ms) {
        true => Ok(nonce.to_owned()),
        false => Err(Broken::Nonce("nonce is unknown, used or expired")),
    }
}
