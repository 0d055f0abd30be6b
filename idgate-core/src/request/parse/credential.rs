//! The fields of one `CredentialRequest`, before the trust store is consulted.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::claim_paths::parse_claim_paths;
use crate::crypto::Alg;
use crate::error::{ErrorCode, RequestError};
use crate::formats::sd_jwt_vc::RESERVED_NAMES;
use crate::ids::{CredentialFormat, DocType, IssuerId, NameSpace};
use crate::limits::{
    MAX_CLAIM_NAME_CHARS, MAX_CLAIMS, MAX_CREDENTIAL_ID_CHARS, MAX_MDOC_NAME_CHARS,
    MAX_PATTERNS_CHARS, MAX_SUBJECT_CLAIM_PATHS, MIN_PATTERN_COST_CHARS,
};
use crate::request::claim_filter::ClaimFilter;
use crate::request::fields::{Field, member_path};
use crate::request::presentation_request::CredentialRequest;
use crate::request::subject_path::{SubjectPath, is_claim_name};

pub(super) const FIELDS: [&str; 10] = [
    "format",
    "issuer_id",
    "claims",
    "id",
    "namespace",
    "doc_type",
    "alg",
    "subject_claim_paths",
    "claim_filters",
    "claim_paths",
];

const NAME_OF_A_CLAIM: &str = "must have only letters, digits and underscores; for a claim of \
                               another \
    name, or one within another, name its path in claim_paths, which needs profile 1.0 or haip to be enabled";
const NAME_OF_AN_ELEMENT: &str = "must have only letters, digits and underscores; an element of \
                                  an mdoc \
    with another name cannot be asked for";

const SUBJECT_PATH: &str = "must be claim names of letters, digits and underscores with dots between, for \
    example address.country; for a claim of another name, name its path in claim_paths";

/// The error for a name that the format reserves.
pub(super) const NEVER_A_CLAIM: &str = "must not be _sd or _sd_alg, which are never claims";

/// A credential request with unresolved defaults.
pub(super) struct Draft {
    /// Its path in the body; empty in the legacy form.
    pub(super) path: String,
    pub(super) request: CredentialRequest,
    /// Whether the trust entry decides the format.
    pub(super) format_is_open: bool,
    pub(super) subject_claim_paths: Option<Vec<SubjectPath>>,
    /// Whether it was written as a preset.
    pub(super) is_preset: bool,
}

impl Draft {
    /// The error that the field `name` of this credential violates `rule`.
    pub(super) fn invalid(&self, name: &str, rule: impl Into<Cow<'static, str>>) -> RequestError {
        self.error(ErrorCode::InvalidRequest, name, rule)
    }

    pub(super) fn error(
        &self,
        code: ErrorCode,
        name: &str,
        rule: impl Into<Cow<'static, str>>,
    ) -> RequestError {
        RequestError::new(code, member_path(&self.path, name), rule)
    }
}

/// The only credential of the legacy form; its claims come from the trust entry.
pub(super) fn parse_legacy(root: &Field<'_, '_>) -> Result<Draft, RequestError> {
    let issuer_id = IssuerId::new(root.required("issuer_id")?.string()?);
    let format = root.member("format").map(|field| parse_format(&field)).transpose()?;
    let request = CredentialRequest {
        id: default_id(0),
        format: format.unwrap_or(CredentialFormat::SdJwtVc),
        issuer_id,
        claims: Vec::new(),
        alg: None,
        namespace: None,
        doc_type: None,
        subject_claim_paths: Vec::new(),
        claim_filters: Vec::new(),
        vct: Vec::new(),
        claim_paths: Vec::new(),
        aki: Vec::new(),
        etsi_tl: Vec::new(),
    };
    Ok(Draft {
        path: root.path.clone(),
        request,
        format_is_open: format.is_none(),
        subject_claim_paths: None,
        is_preset: false,
    })
}

/// The credential at `index` in the custom form. `pattern_chars` counts the patterns of the whole
/// request.
pub(super) fn parse(
    field: &Field<'_, '_>,
    index: usize,
    pattern_chars: &mut usize,
) -> Result<Draft, RequestError> {
    field.refuse_unknown(&FIELDS)?;
    let format = parse_format(&field.required("format")?)?;
    let issuer_id = IssuerId::new(field.required("issuer_id")?.string()?);
    let claims = parse_claims(&field.required("claims")?, format)?;
    let request = CredentialRequest {
        id: parse_id(field, index)?,
        format,
        issuer_id,
        alg: parse_alg(field)?,
        namespace: parse_mdoc_name(field, "namespace", format)?.map(NameSpace::new),
        doc_type: parse_mdoc_name(field, "doc_type", format)?.map(DocType::new),
        subject_claim_paths: Vec::new(),
        claim_filters: parse_claim_filters(field, &claims, pattern_chars)?,
        claim_paths: parse_claim_paths(field, &claims, format)?,
        claims,
        vct: Vec::new(),
        aki: Vec::new(),
        etsi_tl: Vec::new(),
    };
    let subject_claim_paths = parse_subject_claim_paths(field, format)?;
    Ok(Draft {
        path: field.path.clone(),
        request,
        format_is_open: false,
        subject_claim_paths,
        is_preset: false,
    })
}

/// Appends `name` unless it is already there: repeated names count once.
pub(super) fn push_claim(claims: &mut Vec<String>, name: &str) {
    if !claims.iter().any(|claim| claim == name) {
        claims.push(String::from(name));
    }
}

fn default_id(index: usize) -> String {
    format!("credential_{}", index.saturating_add(1))
}

