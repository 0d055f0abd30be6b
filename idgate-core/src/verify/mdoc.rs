//! One mdoc, from bytes to proof, by the rules of ISO/IEC 18013-5 9.3: read, authenticate the
//! signer, check the digests of the items, check the dates, authenticate the device, and only then
//! check the requested elements. One function per question.

mod age;
mod device;
mod disclose;
mod expected;
#[cfg(all(test, feature = "aws-lc-rs", feature = "rustcrypto"))]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods, // reads test data
)]
mod tests;

use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub use self::expected::{ExpectedMdoc, MdocRequest};
use super::conclude::conclude;
use super::proof::{
    AwaitingStatus, CredentialFacts, DisclosuresBound, IssuerAuthenticated, TrustedBy,
    VerifiedCredential, WithinValidity,
};
use super::report::CredentialReport;
use crate::codec::base64url;
use crate::codec::cbor::{self, Tape, Value};
use crate::cose::{Sign1, alg_of_label};
use crate::crypto::{CryptoProvider, HashAlg};
use crate::error::{Check, Reason, VerifyError};
use crate::formats::mdoc::{
    DeviceResponse, Document, Items, MobileSecurityObject, ValidityInfo, encoded_mso, no_documents,
    not_cbor,
};
use crate::limits::{CLOCK_SKEW_MS, MAX_PRESENTATION_BYTES};
use crate::revocation::{Published, PublishedStatus, SignerStatus, StatusContext, Voucher};
use crate::trust::DeviceResponseDocuments;
use crate::trust::certificate::is_within;
use crate::trust::known_signers::Purpose;
use crate::trust::path::VerifiedPath;

/// The namespace of the mDL (ISO/IEC 18013-5 7.2.1).
const MDL_NAME_SPACE: &str = "org.iso.18013.5.1";

/// Verifies one DeviceResponse outside a session, for example a captured one. It makes every check
/// that a session makes, except those that concern several credentials. CRLs come from the trust
/// entry.
///
/// # Errors
/// The first check that failed; `report` has those that passed.
pub fn verify_mdoc(
    provider: &CryptoProvider,
    device_response: &[u8],
    expected: &ExpectedMdoc<'_>,
    report: &mut CredentialReport,
) -> Result<VerifiedCredential, VerifyError> {
    let awaiting = verify_document(provider, device_response, expected, report);
    let context = StatusContext {
        provider,
        issuer: expected.issuer,
        trust: None,
        livemode: expected.livemode,
        on_unknown: None,
        now: expected.now,
    };
    conclude(awaiting, &context, report)
}

/// Checks everything but the status, for a DeviceResponse as OpenID4VP encodes it (OpenID4VP
/// B.2.5).
pub(super) fn verify_text(
    provider: &CryptoProvider,
    text: &str,
    expected: &ExpectedMdoc<'_>,
    report: &mut CredentialReport,
) -> Result<AwaitingStatus, VerifyError> {
    check_size(text.len())?;
    let bytes = base64url::decode(text).map_err(|_| {
        malformed(Check::DeviceResponse, "the DeviceResponse is not base64url without padding")
    })?;
    verify_document(provider, &bytes, expected, report)
}

/// Checks everything but the status.
pub(super) fn verify_document(
    provider: &CryptoProvider,
    bytes: &[u8],
    expected: &ExpectedMdoc<'_>,
    report: &mut CredentialReport,
) -> Result<AwaitingStatus, VerifyError> {
    check_size(bytes.len())?;
    let mut tape = Tape::with_room_for(bytes.len());
    let response = tape.parse(bytes).map_err(|error| not_cbor(Check::DeviceResponse, error))?;
    let document = select_document(tape.value(response), expected, report)?;

    let issuer_auth =
        Sign1::read(document.issuer_auth).map_err(|error| malformed(Check::IssuerAuth, error.0))?;
    let payload = issuer_auth.payload.as_deref();
    let payload = payload
        .ok_or(malformed(Check::IssuerAuth, "the payload of issuerAuth, the MSO, is detached"))?;
    let (path, issuer) = authenticate_issuer(provider, &issuer_auth, payload, expected, report)?;

    let mso_bytes = encoded_mso(payload)?;
    let mut mso_tape = Tape::with_room_for(mso_bytes.len());
    let mso = mso_tape.parse(&mso_bytes).map_err(|error| not_cbor(Check::Mso, error))?;
    let mso = MobileSecurityObject::read(mso_tape.value(mso))?;
    report.pass(Check::Mso);
    let hash_alg = digest_algorithm(&mso, report)?;
    check_mso_doc_type(&mso, &document, report)?;

    let items = Items::bind(provider, document.name_spaces, mso.value_digests, hash_alg)?;
    report.pass(Check::IssuerSignedItems);
    report.pass(Check::ValueDigests);
    let disclosures = DisclosuresBound::assertion();
    let validity = check_validity(mso.validity, &path, expected, report)?;
    let issuing_country = check_issuing_country(&items, &path, expected, report)?;
    let device = device::authenticate(provider, &document, &mso, expected, report)?;

    let disclosed = disclose::disclose(&document, &items, expected, report)?;
    Ok(AwaitingStatus {
        subject: disclose::subject_values(&items, expected),
        published: Published {
            status: PublishedStatus::from_cbor(mso.status),
            signer: Some(SignerStatus::of(&path)),
            voucher: Some(
                Voucher::of_mdoc(path.anchor_sha256, expected.doc_type)
                    .listed_as(path.listed.clone()),
            ),
        },
        claims: disclosed.claims,
        issued: provider.sha256(payload),
        origin: device.handover.origin().map(Into::into),
        facts: CredentialFacts {
            credential_type: mso.doc_type.into_owned(),
            alg: path.signer_key.alg(),
            holder_binding: device.binding,
            session_transcript: Some(device.handover.name()),
            decided_by: disclosed.decided_by,
            valid_from: Some(mso.validity.valid_from),
            valid_until: Some(mso.validity.valid_until),
            transaction_data: Vec::new(),
            trust: TrustedBy::of(&path),
            listed_by: path.listed.clone(),
            issuer: Some(path.anchor_subject.clone()),
            issuing_country_unbound: issuing_country == IssuingCountry::Unbound,
            tolerated: path.tolerated.clone(),
        },
        proofs: (issuer, disclosures, validity, device.proof),
    })
}

