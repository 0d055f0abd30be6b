//! The device's proof: the key in the MSO, over our request and exactly this document type
//! (ISO/IEC 18013-5 9.1.3).

use super::expected::ExpectedMdoc;
use super::malformed;
use crate::cose;
use crate::crypto::CryptoProvider;
use crate::error::{Check, Reason, VerifyError};
use crate::formats::mdoc::{
    DeviceAuth, DeviceAuthentication, DeviceSigned, Document, Handover, MobileSecurityObject,
    not_cbor,
};
use crate::verify::proof::{HolderBinding, HolderBound};
use crate::verify::report::CredentialReport;

/// A device whose proof covers our request.
pub(super) struct AuthenticatedDevice<'e> {
    pub(super) binding: HolderBinding,
    /// The handover that matched.
    pub(super) handover: &'e Handover<'e>,
    pub(super) proof: HolderBound,
}

/// The device's key from the MSO authenticated this session, and the device signed only elements
/// that it may sign.
pub(super) fn authenticate<'e>(
    provider: &CryptoProvider,
    document: &Document<'_, '_>,
    mso: &MobileSecurityObject<'_, '_>,
    expected: &ExpectedMdoc<'e>,
    report: &mut CredentialReport,
) -> Result<AuthenticatedDevice<'e>, VerifyError> {
    let device_key =
        cose::public_key(mso.device_key).map_err(|error| invalid(Check::DeviceKey, error.0))?;
    report.pass(Check::DeviceKey);
    let proof = DeviceAuth::read(document.device_auth)
        .map_err(|error| invalid(Check::DeviceAuth, error.0))?;
    if !proof.fits(&device_key) {
        return Err(invalid(Check::DeviceAuth, "alg does not fit the device's key"));
    }
    let binding = match proof {
        DeviceAuth::Signature(_) => HolderBinding::DeviceSignature,
        DeviceAuth::Mac(_) if expected.reader_key.is_some() => HolderBinding::DeviceMac,
        DeviceAuth::Mac(_) => {
            let detail = "a device MAC is accepted only in an encrypted answer";
            return Err(invalid(Check::DeviceAuth, detail));
        }
    };
    report.pass(Check::DeviceAuth);
    let authentication = DeviceAuthentication {
        doc_type: &document.doc_type,
        device_name_spaces: document.device_name_spaces.raw(),
        device_key: &device_key,
        reader_key: expected.reader_key,
    };
    let handover = matching_handover(provider, &authentication, &proof, expected)?;
    report.pass(Check::SessionTranscript);
    check_authorizations(document, mso)?;
    report.pass(Check::KeyAuthorizations);
    Ok(AuthenticatedDevice { binding, handover, proof: HolderBound::assertion() })
}

fn invalid(check: Check, detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::DeviceAuthInvalid, check, detail)
}

/// Each handover covers the whole request, so a wallet may use any of them.
fn matching_handover<'e>(
    provider: &CryptoProvider,
    authentication: &DeviceAuthentication<'_>,
    proof: &DeviceAuth<'_, '_>,
    expected: &ExpectedMdoc<'e>,
) -> Result<&'e Handover<'e>, VerifyError> {
    let request = &expected.request;
    // In Annex C the nonce is in EncryptionInfo.
    let is_fresh = |handover: &&Handover<'_>| match handover {
        Handover::Iso180137AnnexC { encryption_info, .. } => !encryption_info.is_empty(),
        _ => !request.nonce.is_empty(),
    };
    if !expected.handovers.iter().all(|handover| is_fresh(&handover)) {
        return Err(invalid(Check::SessionTranscript, "the request has no nonce"));
    }
    let matches = |handover: &&Handover<'_>| {
        let (client_id, nonce) = (request.client_id, request.nonce);
        let transcript =
            handover.session_transcript(provider, client_id, nonce, request.response_uri);
        authentication.verify(provider, proof, &transcript)
    };
    expected.handovers.iter().find(matches).ok_or(invalid(
        Check::SessionTranscript,
        "the device's key did not authenticate this request",
    ))
}

/// The issuer must allow the elements that the device itself signs; none of them is
/// returned.
fn check_authorizations(
    document: &Document<'_, '_>,
    mso: &MobileSecurityObject<'_, '_>,
) -> Result<(), VerifyError> {
    let check = Check::KeyAuthorizations;
    let bytes = document.device_name_spaces.encoded_cbor();
    let bytes = bytes.ok_or(malformed(check, "nameSpaces of deviceSigned is not encoded CBOR"))?;
    // An empty map, which nearly every device sends.
    if *bytes == [0xa0] {
        return Ok(());
    }
    let signed = DeviceSigned::parse(&bytes).map_err(|error| not_cbor(check, error))?;
    let allowed = signed.all(|name_space, element| mso.authorizes(name_space, element));
    match allowed {
        Some(true) => Ok(()),
        Some(false) => Err(invalid(check, "the device signed an element without authorisation")),
        None => Err(malformed(check, "nameSpaces of deviceSigned is not a map of maps")),
    }
}
