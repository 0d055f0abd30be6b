//! One SD-JWT VC presentation, from text to proof. The functions are in the order of the checks:
//! read, authenticate the issuer, check the digests of disclosures, check the dates, check the
//! holder's proof, and only then the requested claims. One function per question.

mod issuer;

use alloc::string::String;
use alloc::vec::Vec;

use self::issuer::Signer;
use super::claim_path::select;
use super::expected::ExpectedSdJwtVc;
use super::key_binding::{bind_holder, numeric_date};
use super::proof::{
    AwaitingStatus, CredentialFacts, DisclosedClaims, DisclosuresBound, HolderBinding,
    WithinValidity,
};
use super::report::CredentialReport;
use super::subject_groups::normalise;
use crate::codec::json::{Kind, NodeId, Tape, Value};
use crate::crypto::{CryptoProvider, HashAlg};
use crate::error::{Check, Reason, VerifyError};
use crate::formats::sd_jwt_vc::{
    DisclosureIndex, ParsedSdJwt, ProcessedPayload, RESERVED_NAMES, SplitSdJwt,
};
use crate::limits::{CLOCK_SKEW_MS, MAX_PRESENTATION_BYTES};
use crate::request::{ClaimFilter, ClaimPath, SubjectPath};
use crate::revocation::{Published, PublishedStatus};
use crate::time::UnixMillis;

/// Checks everything but the status.
pub(crate) fn verify_presentation(
    provider: &CryptoProvider,
    text: &str,
    expected: &ExpectedSdJwtVc<'_>,
    report: &mut CredentialReport,
) -> Result<AwaitingStatus, VerifyError> {
    if text.len() > MAX_PRESENTATION_BYTES {
        let detail = "the presentation is larger than 512 KiB";
        return Err(VerifyError::new(Reason::LimitExceeded, Check::Limits, detail));
    }
    let split = SplitSdJwt::split(text)?;
    report.pass(Check::SdJwtShape);
    let octets = split.decode()?;
    let mut tape = Tape::with_capacity(octets.tape_capacity());
    let parsed = ParsedSdJwt::parse(split, &octets, &mut tape)?;
    report.pass(Check::IssuerJwt);
    require_key_binding(&parsed, report)?;

    let payload = tape.value(parsed.issuer_payload);
    let (signer, issuer) = issuer::authenticate(provider, &parsed, &tape, expected, report)?;
    check_iss(payload, expected, report)?;
    check_vct(payload, expected, report)?;
    let hash_alg = read_sd_alg(payload, report)?;

    let index = DisclosureIndex::new(&parsed.disclosures, hash_alg, provider)?;
    let (payload, disclosures) = bind_disclosures(&tape, parsed.issuer_payload, index, report)?;
    let (dates, validity) = check_validity(&payload, expected, report)?;
    let (holder, transaction_data) =
        bind_holder(provider, &parsed, &tape, &payload, hash_alg, expected, report)?;

    let claims = disclose(&payload, expected, report)?;
    let (signer_status, voucher) = signer.status();
    Ok(AwaitingStatus {
        subject: subject_values(&payload, expected),
        facts: CredentialFacts { transaction_data, ..facts(&payload, &signer, dates) },
        published: Published {
            status: PublishedStatus::from_json(payload.get("status")),
            signer: signer_status,
            voucher,
        },
        claims,
        issued: provider.sha256(parsed.issuer.signing_input.as_bytes()),
        origin: None,
        proofs: (issuer, disclosures, validity, holder),
    })
}

fn malformed(check: Check, detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::MalformedPresentation, check, detail)
}

/// Key binding is never optional, and the decision does not depend on the presentation (RFC 9901
/// 7.3).
fn require_key_binding(
    parsed: &ParsedSdJwt<'_>,
    report: &mut CredentialReport,
) -> Result<(), VerifyError> {
    if parsed.key_binding.is_none() {
        let detail = "the presentation has no key binding JWT";
        return Err(VerifyError::new(
            Reason::HolderBindingMissing,
            Check::KeyBindingPresent,
            detail,
        ));
    }
    report.pass(Check::KeyBindingPresent);
    report.pass(Check::KeyBindingJwt);
    Ok(())
}

/// SD-JWT VC 2.2.2.1: `iss` may be absent; if present it must be the trusted one.
fn check_iss(
    payload: Value<'_, '_>,
    expected: &ExpectedSdJwtVc<'_>,
    report: &mut CredentialReport,
) -> Result<(), VerifyError> {
    if let Some(iss) = payload.get("iss") {
        let iss = iss.as_str().ok_or(malformed(Check::Issuer, "iss is not a string"))?;
        if expected.issuer.iss.as_ref().is_some_and(|trusted| *trusted != *iss) {
            let detail = "iss is not the trusted issuer";
            return Err(VerifyError::new(Reason::UntrustedIssuer, Check::Issuer, detail));
        }
    }
    report.pass(Check::Issuer);
    Ok(())
}

