//! The wallet's answer (ISO/IEC 18013-5 8.3.2.1.2.2): `{"version", ? "documents": [+ Document], ?
//! "documentErrors": [+ {docType: code}], "status"}`.

use alloc::borrow::Cow;

use super::{malformed, too_many};
use crate::codec::cbor::{Elements, Value};
use crate::error::{Check, Reason, VerifyError};
use crate::limits::{MAX_NAME_SPACES, MAX_REPORTED_ERRORS};

const CHECK: Check = Check::DeviceResponse;

/// A DeviceResponse with the right structure.
#[derive(Debug)]
pub(crate) struct DeviceResponse<'t, 'a> {
    pub(crate) version: Cow<'a, str>,
    pub(crate) status: u64,
    documents: Option<Elements<'t, 'a>>,
    document_errors: Option<Elements<'t, 'a>>,
}

/// `{"docType", "issuerSigned": {? "nameSpaces", "issuerAuth"},
/// "deviceSigned": {"nameSpaces", "deviceAuth"}, ? "errors": {namespace: {element: code}}}`
#[derive(Debug)]
pub(crate) struct Document<'t, 'a> {
    pub(crate) doc_type: Cow<'a, str>,
    /// Namespaces of issuer-signed items, if there are any.
    pub(crate) name_spaces: Option<Value<'t, 'a>>,
    pub(crate) issuer_auth: Value<'t, 'a>,
    /// A tag-24 item.
    pub(crate) device_name_spaces: Value<'t, 'a>,
    pub(crate) device_auth: Value<'t, 'a>,
    errors: Option<Value<'t, 'a>>,
}

/// The refusal of a response without documents that reports no error: `documents` must have at
/// least one (ISO/IEC 18013-5 8.3.2.1.2.2).
pub(crate) fn no_documents() -> VerifyError {
    malformed(Check::DeviceResponse, "the DeviceResponse has no documents")
}

impl<'t, 'a> DeviceResponse<'t, 'a> {
    pub(crate) fn read(value: Value<'t, 'a>) -> Result<Self, VerifyError> {
        if value.entries().is_none() {
            return Err(malformed(CHECK, "the DeviceResponse is not a map"));
        }
        let list = |name, wrong| match value.get(name) {
            None => Ok(None),
            Some(list) => list.elements().map(Some).ok_or(malformed(CHECK, wrong)),
        };
        let version = value.get("version").and_then(Value::as_text);
        let status = value.get("status").and_then(Value::as_u64);
        Ok(Self {
            version: version.ok_or(malformed(CHECK, "version is missing or not text"))?,
            status: status
                .ok_or(malformed(CHECK, "status is missing or not an unsigned integer"))?,
            documents: list("documents", "documents is not an array")?,
            document_errors: list("documentErrors", "documentErrors is not an array")?,
        })
    }

    /// Every document, in order.
    pub(crate) fn documents(&self) -> impl Iterator<Item = Result<Document<'t, 'a>, VerifyError>> {
        self.documents.clone().into_iter().flatten().map(Document::read)
    }

    /// Checks that the version is known and that no error is reported.
    pub(crate) fn check_status(&self) -> Result<(), VerifyError> {
        let minor = self.version.strip_prefix("1.").unwrap_or_default();
        if minor.is_empty() || !minor.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(malformed(Check::ResponseStatus, "version is not 1.x"));
        }
        if self.status != 0 {
            return Err(malformed(Check::ResponseStatus, "status reports an error"));
        }
        Ok(())
    }

    /// Checks that the wallet reports no error for this document.
    pub(crate) fn check_no_error_for(&self, doc_type: &str) -> Result<(), VerifyError> {
        let mut errors = self.document_errors.clone().into_iter().flatten();
        if errors.any(|error| error.get(doc_type).is_some()) {
            let detail = "documentErrors lists the requested document";
            return Err(VerifyError::new(Reason::ClaimMissing, Check::ResponseStatus, detail));
        }
        Ok(())
    }
}

impl<'t, 'a> Document<'t, 'a> {
    fn read(value: Value<'t, 'a>) -> Result<Self, VerifyError> {
        let bad = |detail| malformed(CHECK, detail);
        let doc_type = value.get("docType").and_then(Value::as_text);
        let issuer_signed = value.get("issuerSigned").ok_or(bad("issuerSigned is missing"))?;
        let device_signed = value.get("deviceSigned").ok_or(bad("deviceSigned is missing"))?;
        let device_name_spaces = device_signed.get("nameSpaces");
        let errors = value.get("errors");
        if let Some(errors) = errors {
            check_errors(errors)?;
        }
        Ok(Self {
            doc_type: doc_type.ok_or(bad("docType is missing or not text"))?,
            name_spaces: issuer_signed.get("nameSpaces"),
            issuer_auth: issuer_signed.get("issuerAuth").ok_or(bad("issuerAuth is missing"))?,
            device_name_spaces: device_name_spaces
                .ok_or(bad("nameSpaces of deviceSigned is missing"))?,
            device_auth: device_signed.get("deviceAuth").ok_or(bad("deviceAuth is missing"))?,
            errors,
        })
    }

    /// Whether the wallet reports an error for this element.
    pub(crate) fn reports_error_for(&self, name_space: &str, element: &str) -> bool {
        let errors = self.errors.and_then(|errors| errors.get(name_space));
        errors.is_some_and(|errors| errors.get(element).is_some())
    }
}

/// `{namespace: {element: code}}`, small enough that every requested element can be searched in it.
fn check_errors(errors: Value<'_, '_>) -> Result<(), VerifyError> {
    let entries = errors.entries().ok_or(malformed(CHECK, "errors is not a map"))?;
    for (at, (_, elements)) in entries.enumerate() {
        let elements = elements.entries().map_or(0, |elements| elements.count());
        if at >= MAX_NAME_SPACES || elements > MAX_REPORTED_ERRORS {
            return Err(too_many("errors has more than 32 namespaces, or one with more than 256"));
        }
    }
    Ok(())
}
