//! The holder's proof: a JWT by the credential's own key over our nonce, our audience and exactly
//! this presentation (RFC 9901 4.3, 7.3). One function per member.

use alloc::string::String;
use alloc::vec::Vec;

use super::expected::ExpectedSdJwtVc;
use super::proof::HolderBound;
use super::report::CredentialReport;
use super::transaction_data::agreed_to;
use crate::codec::base64url;
use crate::codec::json::{Kind, Tape, Value};
use crate::crypto::{CryptoProvider, HashAlg, PublicKey, ct};
use crate::error::{Check, Reason, VerifyError};
use crate::formats::sd_jwt_vc::{KEY_BINDING_TYPE, ParsedSdJwt, ProcessedPayload};
use crate::jose::{self, Header};
use crate::limits::{CLOCK_SKEW_MS, MAX_PRESENTATION_BYTES};
use crate::request::TransactionData;
use crate::time::UnixMillis;

/// Checks that the presentation is bound to its holder and to our request, and returns the
/// transaction data that the holder approved.
pub(super) fn bind_holder(
    provider: &CryptoProvider,
    parsed: &ParsedSdJwt<'_>,
    tape: &Tape<'_>,
    credential: &ProcessedPayload<'_, '_>,
    hash_alg: HashAlg,
    expected: &ExpectedSdJwtVc<'_>,
    report: &mut CredentialReport,
) -> Result<(HolderBound, Vec<TransactionData>), VerifyError> {
    let missing = Reason::HolderBindingMissing;
    let proof = parsed.key_binding.as_ref().ok_or(VerifyError::new(
        missing,
        Check::KeyBindingPresent,
        "the presentation has no key binding JWT",
    ))?;
    let key = read_cnf(credential)?;
    report.pass(Check::ConfirmationKey);
    let payload = tape.value(proof.payload);
    if payload.kind() != Kind::Object {
        return Err(invalid(Check::KeyBindingJwt, "the key binding payload is not an object"));
    }
    let header = Header::from_json(tape.value(proof.header))
        .map_err(|_| invalid(Check::KeyBindingJwt, "the key binding header cannot be used"))?;
    check_typ(&header)?;
    report.pass(Check::KeyBindingTyp);
    check_alg(&header, &key)?;
    report.pass(Check::KeyBindingAlg);
    let mut buffer = [0; 132];
    jose::decode_signature(proof.jws.signature, &mut buffer)
        .and_then(|sig| provider.verify(&key, proof.jws.signing_input.as_bytes(), sig).ok())
        .ok_or(invalid(Check::KeyBindingSignature, "the holder's key did not sign this"))?;
    report.pass(Check::KeyBindingSignature);
    check_time(payload, expected)?;
    report.pass(Check::KeyBindingTime);
    check_aud(payload, expected)?;
    report.pass(Check::Audience);
    check_nonce(payload, expected)?;
    report.pass(Check::Nonce);
    check_sd_hash(payload, provider, hash_alg, parsed.bound)?;
    report.pass(Check::SdHash);
    let agreed = agreed_to(payload, provider, expected)?;
    if !agreed.is_empty() {
        report.pass(Check::TransactionData);
    }
    Ok((HolderBound::assertion(), agreed))
}

/// The audience that the holder's proof claims, unverified.
pub(super) fn claimed_audience(presentation: &str) -> Option<String> {
    let (_, proof) = presentation.rsplit_once('~')?;
    if presentation.len() > MAX_PRESENTATION_BYTES {
        return None;
    }
    let payload = base64url::decode(proof.split('.').nth(1)?).ok()?;
    let mut tape = Tape::default();
    let root = tape.parse(&payload).ok()?;
    Some(tape.value(root).get("aud")?.as_str()?.into_owned())
}

fn invalid(check: Check, detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::HolderBindingInvalid, check, detail)
}

/// RFC 7800 3.2: the key comes from the credential, never from a header. It must be a signature
/// key, by the rule for issuers.
fn read_cnf(credential: &ProcessedPayload<'_, '_>) -> Result<PublicKey, VerifyError> {
    let check = Check::ConfirmationKey;
    let cnf = credential.get("cnf").ok_or(VerifyError::new(
        Reason::HolderBindingMissing,
        check,
        "the credential has no cnf, so it is not bound to a holder",
    ))?;
    let jwk = cnf.get("jwk").ok_or(invalid(check, "cnf has no jwk"))?;
    PublicKey::from_signing_jwk(jwk)
        .map_err(|_| invalid(check, "cnf.jwk is not a public key that verifies signatures"))
}