/// SD-JWT VC 2.2.2.1; `aka_vcts` names further types of the same credential.
fn check_vct(
    payload: Value<'_, '_>,
    expected: &ExpectedSdJwtVc<'_>,
    report: &mut CredentialReport,
) -> Result<(), VerifyError> {
    let bad = |detail| malformed(Check::Vct, detail);
    let vct =
        payload.get("vct").and_then(Value::as_str).ok_or(bad("vct is missing or not a string"))?;
    let mut accepted = expected.accepts_type(&vct);
    if let Some(others) = payload.get("aka_vcts") {
        let mut empty = true;
        for other in others.elements().ok_or(bad("aka_vcts is not an array"))? {
            empty = false;
            let other = other.as_str().ok_or(bad("aka_vcts has a value that is not a string"))?;
            if other == vct {
                return Err(bad("aka_vcts repeats vct"));
            }
            accepted |= expected.accepts_type(&other);
        }
        if empty {
            return Err(bad("aka_vcts is empty"));
        }
    }
    if !accepted {
        let detail = "vct is not an accepted type of the trust entry";
        return Err(VerifyError::new(Reason::TypeMismatch, Check::Vct, detail));
    }
    report.pass(Check::Vct);
    Ok(())
}

/// RFC 9901 4.1.1: absent means sha-256; an unsupported name is refused, never guessed.
fn read_sd_alg(
    payload: Value<'_, '_>,
    report: &mut CredentialReport,
) -> Result<HashAlg, VerifyError> {
    let alg = match payload.get("_sd_alg") {
        None => HashAlg::Sha256,
        Some(name) => {
            let name = name.as_str().ok_or(malformed(Check::SdAlg, "_sd_alg is not a string"))?;
            HashAlg::from_name(&name).ok_or(VerifyError::new(
                Reason::AlgorithmNotAllowed,
                Check::SdAlg,
                "_sd_alg is not sha-256, sha-384 or sha-512",
            ))?
        }
    };
    report.pass(Check::SdAlg);
    Ok(alg)
}

fn bind_disclosures<'t, 'a>(
    tape: &'t Tape<'a>,
    payload: NodeId,
    index: DisclosureIndex,
    report: &mut CredentialReport,
) -> Result<(ProcessedPayload<'t, 'a>, DisclosuresBound), VerifyError> {
    let payload = ProcessedPayload::bind(tape, payload, index)?;
    for check in [
        Check::DisclosureFormat,
        Check::DigestPlaces,
        Check::DisclosedName,
        Check::DigestsUnique,
        Check::NeverDisclosed,
        Check::AllReferenced,
    ] {
        report.pass(check);
    }
    Ok((payload, DisclosuresBound::assertion()))
}

struct Dates {
    valid_from: Option<UnixMillis>,
    valid_until: Option<UnixMillis>,
}

/// RFC 7519 4.1.3 to 4.1.6, each separately: a date of the wrong JSON type does not count as
/// absent.
fn check_validity(
    payload: &ProcessedPayload<'_, '_>,
    expected: &ExpectedSdJwtVc<'_>,
    report: &mut CredentialReport,
) -> Result<(Dates, WithinValidity), VerifyError> {
    let date = |name, check| match payload.get(name) {
        None => Ok(None),
        Some(value) => {
            numeric_date(value).map(Some).ok_or(malformed(check, "a date is not a number"))
        }
    };
    let until = date("exp", Check::Expiry)?;
    if until.is_some_and(|exp| exp.plus(CLOCK_SKEW_MS) <= expected.now) {
        let detail = "exp is in the past";
        return Err(VerifyError::new(Reason::CredentialExpired, Check::Expiry, detail));
    }
    report.pass(Check::Expiry);
    let from = date("nbf", Check::NotBefore)?;
    let issued = date("iat", Check::NotBefore)?;
    let begun =
        |date: Option<UnixMillis>| date.is_none_or(|date| date <= expected.now.plus(CLOCK_SKEW_MS));
    if !begun(from) || !begun(issued) {
        let detail = "nbf or iat is in the future";
        return Err(VerifyError::new(Reason::CredentialNotYetValid, Check::NotBefore, detail));
    }
    report.pass(Check::NotBefore);
    check_credential_audience(payload, expected)?;
    report.pass(Check::CredentialAudience);
    Ok((Dates { valid_from: from, valid_until: until }, WithinValidity::assertion()))
}

