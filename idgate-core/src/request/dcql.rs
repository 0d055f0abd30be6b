//! The Digital Credentials Query Language: the credentials that a wallet is asked to present
//! (OpenID4VP 6). A member that wallets are known to refuse is included only if the tenant's
//! request needs it.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::codec::json::json_text;
use crate::formats::sd_jwt_vc::NEVER_DISCLOSED;
use crate::ids::{ClaimPath, CredentialFormat, DocType, NameSpace};
use crate::request::presentation_request::{CredentialRequest, CredentialSet, PresentationRequest};
use crate::request::profile::Profile;
use crate::request::subject_path::SubjectPath;

/// `dcql_query`.
#[derive(Serialize)]
pub(crate) struct DcqlQuery<'r> {
    credentials: Vec<CredentialQuery<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    credential_sets: Vec<SetQuery<'r>>,
}

#[derive(Serialize)]
struct CredentialQuery<'r> {
    id: Cow<'r, str>,
    format: &'static str,
    meta: Meta<'r>,
    /// A credential needs to match one of them (OpenID4VP 6.1.1).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trusted_authorities: Vec<TrustedAuthorities<'r>>,
    /// If empty, only claims that cannot be hidden are needed (OpenID4VP 6.4.1).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    claims: Vec<ClaimQuery<'r>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Meta<'r> {
    SdJwtVc { vct_values: &'r [String] },
    Mdoc { doctype_value: &'r str },
}

#[derive(Serialize)]
struct TrustedAuthorities<'r> {
    r#type: &'static str,
    values: &'r [String],
}

#[derive(Serialize)]
struct ClaimQuery<'r> {
    path: Cow<'r, ClaimPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intent_to_retain: Option<bool>,
}

#[derive(Serialize)]
struct SetQuery<'r> {
    options: Vec<Vec<Cow<'r, str>>>,
    /// Absent means true (OpenID4VP 6.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
}

impl PresentationRequest {
    /// Returns the `dcql_query` of this request in this profile, as JSON text. (A `draft` request
    /// has a `presentation_definition` instead.)
    pub fn dcql_query(&self, profile: Profile) -> String {
        json_text(&DcqlQuery::new(self, profile))
    }
}

impl<'r> DcqlQuery<'r> {
    /// The query of `request` behind a link, in this profile. It contains the values that filters
    /// allow, except in the high-assurance profile.
    pub(crate) fn new(request: &'r PresentationRequest, profile: Profile) -> Self {
        Self::naming_values(request, profile == Profile::V1_0)
    }

    /// The query without values, in every profile: a refusal would reveal the requested value
    /// (OpenID4VP 15.9.2). The answer is checked against the filters anyway.
    pub(crate) fn without_values(request: &'r PresentationRequest) -> Self {
        Self::naming_values(request, false)
    }

    fn naming_values(request: &'r PresentationRequest, values: bool) -> Self {
        let credentials = request.credentials.iter().enumerate();
        let sets = request.credential_sets.iter();
        Self {
            credentials: credentials
                .map(|(index, asked)| CredentialQuery::new(request.query_id(index), asked, values))
                .collect(),
            credential_sets: sets.map(|set| SetQuery::new(set, request)).collect(),
        }
    }
}

/// The query for one credential.
pub(crate) struct Asked<'q> {
    /// The format, as a query names it.
    pub(crate) format: &'static str,
    /// The accepted types.
    pub(crate) types: Vec<&'q str>,
    pub(crate) claims: Vec<&'q ClaimPath>,
}

impl DcqlQuery<'_> {
    /// The queries for each credential.
    pub(crate) fn asked(&self) -> impl Iterator<Item = Asked<'_>> {
        self.credentials.iter().map(|credential| Asked {
            format: credential.format,
            types: match &credential.meta {
                Meta::SdJwtVc { vct_values } => vct_values.iter().map(String::as_str).collect(),
                Meta::Mdoc { doctype_value } => Vec::from([*doctype_value]),
            },
            claims: credential.claims.iter().map(|claim| &*claim.path).collect(),
        })
    }
}