fn check_typ(header: &Header<'_>) -> Result<(), VerifyError> {
    header
        .has_typ(KEY_BINDING_TYPE)
        .then_some(())
        .ok_or(invalid(Check::KeyBindingTyp, "typ is not kb+jwt"))
}

fn check_alg(header: &Header<'_>, key: &PublicKey) -> Result<(), VerifyError> {
    let good = header.alg() == Some(key.alg());
    good.then_some(()).ok_or(VerifyError::new(
        Reason::AlgorithmNotAllowed,
        Check::KeyBindingAlg,
        "alg does not fit the holder's key",
    ))
}

/// Not before the request was made and not after now, with a minute's skew on both sides.
fn check_time(payload: Value<'_, '_>, expected: &ExpectedSdJwtVc<'_>) -> Result<(), VerifyError> {
    let stale = |detail| VerifyError::new(Reason::KbJwtStale, Check::KeyBindingTime, detail);
    let latest = expected.now.plus(CLOCK_SKEW_MS);
    let iat = payload.get("iat").and_then(numeric_date);
    let iat = iat.ok_or(stale("iat is missing or not a number"))?;
    if iat < expected.requested_at.minus(CLOCK_SKEW_MS) || iat > latest {
        return Err(stale("iat is outside the session's time"));
    }
    if let Some(exp) = payload.get("exp") {
        let exp = numeric_date(exp).ok_or(stale("exp is not a number"))?;
        if exp.plus(CLOCK_SKEW_MS) <= expected.now {
            return Err(stale("exp is in the past"));
        }
    }
    if let Some(nbf) = payload.get("nbf") {
        let nbf = numeric_date(nbf).ok_or(stale("nbf is not a number"))?;
        if nbf > latest {
            return Err(stale("nbf is in the future"));
        }
    }
    Ok(())
}

/// One string, equal to our `client_id` as sent; an array is refused even if it includes ours.
fn check_aud(payload: Value<'_, '_>, expected: &ExpectedSdJwtVc<'_>) -> Result<(), VerifyError> {
    let aud = payload.get("aud").and_then(Value::as_str);
    let good = !expected.audience.is_empty()
        && aud.is_some_and(|aud| ct::eq(aud.as_bytes(), expected.audience.as_bytes()));
    good.then_some(()).ok_or(VerifyError::new(
        Reason::AudienceMismatch,
        Check::Audience,
        "aud is not the client_id of the request",
    ))
}

fn check_nonce(payload: Value<'_, '_>, expected: &ExpectedSdJwtVc<'_>) -> Result<(), VerifyError> {
    let nonce = payload.get("nonce").and_then(Value::as_str);
    let good = !expected.nonce.is_empty()
        && nonce.is_some_and(|nonce| ct::eq(nonce.as_bytes(), expected.nonce.as_bytes()));
    good.then_some(()).ok_or(VerifyError::new(
        Reason::NonceMismatch,
        Check::Nonce,
        "nonce is not that of the request",
    ))
}

/// RFC 9901 4.3.1: the hash of the text up to and including the last tilde.
fn check_sd_hash(
    payload: Value<'_, '_>,
    provider: &CryptoProvider,
    alg: HashAlg,
    bound: &str,
) -> Result<(), VerifyError> {
    let mut buffer = [0; 86];
    let hash = provider.hash(alg, bound.as_bytes());
    let hash = base64url::encode_into(hash.as_bytes(), &mut buffer).unwrap_or_default();
    let given = payload.get("sd_hash").and_then(Value::as_str);
    let good =
        !hash.is_empty() && given.is_some_and(|given| ct::eq(given.as_bytes(), hash.as_bytes()));
    good.then_some(()).ok_or(VerifyError::new(
        Reason::SdHashMismatch,
        Check::SdHash,
        "sd_hash is not the hash of this presentation",
    ))
}

/// A NumericDate (RFC 7519 2), fractions allowed. Times before 1970 count as 1970.
pub(super) fn numeric_date(value: Value<'_, '_>) -> Option<UnixMillis> {
    if let Some(secs) = value.as_u64() {
        return Some(UnixMillis::from_secs(secs));
    }
    let ms = value.as_f64()? * 1000.0;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates
    Some(UnixMillis(ms as u64))
}
