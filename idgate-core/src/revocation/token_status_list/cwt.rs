//! Status list tokens as CWT (draft 5.2): a COSE_Sign1 with tag 18 and its type in the protected
//! header, signed by a certificate in `x5chain`. Identifier lists have the same form, with another
//! type and another claim (ISO/IEC 18013-5 second edition 12.3.6).

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::context::{StatusContext, Voucher, unknown};
use super::claims::{Claims, Listed, millis, positive};
use super::identifiers::Identifiers;
use super::{ListKind, SignedBy};
use crate::codec::cbor::{CborError, Tape, Value};
use crate::cose::{Sign1, alg_of_label};
use crate::error::VerifyError;
use crate::jose::typ_is;
use crate::limits::MAX_IDENTIFIER_LIST_ITEMS;
use crate::time::UnixMillis;

const STATUS_LIST_TYPES: &[&str] = &["statuslist+cwt"];
const IDENTIFIER_LIST_TYPES: &[&str] = &["identifierlist+cwt"];
/// The first byte of a COSE_Sign1 with its tag; no JWT begins with it.
const TAG_18: u8 = 0xd2;

/// `typ` of a protected header (RFC 9596 2).
const TYP: i64 = 16;
/// Claim keys (RFC 8392 4, draft 14.2).
const SUB: i64 = 2;
const EXP: i64 = 4;
const NBF: i64 = 5;
const IAT: i64 = 6;
/// ISO/IEC 18013-5 second edition 12.3.6.4
const IDENTIFIER_LIST: i64 = 65530;
const STATUS_LIST: i64 = 65533;
const TTL: i64 = 65534;

pub(super) fn is_cwt(token: &[u8]) -> bool {
    token.first() == Some(&TAG_18)
}

/// The claims of a token that a certificate signed, and that certificate.
pub(super) fn authenticate(
    token: &[u8],
    kind: ListKind,
    voucher: &Voucher,
    context: &StatusContext<'_>,
) -> Result<(Claims, SignedBy), VerifyError> {
    let not_cwt = || unknown("the status list token is not a CWT");
    let mut tape = Tape::default();
    let token = tape.parse(token).map_err(|_| not_cwt())?;
    let sign1 = Sign1::read(tape.value(token)).map_err(|_| not_cwt())?;
    check_typ(&sign1, kind)?;
    let payload = sign1.payload.as_deref().ok_or_else(not_cwt)?;
    let signed_by = verify_signature(&sign1, payload, voucher, context)?;

    let mut tape = match kind {
        ListKind::Statuses => Tape::default(),
        // The signer is authenticated here, so a long list may take its memory.
        ListKind::Identifiers => Tape::for_list(payload.len(), MAX_IDENTIFIER_LIST_ITEMS),
    };
    let claims = tape.parse(payload).map_err(|error| match (kind, error) {
        (ListKind::Identifiers, CborError::DuplicateKey) => {
            unknown("the identifier list has an identifier or a claim twice")
        }
        (ListKind::Identifiers, CborError::TooMany) => {
            unknown("the identifier list is larger than 250,000 identifiers")
        }
        _ => not_cwt(),
    })?;
    Ok((read_claims(tape.value(claims), kind)?, signed_by))
}

fn check_typ(sign1: &Sign1<'_, '_>, kind: ListKind) -> Result<(), VerifyError> {
    let (types, wrong) = match kind {
        ListKind::Statuses => (
            STATUS_LIST_TYPES,
            unknown("the type of the status list token is not application/statuslist+cwt"),
        ),
        ListKind::Identifiers => (
            IDENTIFIER_LIST_TYPES,
            unknown("the type of the identifier list token is not application/identifierlist+cwt"),
        ),
    };
    let mut tape = Tape::default();
    let protected = tape.parse(sign1.headers.protected()).map_err(|_| wrong.clone())?;
    let typ = tape.value(protected).get_label(TYP).and_then(Value::as_text);
    if typ.is_some_and(|typ| typ_is(&typ, types)) { Ok(()) } else { Err(wrong) }
}

