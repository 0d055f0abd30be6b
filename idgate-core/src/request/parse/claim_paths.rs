//! `claim_paths`: the paths of requested claims that are not top-level members of the payload under
//! their name (OpenID4VP 7).

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::RequestError;
use crate::ids::{ClaimPath, CredentialFormat};
use crate::request::fields::Field;
use crate::request::presentation_request::CredentialRequest;
use crate::request::subject_path::SubjectPath;
use crate::trust::TrustEntry;

/// The paths of a credential request, by claim name.
pub(super) fn parse_claim_paths(
    credential: &Field<'_, '_>,
    claims: &[String],
    format: CredentialFormat,
) -> Result<Vec<(String, ClaimPath)>, RequestError> {
    let Some(field) = credential.member("claim_paths") else { return Ok(Vec::new()) };
    if format != CredentialFormat::SdJwtVc {
        return Err(field.invalid("is for vc+sd-jwt only; remove it"));
    }
    let mut paths = Vec::new();
    for (name, value) in field.members()? {
        let Some(claim) = claims.iter().find(|claim| name.is(claim)) else {
            let rule = "must name claims of the same credential only";
            return Err(field.invalid_name(&name.unescape(), rule));
        };
        let path = Field::new(value, field.path_of(claim));
        paths.push((
            claim.clone(),
            ClaimPath::from_value(value).map_err(|rule| path.invalid(rule))?,
        ));
    }
    Ok(paths)
}

/// Adds the operator's paths of claims that are requested or compared; the tenant's take
/// precedence.
pub(super) fn add_paths_of(entry: &TrustEntry, request: &mut CredentialRequest) {
    for (name, path) in &entry.claim_paths {
        let compared = |subject: &SubjectPath| match subject.segments() {
            [only] => only == name,
            _ => false,
        };
        let wanted =
            request.claims.contains(name) || request.subject_claim_paths.iter().any(compared);
        if wanted && !request.claim_paths.iter().any(|(given, _)| given == name) {
            request.claim_paths.push((name.clone(), path.clone()));
        }
    }
}
