//! `dc_api`: the pages that may pass the request to their browser (OpenID4VP A.2).

use alloc::string::String;
use alloc::vec::Vec;

use super::profiles::Profiles;
use crate::codec::origin;
use crate::error::RequestError;
use crate::limits::MAX_DC_API_ORIGINS;
use crate::request::fields::Field;
use crate::request::presentation_request::DcApiPages;

const FIELDS: [&str; 2] = ["origins", "iso_mdoc"];

/// Browsers and wallets compare origins as plain strings, so they must be written in the same form.
pub(super) fn parse_dc_api(
    root: &Field<'_, '_>,
    profiles: &Profiles,
) -> Result<Option<DcApiPages>, RequestError> {
    let Some(field) = root.member("dc_api") else { return Ok(None) };
    if !profiles.speak_dcql() {
        return Err(field.invalid(profiles.needs_another_too()));
    }
    field.refuse_unknown(&FIELDS)?;
    let iso_mdoc = match field.member("iso_mdoc") {
        None => true,
        Some(chosen) => {
            chosen.value.as_bool().ok_or_else(|| chosen.invalid("must be a boolean"))?
        }
    };
    let field = field.required("origins")?;
    let mut origins: Vec<String> = Vec::new();
    for element in field.elements()? {
        let origin = element.string()?;
        if origin::of_page(&origin).map_err(|why| element.invalid(why))? != origin {
            return Err(element.invalid(
                "must be written as browsers do: in lower case, names in ASCII, no default port, no \
                 slash at the end",
            ));
        }
        if origins.iter().any(|other| *other == origin) {
            return Err(element.invalid("must not repeat an origin"));
        }
        origins.push(origin.into_owned());
    }
    if origins.is_empty() || origins.len() > MAX_DC_API_ORIGINS {
        return Err(field.invalid("must have 1 to 5 origins"));
    }
    Ok(Some(DcApiPages { iso_mdoc, ..DcApiPages::new(origins) }))
}
