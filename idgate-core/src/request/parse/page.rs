//! Fields of a request for the page that shows it to a person.

use alloc::borrow::ToOwned as _;
use alloc::string::String;

use crate::error::{ErrorCode, Remedy, RequestError};
use crate::request::fields::Field;
use crate::request::profile::{PageFields, SpokenProfiles};
use crate::request::purpose::Purpose;
use crate::request::redirect_uri::{check_redirect_uri, is_http, is_link};

/// The fields that a body may have.
pub(super) fn fields(profiles: &SpokenProfiles) -> &'static [&'static str] {
    match profiles.page_fields() {
        PageFields::Unknown => &[],
        PageFields::Off | PageFields::On | PageFields::OnWithHttp => {
            &["retry_uri", "handover", "purpose"]
        }
    }
}

/// The URI where a person can start again if nothing was shared.
pub(super) fn parse_retry_uri(
    root: &Field<'_, '_>,
    profiles: &SpokenProfiles,
) -> Result<Option<String>, RequestError> {
    let Some(field) = of_page(root, "retry_uri", profiles)? else { return Ok(None) };
    let uri = field.string()?;
    check_redirect_uri(&uri).map_err(|rule| field.invalid(rule))?;
    let lacks_tls = is_http(&uri) && profiles.page_fields() != PageFields::OnWithHttp;
    if lacks_tls || !is_link(&uri) {
        return Err(field.invalid("must be https, or a URI of an application"));
    }
    Ok(Some((*uri).to_owned()))
}

/// The tenant's purpose.
pub(super) fn parse_purpose(
    root: &Field<'_, '_>,
    profiles: &SpokenProfiles,
) -> Result<Option<Purpose>, RequestError> {
    of_page(root, "purpose", profiles)?.map(|field| Purpose::parse(&field)).transpose()
}

/// Whether a person may continue on a phone. It is for sessions whose result goes to the device
/// that answers.
pub(super) fn parse_handover(
    root: &Field<'_, '_>,
    profiles: &SpokenProfiles,
    is_same_device: bool,
) -> Result<bool, RequestError> {
    let Some(field) = of_page(root, "handover", profiles)? else { return Ok(false) };
    let handover = field.value.as_bool().ok_or_else(|| field.invalid("must be a boolean"))?;
    if handover && !is_same_device {
        return Err(field.invalid(
            "is for answers on the same device; ask with same_device or in the profile haip, or leave this out",
        ));
    }
    Ok(handover)
}

/// Reads a field for pages, if the program has pages.
fn of_page<'t, 'a>(
    root: &Field<'t, 'a>,
    name: &str,
    profiles: &SpokenProfiles,
) -> Result<Option<Field<'t, 'a>>, RequestError> {
    let Some(field) = root.member(name) else { return Ok(None) };
    if profiles.page_fields() == PageFields::Off {
        let rule = "is for a page, and there is none";
        return Err(RequestError::new(ErrorCode::InvalidRequest, field.path, rule)
            .with_remedy(Remedy::EnablePages));
    }
    Ok(Some(field))
}
