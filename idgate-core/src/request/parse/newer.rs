//! The fields that need a profile other than `draft`.

use alloc::format;

use super::NEWER_CUSTOM_FIELDS;
use crate::error::{ErrorCode, RequestError};
use crate::request::fields::Field;
use crate::request::profile::SpokenProfiles;

/// Whether the body has one of them, with any value.
pub(super) fn has_any(root: &Field<'_, '_>) -> bool {
    present(root).next().is_some()
}

/// Refuses the first of them, for a verifier that supports only `draft`.
pub(super) fn refuse_all(
    root: &Field<'_, '_>,
    profiles: &SpokenProfiles,
) -> Result<(), RequestError> {
    let Some(field) = present(root).next() else { return Ok(()) };
    if matches!(&*field.path, "profile" | "profiles") {
        let rule = profiles.why_draft_alone();
        return Err(RequestError::new(ErrorCode::UnsupportedProfile, field.path, rule));
    }
    Err(field.invalid(format!("needs profile 1.0 or haip; {}", profiles.why_draft_alone())))
}

/// Those of the request first, then those of its credentials.
fn present<'t, 'a>(root: &Field<'t, 'a>) -> impl Iterator<Item = Field<'t, 'a>> {
    let names = NEWER_CUSTOM_FIELDS.into_iter().chain(["dc_api"]);
    let of_request = names.filter_map(|name| root.member(name));
    let credentials = root.member("credentials").and_then(|field| field.elements().ok());
    let credentials = credentials.into_iter().flatten();
    of_request.chain(credentials.filter_map(|credential| credential.member("claim_paths")))
}