fn verify_signature(
    sign1: &Sign1<'_, '_>,
    payload: &[u8],
    voucher: &Voucher,
    context: &StatusContext<'_>,
) -> Result<SignedBy, VerifyError> {
    let chain = sign1
        .headers
        .x5chain()
        .map_err(|_| unknown("the status list token has no x5chain of certificates"))?;
    let chain: Vec<&[u8]> = chain.iter().map(AsRef::as_ref).collect();
    let (path, taken_by) = context.authenticate_list_signer(&chain, Some(voucher))?;
    let key = &path.signer_key;
    if sign1.headers.alg().and_then(alg_of_label) != Some(key.alg()) {
        return Err(unknown("alg of the status list token does not fit its certificate"));
    }
    let message = sign1.sig_structure(payload);
    context
        .provider
        .verify(key, &message, &sign1.signature)
        .map_err(|_| unknown("the certificate in x5chain did not sign the status list token"))?;
    Ok(SignedBy::certificate(&path, taken_by))
}

/// Draft 5.2. A claim of a wrong type never counts as absent.
fn read_claims(claims: Value<'_, '_>, kind: ListKind) -> Result<Claims, VerifyError> {
    let list = match kind {
        ListKind::Statuses => read_statuses(claims)?,
        ListKind::Identifiers => read_identifiers(claims)?,
    };
    Ok(Claims {
        sub: claims
            .get_label(SUB)
            .and_then(Value::as_text)
            .map(String::from)
            .ok_or(unknown("the status list token has no sub"))?,
        iat: date(claims, IAT)?.ok_or(unknown("the status list token has no iat"))?,
        nbf: date(claims, NBF)?,
        exp: date(claims, EXP)?,
        ttl: match claims.get_label(TTL) {
            None => None,
            Some(ttl) => Some(positive(seconds(ttl).unwrap_or(0))?),
        },
        list,
    })
}

fn read_statuses(claims: Value<'_, '_>) -> Result<Listed, VerifyError> {
    let list =
        claims.get_label(STATUS_LIST).ok_or(unknown("the status list token has no status_list"))?;
    Ok(Listed::Statuses {
        bits: list
            .get("bits")
            .and_then(Value::as_u64)
            .ok_or(unknown("bits of the status list is not a number"))?,
        lst: list
            .get("lst")
            .and_then(Value::as_bytes)
            .map(Cow::into_owned)
            .ok_or(unknown("lst of the status list is not a byte string"))?,
    })
}

/// ISO/IEC 18013-5 second edition 12.3.6.4. A token has one kind of list.
fn read_identifiers(claims: Value<'_, '_>) -> Result<Listed, VerifyError> {
    if claims.get_label(STATUS_LIST).is_some() {
        return Err(unknown("the identifier list token has a status list as well"));
    }
    let list = claims
        .get_label(IDENTIFIER_LIST)
        .ok_or(unknown("the identifier list token has no identifier list"))?;
    Identifiers::read(list).map(Listed::Identifiers)
}

/// A NumericDate (RFC 8392 2): an integer or a float, untagged.
fn date(claims: Value<'_, '_>, label: i64) -> Result<Option<UnixMillis>, VerifyError> {
    let Some(value) = claims.get_label(label) else { return Ok(None) };
    let ms = seconds(value).ok_or(unknown("a date of the status list token is not a number"))?;
    Ok(Some(UnixMillis(ms)))
}

/// Milliseconds from a number of seconds; a negative one counts as 0.
fn seconds(value: Value<'_, '_>) -> Option<u64> {
    if let Some(secs) = value.as_u64() {
        return Some(secs.saturating_mul(1000));
    }
    if value.as_i64().is_some() {
        return Some(0);
    }
    millis(value.as_f64()?)
}
