//! SD-JWT VC (RFC 9901, draft-ietf-oauth-sd-jwt-vc): compact text, disclosures, processed payload.
//! This folder parses and checks digests; `verify` decides about trust and sufficiency.

mod disclosures;
mod parse;
mod payload;

pub(crate) use self::disclosures::DisclosureIndex;
pub(crate) use self::parse::{ParsedSdJwt, SplitSdJwt};
pub(crate) use self::payload::{NEVER_DISCLOSED, ProcessedPayload};
use crate::error::{Check, Reason, VerifyError};
pub(crate) use crate::ids::RESERVED_NAMES;

/// The header types of an SD-JWT VC: the current one and that of drafts 00 to 05.
pub(crate) const CREDENTIAL_TYPES: &[&str] = &["dc+sd-jwt", "vc+sd-jwt"];
/// The header type of a key binding JWT (RFC 9901 4.3).
pub(crate) const KEY_BINDING_TYPE: &[&str] = &["kb+jwt"];

fn malformed(check: Check, detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::MalformedPresentation, check, detail)
}
