//! The returned claims: only requested elements that the issuer signed, as JSON.

use alloc::string::String;
use alloc::vec::Vec;

use super::expected::ExpectedMdoc;
use super::{age, malformed};
use crate::codec::cbor::{self, write_json};
use crate::error::{Check, Reason, VerifyError};
use crate::formats::mdoc::{Document, Items};
use crate::verify::proof::DisclosedClaims;
use crate::verify::report::CredentialReport;
use crate::verify::sd_jwt::check_filters;
use crate::verify::subject_groups::normalise;

/// The requested claims.
pub(super) struct Disclosed {
    pub(super) claims: DisclosedClaims,
    /// Requested age statements that were answered by another element.
    pub(super) decided_by: Vec<(String, String)>,
}

/// Every requested element is there and meets its filter; no other element is returned.
pub(super) fn disclose(
    document: &Document<'_, '_>,
    items: &Items<'_>,
    expected: &ExpectedMdoc<'_>,
    report: &mut CredentialReport,
) -> Result<Disclosed, VerifyError> {
    let mut claims = DisclosedClaims::with_capacity(expected.claims.len());
    claims.reserve(64 * expected.claims.len());
    let mut decided_by = Vec::new();
    for name in expected.claims {
        let (element, answer) = answer(items, expected.name_space, name).ok_or_else(missing)?;
        if document.reports_error_for(expected.name_space, element) {
            return Err(missing());
        }
        let mut written = Ok(());
        claims.push(name, |json| written = answer.write(json));
        written?;
        if element != name {
            decided_by.push((name.clone(), element.into()));
        }
    }
    claims.finish();
    report.pass(Check::ClaimsPresent);
    check_filters(&claims, expected.filters)?;
    report.pass(Check::ClaimFilters);
    Ok(Disclosed { claims, decided_by })
}

/// The values to compare within a group; element names have no dots.
pub(super) fn subject_values(
    items: &Items<'_>,
    expected: &ExpectedMdoc<'_>,
) -> Vec<Option<String>> {
    let value = |path: &crate::request::SubjectPath| {
        let [element] = path.segments() else { return None };
        let value = items.get(expected.name_space, element)?;
        let mut json = String::new();
        cbor::decode(value, |value| write_json(value, &mut json)).ok()?.ok()?;
        normalise(&json)
    };
    expected.subject_paths.iter().map(value).collect()
}

fn missing() -> VerifyError {
    let detail = "a requested element is not disclosed";
    VerifyError::new(Reason::ClaimMissing, Check::ClaimsPresent, detail)
}

enum Answer<'i> {
    /// Encoded.
    Value(&'i [u8]),
    Age(bool),
}

impl Answer<'_> {
    fn write(&self, json: &mut String) -> Result<(), VerifyError> {
        let written = match self {
            Self::Value(value) => cbor::decode(value, |value| write_json(value, json)),
            Self::Age(over) => {
                json.push_str(if *over { "true" } else { "false" });
                return Ok(());
            }
        };
        written.ok().and_then(Result::ok).ok_or(malformed(
            Check::IssuerSignedItems,
            "an element has a value that JSON cannot represent",
        ))
    }
}

/// The element that answers `name`: the one with that name, otherwise the one that implies the age.
fn answer<'i>(
    items: &'i Items<'_>,
    name_space: &str,
    name: &'i str,
) -> Option<(&'i str, Answer<'i>)> {
    if let Some(value) = items.get(name_space, name) {
        return Some((name, Answer::Value(value)));
    }
    let statements = items.elements(name_space).filter_map(|(element, value)| match value {
        [0xf4] => Some((element, false)),
        [0xf5] => Some((element, true)),
        _ => None,
    });
    let (element, over) = age::settle(name, statements)?;
    Some((element, Answer::Age(over)))
}
