//! Status list tokens as JWT (draft 5.1): `typ` `statuslist+jwt`, signed by a key of the trust
//! entry or by a certificate in `x5c`.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::context::{StatusContext, Voucher, unknown};
use super::claims::{Claims, Listed, millis, positive};
use super::{ListSigner, SignedBy};
use crate::codec::base64url;
use crate::codec::json::{Tape, Value};
use crate::crypto::Alg;
use crate::error::VerifyError;
use crate::jose::{self, CompactJws, Header, X5cError};
use crate::limits::MAX_STATUS_HEADER_CHARS;
use crate::time::UnixMillis;
use crate::trust::TrustedKey;

const TYPES: &[&str] = &["statuslist+jwt"];

/// The claims of a token by an accepted signer, and that signer.
pub(super) fn authenticate(
    token: &[u8],
    signer: ListSigner<'_>,
    context: &StatusContext<'_>,
) -> Result<(Claims, SignedBy), VerifyError> {
    // A static file may end with a line feed.
    let text = core::str::from_utf8(token.trim_ascii()).map_err(|_| not_jwt())?;
    let jws = CompactJws::split(text).map_err(|_| not_jwt())?;
    if jws.header.len() > MAX_STATUS_HEADER_CHARS {
        return Err(unknown("the header of the status list token is larger than 64 KiB"));
    }
    let header = base64url::decode(jws.header).map_err(|_| not_jwt())?;
    let mut tape = Tape::default();
    let header = tape.parse(&header).map_err(|_| not_jwt())?;
    let signed_by = verify_signature(&jws, tape.value(header), signer, context)?;

    let payload = base64url::decode(jws.payload).map_err(|_| not_jwt())?;
    let mut tape = Tape::default();
    let payload = tape.parse(&payload).map_err(|_| not_jwt())?;
    Ok((read_claims(tape.value(payload))?, signed_by))
}

fn not_jwt() -> VerifyError {
    unknown("the status list token is not a JWT")
}

fn verify_signature(
    jws: &CompactJws<'_>,
    header_json: Value<'_, '_>,
    signer: ListSigner<'_>,
    context: &StatusContext<'_>,
) -> Result<SignedBy, VerifyError> {
    let header = Header::from_json(header_json)
        .map_err(|_| unknown("the header of the status list token cannot be used"))?;
    if !header.has_typ(TYPES) {
        return Err(unknown("typ of the status list token is not statuslist+jwt"));
    }
    let alg = header.alg().ok_or(unknown("alg of the status list token is not accepted"))?;
    let mut buffer = [0; 132];
    let signature = jose::decode_signature(jws.signature, &mut buffer)
        .ok_or(unknown("the signature of the status list token cannot be read"))?;
    let message = jws.signing_input.as_bytes();
    match signer {
        ListSigner::IssuerKey => match by_issuer_key(&header, alg, message, signature, context) {
            Ok(()) => Ok(SignedBy::IssuerKey),
            // An operator who names roots for status lists means them for lists of bare keys as
            // well.
            Err(_)
                if header_json.get("x5c").is_some() && !context.issuer.status_roots.is_empty() =>
            {
                by_certificate(header_json, alg, message, signature, None, context)
            }
            Err(error) => Err(error),
        },
        ListSigner::Certificate(voucher) => {
            by_certificate(header_json, alg, message, signature, Some(voucher), context)
        }
    }
}

fn by_certificate(
    header: Value<'_, '_>,
    alg: Alg,
    message: &[u8],
    signature: &[u8],
    voucher: Option<&Voucher>,
    context: &StatusContext<'_>,
) -> Result<SignedBy, VerifyError> {
    let chain = x5c(header)?;
    let chain: Vec<&[u8]> = chain.iter().map(Vec::as_slice).collect();
    let (path, taken_by) = context.authenticate_list_signer(&chain, voucher)?;
    let key = &path.signer_key;
    if key.alg() != alg || context.provider.verify(key, message, signature).is_err() {
        return Err(unknown("the certificate in x5c did not sign the status list token"));
    }
    Ok(SignedBy::certificate(&path, taken_by))
}

/// The same rule as for the credential itself: the trusted keys decide, `kid` selects among them.
fn by_issuer_key(
    header: &Header<'_>,
    alg: Alg,
    message: &[u8],
    signature: &[u8],
    context: &StatusContext<'_>,
) -> Result<(), VerifyError> {
    let fitting =
        || context.issuer.keys_for(context.livemode).filter(|trusted| trusted.key.alg() == alg);
    let named = |key: &&TrustedKey| match (&header.kid, &key.kid) {
        (Some(kid), Some(name)) => kid.is(name),
        _ => false,
    };
    let selected = fitting().any(|key| named(&key));
    let signed = |key: &TrustedKey| context.provider.verify(&key.key, message, signature).is_ok();
    fitting()
        .filter(|key| !selected || named(key))
        .any(signed)
        .then_some(())
        .ok_or(unknown("no trusted key of the issuer signed the status list token"))
}

/// The certificates of `x5c`, which must be present.
fn x5c(header: Value<'_, '_>) -> Result<Vec<Vec<u8>>, VerifyError> {
    let chain = jose::x5c(header).and_then(|chain| chain.ok_or(X5cError::Malformed));
    chain.map_err(|error| {
        unknown(match error {
            X5cError::Malformed => "x5c of the status list token is not a list of certificates",
            X5cError::TooMany => "x5c of the status list token has more than 10 certificates",
        })
    })
}

/// Draft 5.1. A claim of a wrong type never counts as absent.
fn read_claims(payload: Value<'_, '_>) -> Result<Claims, VerifyError> {
    let list =
        payload.get("status_list").ok_or(unknown("the status list token has no status_list"))?;
    let lst = list
        .get("lst")
        .and_then(Value::as_text)
        .ok_or(unknown("the status list has no lst"))?
        .unescape();
    Ok(Claims {
        sub: payload
            .get("sub")
            .and_then(Value::as_str)
            .map(String::from)
            .ok_or(unknown("the status list token has no sub"))?,
        iat: date(payload, "iat")?.ok_or(unknown("the status list token has no iat"))?,
        nbf: date(payload, "nbf")?,
        exp: date(payload, "exp")?,
        ttl: match payload.get("ttl") {
            None => None,
            Some(ttl) => Some(positive(seconds(ttl).unwrap_or(0))?),
        },
        list: Listed::Statuses {
            bits: list
                .get("bits")
                .and_then(Value::as_u64)
                .ok_or(unknown("bits of the status list is not a number"))?,
            lst: base64url::decode(&lst).map_err(|_| unknown("lst is not strict base64url"))?,
        },
    })
}

/// A NumericDate (RFC 7519 2), fractions allowed.
fn date(payload: Value<'_, '_>, name: &str) -> Result<Option<UnixMillis>, VerifyError> {
    let Some(value) = payload.get(name) else { return Ok(None) };
    let ms = seconds(value).ok_or(unknown("a date of the status list token is not a number"))?;
    Ok(Some(UnixMillis(ms)))
}

/// Milliseconds from a JSON number of seconds; a negative one counts as 0.
fn seconds(value: Value<'_, '_>) -> Option<u64> {
    match value.as_u64() {
        Some(secs) => Some(secs.saturating_mul(1000)),
        None => millis(value.as_f64()?),
    }
}