fn parse_format(field: &Field<'_, '_>) -> Result<CredentialFormat, RequestError> {
    CredentialFormat::from_name(&field.string()?).ok_or_else(|| {
        let rule = "must be vc+sd-jwt (dc+sd-jwt means the same) or mso_mdoc";
        RequestError::new(ErrorCode::UnsupportedFormat, field.path.clone(), rule)
    })
}

fn parse_claims(
    field: &Field<'_, '_>,
    format: CredentialFormat,
) -> Result<Vec<String>, RequestError> {
    let mut claims = Vec::new();
    for element in field.elements()? {
        let name = element.string()?;
        if !is_claim_name(&name) {
            return Err(element.invalid(match format {
                CredentialFormat::Mdoc => NAME_OF_AN_ELEMENT,
                CredentialFormat::SdJwtVc => NAME_OF_A_CLAIM,
            }));
        }
        if name.len() > MAX_CLAIM_NAME_CHARS {
            return Err(element.invalid("must have at most 255 characters"));
        }
        if never_a_claim(format, &name) {
            return Err(element.invalid(NEVER_A_CLAIM));
        }
        push_claim(&mut claims, &name);
        if claims.len() > MAX_CLAIMS {
            return Err(field.invalid("must name at most 100 claims"));
        }
    }
    if claims.is_empty() {
        return Err(field.invalid("must name at least one claim"));
    }
    Ok(claims)
}

/// Whether no credential of `format` can ever disclose `name`.
pub(super) fn never_a_claim(format: CredentialFormat, name: &str) -> bool {
    format == CredentialFormat::SdJwtVc && RESERVED_NAMES.contains(&name)
}

pub(super) fn parse_id(field: &Field<'_, '_>, index: usize) -> Result<String, RequestError> {
    let Some(field) = field.member("id") else { return Ok(default_id(index)) };
    let id = field.string()?;
    if id.is_empty() || id.chars().count() > MAX_CREDENTIAL_ID_CHARS {
        return Err(field.invalid("must have 1 to 128 characters"));
    }
    Ok(id.into_owned())
}

fn parse_alg(field: &Field<'_, '_>) -> Result<Option<Alg>, RequestError> {
    let Some(field) = field.member("alg") else { return Ok(None) };
    let alg = Alg::from_name(&field.string()?);
    alg.map(Some).ok_or_else(|| field.invalid("must be ES256, ES384 or ES512"))
}

/// `namespace` or `doc_type`. Both are used in a JSONPath between quotes or in an identifier, so
/// quotes, backslashes and control characters are not possible.
fn parse_mdoc_name(
    field: &Field<'_, '_>,
    name: &str,
    format: CredentialFormat,
) -> Result<Option<String>, RequestError> {
    let Some(field) = field.member(name) else { return Ok(None) };
    let text = field.string()?;
    if format != CredentialFormat::Mdoc {
        return Err(field.invalid("is for mso_mdoc only; remove it"));
    }
    let inexpressible = |c: char| c.is_control() || matches!(c, '\'' | '"' | '\\');
    if text.is_empty() || text.chars().count() > MAX_MDOC_NAME_CHARS || text.contains(inexpressible)
    {
        return Err(field.invalid("must have 1 to 255 characters without quotes or backslashes"));
    }
    Ok(Some(text.into_owned()))
}

fn parse_subject_claim_paths(
    field: &Field<'_, '_>,
    format: CredentialFormat,
) -> Result<Option<Vec<SubjectPath>>, RequestError> {
    let Some(field) = field.member("subject_claim_paths") else { return Ok(None) };
    let elements = field.elements()?;
    if elements.len() > MAX_SUBJECT_CLAIM_PATHS {
        return Err(field.invalid("must name at most 10 claims"));
    }
    let parse = |element: &Field<'_, '_>| {
        let path = SubjectPath::parse(&element.string()?).ok_or_else(|| {
            element.invalid(match format {
                CredentialFormat::Mdoc => {
                    "must be an element name of letters, digits and underscores"
                }
                CredentialFormat::SdJwtVc => SUBJECT_PATH,
            })
        })?;
        if path.segments().iter().any(|name| never_a_claim(format, name)) {
            return Err(element.invalid(NEVER_A_CLAIM));
        }
        if format == CredentialFormat::Mdoc && path.segments().len() > 1 {
            return Err(element.invalid("must be an element name without dots"));
        }
        Ok(path)
    };
    elements.iter().map(parse).collect::<Result<_, _>>().map(Some)
}

fn parse_claim_filters(
    field: &Field<'_, '_>,
    claims: &[String],
    pattern_chars: &mut usize,
) -> Result<Vec<(String, ClaimFilter)>, RequestError> {
    let Some(field) = field.member("claim_filters") else { return Ok(Vec::new()) };
    let mut filters = Vec::new();
    for (name, value) in field.members()? {
        let Some(claim) = claims.iter().find(|claim| name.is(claim)) else {
            let rule = "must name claims of the same credential only";
            return Err(field.invalid_name(&name.unescape(), rule));
        };
        let filter = Field::new(value, field.path_of(claim));
        if let Some(pattern) = filter.member("pattern") {
            let cost = pattern.string()?.chars().count().max(MIN_PATTERN_COST_CHARS);
            *pattern_chars = pattern_chars.saturating_add(cost);
            if *pattern_chars > MAX_PATTERNS_CHARS {
                let rule = "goes beyond the 32 patterns, or 2048 characters of long patterns, that \
                            a request may have";
                return Err(pattern.invalid(rule));
            }
        }
        let filter = ClaimFilter::parse(&filter)?;
        filters.push((claim.clone(), filter));
    }
    Ok(filters)
}