/// RFC 9901 7.1 step 6: a credential restricted to other verifiers is refused.
fn check_credential_audience(
    payload: &ProcessedPayload<'_, '_>,
    expected: &ExpectedSdJwtVc<'_>,
) -> Result<(), VerifyError> {
    let Some(aud) = payload.get("aud") else { return Ok(()) };
    let is_us = |value: Value<'_, '_>| value.as_str().is_some_and(|aud| aud == expected.audience);
    let includes_us = match aud.kind() {
        Kind::String => is_us(aud),
        Kind::Array => aud.elements().into_iter().flatten().any(is_us),
        _ => return Err(malformed(Check::CredentialAudience, "aud is not a string or array")),
    };
    if includes_us {
        return Ok(());
    }
    let detail = "the credential is meant for other verifiers";
    Err(VerifyError::new(Reason::AudienceMismatch, Check::CredentialAudience, detail))
}

/// Every requested claim is disclosed, not only a container whose whole content is withheld, and
/// meets its filter; no other claim is returned.
fn disclose(
    payload: &ProcessedPayload<'_, '_>,
    expected: &ExpectedSdJwtVc<'_>,
    report: &mut CredentialReport,
) -> Result<DisclosedClaims, VerifyError> {
    let mut claims = DisclosedClaims::with_capacity(expected.claims.len());
    claims.reserve(64 * expected.claims.len());
    for name in expected.claims {
        let missing = |detail| VerifyError::new(Reason::ClaimMissing, Check::ClaimsPresent, detail);
        if let Some(path) = expected.claim_path(name) {
            let selected = select(payload, path)
                .ok_or(missing("nothing at the path of a requested claim is disclosed"))?;
            claims.push(name, |json| selected.write(payload, json));
            check_size(&claims)?;
            continue;
        }
        let value = payload
            .get(name)
            .filter(|_| !is_reserved(name))
            .ok_or(missing("a requested claim is not disclosed"))?;
        if payload.is_withheld(value) {
            return Err(missing("nothing in a requested claim is disclosed"));
        }
        claims.push(name, |json| payload.write(value, json));
    }
    claims.finish();
    report.pass(Check::ClaimsPresent);
    check_filters(&claims, expected.filters)?;
    report.pass(Check::ClaimFilters);
    Ok(claims)
}

/// Paths that lead to one value, or into each other, repeat it in the output.
fn check_size(claims: &DisclosedClaims) -> Result<(), VerifyError> {
    if claims.as_json().len() > MAX_PRESENTATION_BYTES {
        let detail = "the requested claims take more than 512 KiB";
        return Err(VerifyError::new(Reason::LimitExceeded, Check::Limits, detail));
    }
    Ok(())
}

/// Names of the format itself are never claims.
fn is_reserved(name: &str) -> bool {
    RESERVED_NAMES.contains(&name)
}

/// The value of each claim must meet its filter.
pub(super) fn check_filters(
    claims: &DisclosedClaims,
    filters: &[(String, ClaimFilter)],
) -> Result<(), VerifyError> {
    for (name, filter) in filters {
        let mut tape = Tape::default();
        let text = claims.get(name).unwrap_or("null");
        let met = tape.parse(text.as_bytes()).is_ok_and(|id| filter.matches(tape.value(id)));
        if !met {
            let detail = "a claim does not meet its filter";
            return Err(VerifyError::new(Reason::ClaimFilterMismatch, Check::ClaimFilters, detail));
        }
    }
    Ok(())
}

fn subject_values(
    payload: &ProcessedPayload<'_, '_>,
    expected: &ExpectedSdJwtVc<'_>,
) -> Vec<Option<String>> {
    let value = |path: &SubjectPath| {
        let mut json = String::new();
        match claim_path_of(path, expected) {
            Some(path) => select(payload, path)?.write(payload, &mut json),
            None => {
                let value = payload.path(path.segments());
                payload.write(value.filter(|value| !payload.is_withheld(*value))?, &mut json);
            }
        }
        normalise(&json)
    };
    expected.subject_paths.iter().map(value).collect()
}

/// A claim is compared at its path.
fn claim_path_of<'e>(path: &SubjectPath, expected: &ExpectedSdJwtVc<'e>) -> Option<&'e ClaimPath> {
    match path.segments() {
        [claim] => expected.claim_path(claim),
        _ => None,
    }
}

fn facts(payload: &ProcessedPayload<'_, '_>, signer: &Signer, dates: Dates) -> CredentialFacts {
    let text = |name| payload.get(name).and_then(Value::as_str).map(|text| text.into_owned());
    CredentialFacts {
        credential_type: text("vct").unwrap_or_default(),
        issuer: text("iss").or_else(|| signer.subject()),
        alg: signer.alg(),
        trust: signer.trust(),
        listed_by: signer.listed(),
        holder_binding: HolderBinding::KbJwt,
        session_transcript: None,
        decided_by: Vec::new(),
        issuing_country_unbound: false,
        tolerated: signer.tolerated(),
        valid_from: dates.valid_from,
        valid_until: dates.valid_until,
        transaction_data: Vec::new(),
    }
}
