//! Presets: short forms of credentials that a tenant would otherwise write out.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::credential::{Draft, parse_id};
use crate::error::RequestError;
use crate::ids::{AGE_DOC_TYPE, CredentialFormat, DocType, IssuerId, NameSpace};
use crate::request::claim_filter::ClaimFilter;
use crate::request::fields::Field;
use crate::request::presentation_request::CredentialRequest;

/// The members of an element with a preset.
pub(super) const FIELDS: [&str; 4] = ["preset", "issuer_id", "age", "id"];

const EU_AGE: &str = "eu_age";

/// The European proof of age: an element `age_over_NN` of its own document type, which must be
/// true.
pub(super) fn parse(field: &Field<'_, '_>, index: usize) -> Result<Draft, RequestError> {
    let preset = field.required("preset")?;
    if preset.string()? != EU_AGE {
        return Err(preset.invalid("must be eu_age"));
    }
    let issuer_id = IssuerId::new(field.required("issuer_id")?.string()?);
    let age = field.required("age")?;
    let years = age.number()?.as_u64().filter(|years| (1..=99).contains(years));
    let years = years.ok_or_else(|| age.invalid("must be an integer from 1 to 99"))?;
    let element = format!("age_over_{years:02}");
    let request = CredentialRequest {
        id: parse_id(field, index)?,
        format: CredentialFormat::Mdoc,
        issuer_id,
        alg: None,
        namespace: Some(NameSpace::new(AGE_DOC_TYPE)),
        doc_type: Some(DocType::new(AGE_DOC_TYPE)),
        subject_claim_paths: Vec::new(),
        claim_filters: [(element.clone(), ClaimFilter::is_true())].into(),
        claim_paths: Vec::new(),
        claims: [element].into(),
        vct: Vec::new(),
        aki: Vec::new(),
        etsi_tl: Vec::new(),
    };
    Ok(Draft {
        path: String::from(&*field.path),
        request,
        format_is_open: false,
        subject_claim_paths: None,
        is_preset: true,
    })
}