fn malformed(check: Check, detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::MalformedPresentation, check, detail)
}

fn check_size(bytes: usize) -> Result<(), VerifyError> {
    if bytes > MAX_PRESENTATION_BYTES {
        let detail = "the presentation is larger than 512 KiB";
        return Err(VerifyError::new(Reason::LimitExceeded, Check::Limits, detail));
    }
    Ok(())
}

/// The response is complete, and exactly one document has the requested type. An answer to several
/// requests also has other documents; docType selects.
fn select_document<'t, 'a>(
    response: Value<'t, 'a>,
    expected: &ExpectedMdoc<'_>,
    report: &mut CredentialReport,
) -> Result<Document<'t, 'a>, VerifyError> {
    let response = DeviceResponse::read(response)?;
    response.check_status()?;
    response.check_no_error_for(expected.doc_type)?;
    let mut selected = None;
    for (at, document) in response.documents().enumerate() {
        let document = document?;
        if at > 0 && expected.documents == DeviceResponseDocuments::One {
            let detail = "the DeviceResponse has more than one document";
            return Err(malformed(Check::DeviceResponse, detail));
        }
        if document.doc_type == expected.doc_type && selected.replace(document).is_some() {
            let detail = "two documents are of the requested type";
            return Err(malformed(Check::DocType, detail));
        }
    }
    if response.documents().next().is_none() {
        return Err(no_documents());
    }
    report.pass(Check::DeviceResponse);
    report.pass(Check::ResponseStatus);
    let mismatch = |reason, detail| VerifyError::new(reason, Check::DocType, detail);
    let detail = "no document is of the requested type";
    let document = selected.ok_or(mismatch(Reason::DocTypeMismatch, detail))?;
    if !expected.issuer.accepts_doc_type(&document.doc_type) {
        let detail = "docType is not an accepted type of the trust entry";
        return Err(mismatch(Reason::TypeMismatch, detail));
    }
    report.pass(Check::DocType);
    Ok(document)
}

/// The key is that of a certificate that leads to the trust entry; the header only confirms its
/// algorithm.
fn authenticate_issuer(
    provider: &CryptoProvider,
    issuer_auth: &Sign1<'_, '_>,
    payload: &[u8],
    expected: &ExpectedMdoc<'_>,
    report: &mut CredentialReport,
) -> Result<(Arc<VerifiedPath>, IssuerAuthenticated), VerifyError> {
    let chain = issuer_auth.headers.x5chain();
    let chain = chain.map_err(|error| malformed(Check::IssuerAuth, error.0))?;
    report.pass(Check::IssuerAuth);
    let chain: Vec<&[u8]> = chain.iter().map(Cow::as_ref).collect();
    let ExpectedMdoc { issuer, doc_type, livemode, now, .. } = *expected;
    let purpose = Purpose { issuer, doc_type: Some(doc_type), livemode };
    let path = purpose.authenticate(expected.known_signers(), provider, &chain, now)?;
    for check in [Check::CertificatePath, Check::CertificateValidity, Check::CertificateProfile] {
        report.pass(check);
    }
    let alg = path.signer_key.alg();
    let named = issuer_auth.headers.alg().and_then(alg_of_label);
    if named != Some(alg) || expected.alg.is_some_and(|wanted| wanted != alg) {
        let detail = "alg does not fit the signer's key, or is not the one asked for";
        return Err(VerifyError::new(Reason::AlgorithmNotAllowed, Check::MsoAlg, detail));
    }
    report.pass(Check::MsoAlg);
    let signed = issuer_auth.sig_structure(payload);
    provider.verify(&path.signer_key, &signed, &issuer_auth.signature).map_err(|_| {
        let detail = "the document signer did not sign this MSO";
        VerifyError::new(Reason::IssuerSignatureInvalid, Check::MsoSignature, detail)
    })?;
    report.pass(Check::MsoSignature);
    Ok((path, IssuerAuthenticated::assertion()))
}

