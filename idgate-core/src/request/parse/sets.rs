//! `credential_sets`: the accepted combinations of credentials (OpenID4VP 6.2, 6.4.2).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::credential::Draft;
use super::profiles::Profiles;
use crate::error::RequestError;
use crate::limits::{MAX_CREDENTIAL_SETS, MAX_SET_OPTIONS};
use crate::request::fields::Field;
use crate::request::presentation_request::CredentialSet;

const FIELDS: [&str; 2] = ["options", "required"];

/// Reads the sets, with the tenant's ids. A credential that is in no option would never be
/// requested, so the request is refused as a mistake.
pub(super) fn parse_sets(
    root: &Field<'_, '_>,
    drafts: &[Draft],
    profiles: &Profiles,
) -> Result<Vec<CredentialSet>, RequestError> {
    let Some(field) = root.member("credential_sets") else { return Ok(Vec::new()) };
    profiles.refuse_in_draft(&field)?;
    let sets = bounded(&field, MAX_CREDENTIAL_SETS, "must have 1 to 10 sets")?;
    let sets: Vec<_> = sets.iter().map(|set| parse_set(set, drafts)).collect::<Result<_, _>>()?;
    let named = |id: &String| sets.iter().any(|set| set.options.iter().any(|o| o.contains(id)));
    match drafts.iter().position(|draft| !named(&draft.request.id)) {
        None => Ok(sets),
        Some(index) => Err(field.invalid(format!(
            "must have an option with the id of credentials[{index}], or drop it"
        ))),
    }
}

fn parse_set(field: &Field<'_, '_>, drafts: &[Draft]) -> Result<CredentialSet, RequestError> {
    field.refuse_unknown(&FIELDS)?;
    let options =
        bounded(&field.required("options")?, MAX_SET_OPTIONS, "must have 1 to 10 options")?;
    let required = match field.member("required") {
        None => true,
        Some(field) => field.value.as_bool().ok_or_else(|| field.invalid("must be a boolean"))?,
    };
    let ids = |option: &Field<'_, '_>| parse_ids(option, drafts);
    Ok(CredentialSet { options: options.iter().map(ids).collect::<Result<_, _>>()?, required })
}

/// Ids of this request, at least one, each once.
pub(super) fn parse_ids(
    field: &Field<'_, '_>,
    drafts: &[Draft],
) -> Result<Vec<String>, RequestError> {
    let ids = parse_known_ids(field, drafts)?;
    if ids.is_empty() {
        return Err(field.invalid("must have at least one id"));
    }
    Ok(ids)
}

/// Ids of this request, each once.
pub(super) fn parse_known_ids(
    field: &Field<'_, '_>,
    drafts: &[Draft],
) -> Result<Vec<String>, RequestError> {
    let mut ids: Vec<String> = Vec::new();
    for element in field.elements()? {
        let id = element.string()?;
        if !drafts.iter().any(|draft| draft.request.id == id) {
            return Err(element.invalid("must be the id of a credential of this request"));
        }
        if ids.iter().any(|other| *other == id) {
            return Err(element.invalid("must not repeat an id"));
        }
        ids.push(id.into_owned());
    }
    Ok(ids)
}

fn bounded<'t, 'a>(
    field: &Field<'t, 'a>,
    most: usize,
    rule: &'static str,
) -> Result<Vec<Field<'t, 'a>>, RequestError> {
    let elements = field.elements()?;
    if elements.is_empty() || elements.len() > most {
        return Err(field.invalid(rule));
    }
    Ok(elements)
}
