//! One DeviceResponse, against the handovers that its request allows.

use std::path::Path;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    CapturedEncryption, ExpectedMdoc, Handover, MdocRequest, base64url, verify_mdoc,
};
use idgate_core::verify::CredentialReport;
use idgate_core::{Profile, UnixMillis};

use super::{VerifyOptions, outcome, read, trust};
use crate::admin::files::in_file;
use crate::admin::output::Output;
use crate::failure::Failure;

/// The document type of an mDL (ISO/IEC 18013-5 7.1).
pub(super) const DEFAULT_DOC_TYPE: &str = "org.iso.18013.5.1.mDL";

/// Verifies the DeviceResponse in the file.
pub(super) fn verify(options: &VerifyOptions, at: UnixMillis) -> Result<Output, Failure> {
    let response_uri = response_uri(options)?;
    let issuer = trust::certificates(options)?;
    let encryption = encryption(options)?;
    let Some(bytes) = device_response(options, &encryption)? else {
        let why = "it cannot be decrypted: it is encrypted to another key, for another page or \
                   for another --encryption-info";
        return Ok(outcome::undecryptable(why));
    };
    let handovers = handovers(options, &encryption, Profile::Draft);
    let audience = options.audience();
    let request = MdocRequest { client_id: &audience, nonce: options.nonce(), response_uri };
    // No elements are requested, so no namespace matters.
    let mut expected = ExpectedMdoc::new(&issuer, &options.doc_type, "", request, at);
    expected.livemode = !options.test;
    expected.handovers = &handovers;
    // No request to a browser announces device MACs, so none is valid.
    expected.reader_key = encryption.reader_key().filter(|_| options.origin.is_none());
    let mut report = CredentialReport::default();
    let result = verify_mdoc(&PROVIDER, &bytes, &expected, &mut report);
    Ok(outcome::tell(&report, &result))
}

/// The response_uri, which the device signed. An answer through a browser has none.
pub(super) fn response_uri(options: &VerifyOptions) -> Result<&str, Failure> {
    match (&options.response_uri, &options.origin) {
        (Some(response_uri), _) => Ok(response_uri),
        (None, Some(_)) => Ok(""),
        (None, None) => {
            let why = "mso_mdoc needs --response-uri URI, or --origin ORIGIN, because the device signed it";
            Err(Failure::Usage(why.into()))
        }
    }
}

/// The handovers to try.
pub(super) fn handovers<'h>(
    options: &'h VerifyOptions,
    encryption: &'h CapturedEncryption,
    profile: Profile,
) -> Vec<Handover<'h>> {
    match (&options.origin, &options.encryption_info) {
        (Some(origin), Some(encryption_info)) => {
            vec![Handover::Iso180137AnnexC { encryption_info, origin }]
        }
        (Some(origin), None) => vec![encryption.handover_of_origin(origin)],
        (None, _) => encryption.handovers(profile),
    }
}

/// The major type of arrays (RFC 8949 3.1).
const ARRAY: u8 = 4;

/// The DeviceResponse in the file, decrypted if the page got it encrypted. `None`: it does not
/// open.
fn device_response(
    options: &VerifyOptions,
    encryption: &CapturedEncryption,
) -> Result<Option<Vec<u8>>, Failure> {
    let bytes = bytes(&options.file)?;
    // An EncryptedResponse is an array; a DeviceResponse is a map.
    let is_encrypted = bytes.first().is_some_and(|first| first >> 5 == ARRAY);
    let (Some(origin), Some(encryption_info), true) =
        (&options.origin, &options.encryption_info, is_encrypted)
    else {
        return Ok(Some(bytes));
    };
    if encryption.reader_key().is_none() {
        let why = "it is encrypted: give the private key, a JWK with d, by --enc-key";
        return Err(in_file(&options.file, why));
    }
    let text = base64url::encode(&bytes);
    let opened = encryption.open_device_response(&PROVIDER, &text, encryption_info, origin);
    Ok(opened.ok().map(|opened| opened.to_vec()))
}

/// base64url as in answers, or CBOR. The first byte of a CBOR map or array is never ASCII.
fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let file = read(path)?;
    let Some(text) = std::str::from_utf8(&file).ok().map(str::trim) else { return Ok(file) };
    match base64url::decode(text) {
        Ok(bytes) => Ok(bytes),
        Err(_) if text.ends_with('=') => Err(in_file(
            path,
            "its base64url is padded (`=`), which is not allowed; remove the padding",
        )),
        Err(_) => Ok(file),
    }
}

/// The encryption of the answer, from the options.
pub(super) fn encryption(options: &VerifyOptions) -> Result<CapturedEncryption, Failure> {
    let mut encryption = CapturedEncryption::default();
    if let Some(path) = options.enc_key.as_deref() {
        let jwk = read(path)?;
        encryption = encryption.with_jwk(&PROVIDER, &jwk).map_err(|why| in_file(path, why))?;
    }
    let Some(apu) = &options.apu else { return Ok(encryption) };
    encryption.with_apu(apu).ok_or_else(|| {
        Failure::Usage("--apu: must be base64url, copied from the header of the answer".into())
    })
}