/// The hash algorithm of the value digests.
fn digest_algorithm(
    mso: &MobileSecurityObject<'_, '_>,
    report: &mut CredentialReport,
) -> Result<HashAlg, VerifyError> {
    let alg = match &*mso.digest_algorithm {
        "SHA-256" => HashAlg::Sha256,
        "SHA-384" => HashAlg::Sha384,
        "SHA-512" => HashAlg::Sha512,
        _ => {
            let check = Check::DigestAlgorithm;
            let detail = "digestAlgorithm is not SHA-256, SHA-384 or SHA-512";
            return Err(VerifyError::new(Reason::AlgorithmNotAllowed, check, detail));
        }
    };
    report.pass(Check::DigestAlgorithm);
    Ok(alg)
}

/// Device authentication covers only the outer docType.
fn check_mso_doc_type(
    mso: &MobileSecurityObject<'_, '_>,
    document: &Document<'_, '_>,
    report: &mut CredentialReport,
) -> Result<(), VerifyError> {
    if mso.doc_type != document.doc_type {
        let detail = "docType of the MSO is not that of the document";
        return Err(VerifyError::new(Reason::DocTypeMismatch, Check::MsoDocType, detail));
    }
    report.pass(Check::MsoDocType);
    Ok(())
}

/// `validUntil` may be after the certificate's end: the signature was made in time.
fn check_validity(
    validity: ValidityInfo,
    path: &VerifiedPath,
    expected: &ExpectedMdoc<'_>,
    report: &mut CredentialReport,
) -> Result<WithinValidity, VerifyError> {
    let check = Check::ValidityInfo;
    let ValidityInfo { signed, valid_from, valid_until } = validity;
    if !is_within(path.not_before, path.not_after, signed) {
        return Err(malformed(
            check,
            "signed is outside the validity period of the signer's certificate",
        ));
    }
    if valid_from < signed {
        return Err(malformed(check, "validFrom is before signed"));
    }
    if valid_until <= valid_from {
        return Err(malformed(check, "validUntil is not after validFrom"));
    }
    if valid_from > expected.now.plus(CLOCK_SKEW_MS) {
        let detail = "validFrom is in the future";
        return Err(VerifyError::new(Reason::CredentialNotYetValid, check, detail));
    }
    if valid_until.plus(CLOCK_SKEW_MS) < expected.now {
        let detail = "validUntil is in the past";
        return Err(VerifyError::new(Reason::CredentialExpired, check, detail));
    }
    report.pass(check);
    Ok(WithinValidity::assertion())
}

/// How the issuing country of an mDL relates to that of its signer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum IssuingCountry {
    Bound,
    /// It differs from the signer's, which the trust entry tolerates in test-mode sessions.
    Unbound,
}

/// The issuer that an mDL names is the one in its signer's certificate. A pinned signer may omit
/// it.
fn check_issuing_country(
    items: &Items<'_>,
    path: &VerifiedPath,
    expected: &ExpectedMdoc<'_>,
    report: &mut CredentialReport,
) -> Result<IssuingCountry, VerifyError> {
    let agrees = |element, attribute: Option<&str>, absent| {
        let Some(value) = items.get(MDL_NAME_SPACE, element) else { return true };
        attribute.map_or(absent, |attribute| {
            let text = cbor::decode(value, |value| {
                value.as_text().is_some_and(|text| text.eq_ignore_ascii_case(attribute))
            });
            text.unwrap_or(false)
        })
    };
    let country = agrees("issuing_country", path.country.as_deref(), path.pinned);
    let jurisdiction = agrees("issuing_jurisdiction", path.state_or_province.as_deref(), true);
    let tolerated = expected.issuer.issuing_country_unbound && !expected.livemode;
    if !jurisdiction || !(country || tolerated) {
        let detail = "issuing_country or issuing_jurisdiction does not match the signer's \
                      certificate";
        return Err(VerifyError::new(Reason::ChainInvalid, Check::IssuingCountry, detail));
    }
    if !country {
        return Ok(IssuingCountry::Unbound);
    }
    report.pass(Check::IssuingCountry);
    Ok(IssuingCountry::Bound)
}
