//! `same_subject_groups` and the claims that are compared within a group.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::RequestError;
use crate::ids::CredentialFormat;
use crate::limits::MAX_GROUPS;
use crate::request::fields::Field;
use crate::request::parse::credential::Draft;
use crate::request::parse::sets::parse_known_ids;
use crate::request::subject_path::SubjectPath;

/// Groups of at least two ids of this request, each once in a group.
pub(super) fn parse_groups(
    root: &Field<'_, '_>,
    drafts: &[Draft],
) -> Result<Vec<Vec<String>>, RequestError> {
    let Some(field) = root.member("same_subject_groups") else { return Ok(Vec::new()) };
    let groups = field.elements()?;
    if groups.len() > MAX_GROUPS {
        return Err(field.invalid("must have at most 50 groups"));
    }
    groups.iter().map(|group| parse_group(group, drafts)).collect()
}

fn parse_group(field: &Field<'_, '_>, drafts: &[Draft]) -> Result<Vec<String>, RequestError> {
    let group = parse_known_ids(field, drafts)?;
    if group.len() < 2 {
        return Err(field.invalid("must have at least 2 items"));
    }
    Ok(group)
}

/// Sets the compared claims of each grouped credential, and removes them from all others.
pub(super) fn resolve_subject_claim_paths(
    drafts: &mut [Draft],
    groups: &[Vec<String>],
) -> Result<(), RequestError> {
    for draft in drafts.iter_mut() {
        let given = draft.subject_claim_paths.take();
        if groups.iter().any(|group| group.contains(&draft.request.id)) {
            let paths = given.unwrap_or_else(|| default_paths(draft.request.format));
            if paths.is_empty() {
                return Err(draft.invalid("subject_claim_paths", "must not be empty in a group"));
            }
            draft.request.subject_claim_paths = paths;
        }
    }
    groups.iter().enumerate().try_for_each(|(index, group)| same_lengths(drafts, index, group))
}

fn same_lengths(drafts: &[Draft], index: usize, group: &[String]) -> Result<(), RequestError> {
    let mut members = drafts.iter().filter(|draft| group.contains(&draft.request.id));
    let length = |draft: &Draft| draft.request.subject_claim_paths.len();
    let first = members.next().map(length);
    match members.find(|draft| Some(length(draft)) != first) {
        None => Ok(()),
        Some(draft) => Err(draft.invalid(
            "subject_claim_paths",
            format!(
                "must have as many paths as the other credentials in same_subject_groups[{index}]"
            ),
        )),
    }
}

fn default_paths(format: CredentialFormat) -> Vec<SubjectPath> {
    let birth_date = match format {
        CredentialFormat::SdJwtVc => "birthdate",
        CredentialFormat::Mdoc => "birth_date",
    };
    ["family_name", "given_name", birth_date].map(SubjectPath::top_level).into()
}
