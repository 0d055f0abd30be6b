//! ISO/IEC 18013-5 mdoc: DeviceResponse, mobile security object (MSO), digests, device
//! authentication and session transcripts. This folder parses and checks digests; `verify` decides
//! about trust and sufficiency.

mod device_auth;
mod device_response;
mod digests;
mod mso;
mod session_transcript;

pub(crate) use self::device_auth::{DeviceAuth, DeviceAuthentication, DeviceSigned};
pub(crate) use self::device_response::{DeviceResponse, Document, no_documents};
pub(crate) use self::digests::Items;
pub(crate) use self::mso::{MobileSecurityObject, ValidityInfo, encoded_mso};
pub use self::session_transcript::Handover;

use crate::codec::cbor::CborError;
use crate::error::{Check, Reason, VerifyError};

fn malformed(check: Check, detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::MalformedPresentation, check, detail)
}

fn too_many(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::LimitExceeded, Check::Limits, detail)
}

/// The error for bytes that are not strict CBOR: too much depth or too many items exceeds a limit,
/// and everything else is malformed.
pub(crate) fn not_cbor(check: Check, error: CborError) -> VerifyError {
    let exceeded = |detail| VerifyError::new(Reason::LimitExceeded, check, detail);
    let detail = match error {
        CborError::TooDeep => return exceeded("the CBOR nests deeper than 32"),
        CborError::TooMany => return exceeded("the CBOR has more than 8192 items"),
        CborError::Syntax => "the bytes are not well-formed CBOR",
        CborError::TrailingBytes => "there are bytes after the CBOR item",
        CborError::DuplicateKey => "a CBOR map has a duplicate key",
        CborError::KeyType => "a CBOR map key is neither an integer nor a string",
        CborError::Utf8 => "a CBOR text string is not UTF-8",
    };
    malformed(check, detail)
}
