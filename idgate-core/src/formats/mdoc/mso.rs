//! The mobile security object: the data that the issuer signed (ISO/IEC 18013-5 9.1.2.4).

use alloc::borrow::Cow;

use super::{malformed, not_cbor};
use crate::codec::cbor::{Tape, Value};
use crate::error::{Check, VerifyError};
use crate::time::UnixMillis;

const CHECK: Check = Check::Mso;

/// An MSO with the right structure.
#[derive(Debug)]
pub(crate) struct MobileSecurityObject<'t, 'a> {
    pub(crate) digest_algorithm: Cow<'a, str>,
    /// `{namespace: {digestID: digest}}`
    pub(crate) value_digests: Value<'t, 'a>,
    /// A COSE_Key.
    pub(crate) device_key: Value<'t, 'a>,
    key_authorizations: Option<Value<'t, 'a>>,
    pub(crate) doc_type: Cow<'a, str>,
    pub(crate) validity: ValidityInfo,
    pub(crate) status: Option<Value<'t, 'a>>,
}

/// The dates of an MSO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValidityInfo {
    pub(crate) signed: UnixMillis,
    pub(crate) valid_from: UnixMillis,
    pub(crate) valid_until: UnixMillis,
}

/// MobileSecurityObjectBytes, the payload of `issuerAuth`: the MSO in tag 24.
pub(crate) fn encoded_mso(payload: &[u8]) -> Result<Cow<'_, [u8]>, VerifyError> {
    let mut tape = Tape::default();
    let payload = tape.parse(payload).map_err(|error| not_cbor(CHECK, error))?;
    let detail = "the payload of issuerAuth is not encoded CBOR in tag 24";
    tape.value(payload).encoded_cbor().ok_or(malformed(CHECK, detail))
}

/// The tag of a date and time as text (RFC 8949 3.4.1).
const TDATE: u64 = 0;

impl<'t, 'a> MobileSecurityObject<'t, 'a> {
    pub(crate) fn read(value: Value<'t, 'a>) -> Result<Self, VerifyError> {
        let bad = |detail| malformed(CHECK, detail);
        if !value.get("version").is_some_and(|version| version.is_text("1.0")) {
            return Err(bad("version of the MSO is not 1.0"));
        }
        let digest_algorithm = value.get("digestAlgorithm").and_then(Value::as_text);
        let value_digests = value.get("valueDigests").filter(|map| map.entries().is_some());
        let key_info = value.get("deviceKeyInfo").ok_or(bad("deviceKeyInfo is missing"))?;
        let key_authorizations = key_info.get("keyAuthorizations");
        if !key_authorizations.is_none_or(are_lists_of_names) {
            return Err(bad("keyAuthorizations does not hold lists of names"));
        }
        let doc_type = value.get("docType").and_then(Value::as_text);
        let validity = value.get("validityInfo").ok_or(bad("validityInfo is missing"))?;
        Ok(Self {
            digest_algorithm: digest_algorithm
                .ok_or(bad("digestAlgorithm is missing or not text"))?,
            value_digests: value_digests.ok_or(bad("valueDigests is missing or not a map"))?,
            device_key: key_info.get("deviceKey").ok_or(bad("deviceKey is missing"))?,
            key_authorizations,
            doc_type: doc_type.ok_or(bad("docType of the MSO is missing or not text"))?,
            validity: ValidityInfo::read(validity)?,
            status: value.get("status"),
        })
    }

    /// Whether the device may sign `element` (ISO/IEC 18013-5 9.1.2.4, KeyAuthorizations).
    pub(crate) fn authorizes(&self, name_space: Value<'_, '_>, element: Value<'_, '_>) -> bool {
        let (Some(name_space), Some(element)) = (name_space.as_text(), element.as_text()) else {
            return false;
        };
        let Some(granted) = self.key_authorizations else { return false };
        let lists = |list: Option<Value<'_, '_>>, name: &str| {
            let mut names = list.and_then(Value::elements).into_iter().flatten();
            names.any(|listed| listed.is_text(name))
        };
        let elements = granted.get("dataElements").and_then(|all| all.get(&name_space));
        lists(granted.get("nameSpaces"), &name_space) || lists(elements, &element)
    }
}

/// Unreadable authorizations never count as empty ones (ISO/IEC 18013-5 9.1.2.4,
/// KeyAuthorizations).
fn are_lists_of_names(authorizations: Value<'_, '_>) -> bool {
    let are_names = |list: Value<'_, '_>| {
        list.elements().is_some_and(|mut names| names.all(|name| name.as_text().is_some()))
    };
    let of_name_spaces = |map: Value<'_, '_>| {
        map.entries().is_some_and(|mut entries| {
            entries.all(|(name, list)| name.as_text().is_some() && are_names(list))
        })
    };
    authorizations.entries().is_some()
        && authorizations.get("nameSpaces").is_none_or(are_names)
        && authorizations.get("dataElements").is_none_or(of_name_spaces)
}

impl ValidityInfo {
    fn read(value: Value<'_, '_>) -> Result<Self, VerifyError> {
        Ok(Self {
            signed: date(value, "signed")?,
            valid_from: date(value, "validFrom")?,
            valid_until: date(value, "validUntil")?,
        })
    }
}

/// A tdate. Fractions of a second and offsets, which 18013-5 does not use, are accepted.
fn date(validity: Value<'_, '_>, name: &str) -> Result<UnixMillis, VerifyError> {
    let text = validity.get(name).and_then(|date| date.tagged(TDATE)).and_then(Value::as_text);
    text.and_then(|text| UnixMillis::parse_rfc3339(&text))
        .ok_or(malformed(Check::ValidityInfo, "a date of validityInfo is missing or not a tdate"))
}