impl<'r> CredentialQuery<'r> {
    fn new(id: Cow<'r, str>, asked: &'r CredentialRequest, values: bool) -> Self {
        let (format, meta, claims) = match asked.format {
            CredentialFormat::SdJwtVc => (
                "dc+sd-jwt",
                Meta::SdJwtVc { vct_values: &asked.vct },
                sd_jwt_claims(asked, values),
            ),
            CredentialFormat::Mdoc => {
                let doctype_value = asked.doc_type.as_ref().map_or("", DocType::as_str);
                ("mso_mdoc", Meta::Mdoc { doctype_value }, mdoc_claims(asked))
            }
        };
        let authorities = [("aki", &asked.aki), ("etsi_tl", &asked.etsi_tl)];
        let named = authorities.into_iter().filter(|(_, values)| !values.is_empty());
        let trusted_authorities =
            named.map(|(r#type, values)| TrustedAuthorities { r#type, values }).collect();
        Self { id, format, meta, trusted_authorities, claims }
    }
}

impl<'r> SetQuery<'r> {
    fn new(set: &'r CredentialSet, request: &'r PresentationRequest) -> Self {
        let place = |id: &String| request.credentials.iter().position(|c| c.id == *id);
        let option = |ids: &'r Vec<String>| {
            ids.iter().filter_map(place).map(|index| request.query_id(index)).collect()
        };
        let required = (!set.required).then_some(false);
        Self { options: set.options.iter().map(option).collect(), required }
    }
}

/// The claims, with or without their values, then the claims of a group that are not among them.
fn sd_jwt_claims(asked: &CredentialRequest, values: bool) -> Vec<ClaimQuery<'_>> {
    let mut claims = Vec::with_capacity(asked.claims.len().saturating_add(4));
    for claim in &asked.claims {
        let path = asked.path_of_claim(claim);
        let values = if values { values_of(asked, claim, &path) } else { None };
        push_unrepeated(&mut claims, ClaimQuery { path, values, intent_to_retain: None });
    }
    for path in &asked.subject_claim_paths {
        let path = asked.path_of_subject(path);
        push_unrepeated(&mut claims, ClaimQuery { path, values: None, intent_to_retain: None });
    }
    claims
}

/// Omits claims that an issuer cannot hide, and repeated paths (OpenID4VP 6.1, SD-JWT VC 2.2.2.3).
fn push_unrepeated<'r>(claims: &mut Vec<ClaimQuery<'r>>, claim: ClaimQuery<'r>) {
    let first = claim.path.components().next().flatten();
    let is_plain = first.is_some_and(|name| NEVER_DISCLOSED.contains(&name));
    if !is_plain && !claims.iter().any(|other| other.path == claim.path) {
        claims.push(claim);
    }
}

/// The values that a filter allows.
fn values_of(asked: &CredentialRequest, claim: &str, path: &ClaimPath) -> Option<Box<RawValue>> {
    if path.selects_several() {
        return None;
    }
    let (_, filter) = asked.claim_filters.iter().find(|(name, _)| name == claim)?;
    RawValue::from_string(filter.values_for_wallet()?).ok()
}

/// Filters are never sent for an mdoc; wallets expect `intent_to_retain`.
fn mdoc_claims(asked: &CredentialRequest) -> Vec<ClaimQuery<'_>> {
    let namespace = asked.namespace.as_ref().map_or("", NameSpace::as_str);
    let claim = |element| {
        let path = Cow::Owned(ClaimPath::of_claims([namespace, element]));
        ClaimQuery { path, values: None, intent_to_retain: Some(false) }
    };
    mdoc_elements(asked).into_iter().map(claim).collect()
}

/// The requested elements of an mdoc, then those of a group that are not among them; each once.
pub(super) fn mdoc_elements(asked: &CredentialRequest) -> Vec<&str> {
    let subject = asked.subject_claim_paths.iter().flat_map(SubjectPath::segments);
    let mut elements: Vec<&str> = Vec::with_capacity(asked.claims.len().saturating_add(3));
    for element in asked.claims.iter().chain(subject) {
        if !elements.contains(&element.as_str()) {
            elements.push(element);
        }
    }
    elements
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
