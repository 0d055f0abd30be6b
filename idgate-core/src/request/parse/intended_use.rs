//! The tenant's registration certificate that goes with a request.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;

use crate::error::RequestError;
use crate::request::fields::Field;
use crate::request::profile::SpokenProfiles;

/// The field, if a body may have it.
pub(super) fn fields(profiles: &SpokenProfiles) -> &'static [&'static str] {
    if profiles.intended_uses().is_some() { &["intended_use"] } else { &[] }
}

/// Reads one of the tenant's names; `None`: its default.
pub(super) fn parse(
    root: &Field<'_, '_>,
    profiles: &SpokenProfiles,
) -> Result<Option<String>, RequestError> {
    let Some(field) = root.member("intended_use") else { return Ok(None) };
    let (name, known) = (field.string()?, profiles.intended_uses().unwrap_or_default());
    if known.iter().any(|known| *known == *name) {
        return Ok(Some((*name).to_owned()));
    }
    if known.is_empty() {
        let rule =
            "is for clients with a registration certificate, and there is none; leave it out";
        return Err(field.invalid(rule));
    }
    let known = known.join(", ");
    Err(field.invalid(format!("is not registered; there are: {known}")))
}
