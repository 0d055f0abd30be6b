//! `CreateSessionRequest` from strict JSON: both forms, every constraint (specification 2, 8;
//! decisions 4). First syntax, then unknown fields, then the fields themselves, then what trust
//! must supply.

mod credential;
mod groups;
mod resolve;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use self::credential::Draft;
use crate::codec::json::Tape;
use crate::error::{ErrorCode, RequestError};
use crate::limits::{DEFAULT_TTL_MS, MAX_CREATE_BYTES, MAX_CREDENTIALS, MAX_TTL_MS, MIN_TTL_MS};
use crate::request::fields::Field;
use crate::request::presentation_request::{PresentationRequest, RequestForm};
use crate::request::redirect_uri::check_redirect_uri;
use crate::trust::TrustSnapshot;

const LEGACY_FIELDS: [&str; 4] = ["issuer_id", "ttl_ms", "format", "redirect_uri"];
const CUSTOM_FIELDS: [&str; 4] = ["credentials", "ttl_ms", "same_subject_groups", "redirect_uri"];
const ALL_FIELDS: [&str; 6] =
    ["issuer_id", "credentials", "ttl_ms", "format", "same_subject_groups", "redirect_uri"];

impl PresentationRequest {
    /// Parses a creation body and resolves its defaults against `trust`, for a live or test
    /// session.
    ///
    /// # Errors
    /// [`RequestError`] with the path of the first field that breaks a rule.
    pub fn parse(body: &[u8], trust: &TrustSnapshot, livemode: bool) -> Result<Self, RequestError> {
        if body.len() > MAX_CREATE_BYTES {
            return Err(RequestError::new(ErrorCode::InvalidRequest, "", "is larger than 64 KiB"));
        }
        let mut tape = Tape::default();
        let root = tape
            .parse(body)
            .map_err(|error| RequestError::new(ErrorCode::InvalidJson, "", error.to_string()))?;
        let root = Field::new(tape.value(root), "");
        match choose_form(&root)? {
            RequestForm::Legacy => legacy(&root, trust, livemode),
            RequestForm::Custom => custom(&root, trust, livemode),
        }
    }
}

/// The form is chosen by the presence of `issuer_id` or `credentials` (decisions 4).
fn choose_form(root: &Field<'_, '_>) -> Result<RequestForm, RequestError> {
    root.refuse_unknown(&ALL_FIELDS)?;
    match (root.has("issuer_id"), root.has("credentials")) {
        (true, false) => root.refuse_unknown(&LEGACY_FIELDS).map(|()| RequestForm::Legacy),
        (false, true) => root.refuse_unknown(&CUSTOM_FIELDS).map(|()| RequestForm::Custom),
        (true, true) => Err(root.invalid("has both issuer_id and credentials; send one of them")),
        (false, false) => Err(root.invalid("needs issuer_id or credentials")),
    }
}

fn legacy(
    root: &Field<'_, '_>,
    trust: &TrustSnapshot,
    livemode: bool,
) -> Result<PresentationRequest, RequestError> {
    let mut draft = credential::parse_legacy(root)?;
    let (ttl_ms, redirect_uri) = (parse_ttl(root)?, parse_redirect_uri(root)?);
    resolve::legacy_claims(&mut draft, trust)?;
    finish(
        RequestForm::Legacy,
        ttl_ms,
        redirect_uri,
        alloc::vec![draft],
        Vec::new(),
        trust,
        livemode,
    )
}

fn custom(
    root: &Field<'_, '_>,
    trust: &TrustSnapshot,
    livemode: bool,
) -> Result<PresentationRequest, RequestError> {
    let mut drafts = parse_credentials(root)?;
    let ttl_ms = parse_ttl(root)?;
    let groups = groups::parse_groups(root, &drafts)?;
    groups::resolve_subject_claim_paths(&mut drafts, &groups)?;
    let redirect_uri = parse_redirect_uri(root)?;
    finish(RequestForm::Custom, ttl_ms, redirect_uri, drafts, groups, trust, livemode)
}

fn parse_credentials(root: &Field<'_, '_>) -> Result<Vec<Draft>, RequestError> {
    let field = root.required("credentials")?;
    let credentials = field.elements()?;
    for credential in credentials.iter().filter(|credential| credential.is_object()) {
        credential.refuse_unknown(&credential::FIELDS)?;
    }
    if credentials.is_empty() || credentials.len() > MAX_CREDENTIALS {
        return Err(field.invalid("must have 1 to 10 items"));
    }
    let mut drafts: Vec<Draft> = Vec::with_capacity(credentials.len());
    let mut pattern_chars = 0;
    for (index, credential) in credentials.iter().enumerate() {
        let draft = credential::parse(credential, index, &mut pattern_chars)?;
        if drafts.iter().any(|other| other.request.id == draft.request.id) {
            let path = credential.path_of("id");
            return Err(RequestError::new(ErrorCode::InvalidRequest, path, "must be unique"));
        }
        drafts.push(draft);
    }
    Ok(drafts)
}

/// JSON Schema `integer`: `300000.0` is one.
fn parse_ttl(root: &Field<'_, '_>) -> Result<u64, RequestError> {
    let Some(field) = root.member("ttl_ms") else { return Ok(DEFAULT_TTL_MS) };
    match field.number()?.as_u64() {
        Some(ttl_ms) if (MIN_TTL_MS..=MAX_TTL_MS).contains(&ttl_ms) => Ok(ttl_ms),
        _ => Err(field.invalid("must be an integer from 60000 to 86400000")),
    }
}

fn parse_redirect_uri(root: &Field<'_, '_>) -> Result<Option<String>, RequestError> {
    let Some(field) = root.member("redirect_uri") else { return Ok(None) };
    let uri = field.string()?;
    check_redirect_uri(&uri).map_err(|rule| field.invalid(rule))?;
    Ok(Some(uri.into_owned()))
}

fn finish(
    form: RequestForm,
    ttl_ms: u64,
    redirect_uri: Option<String>,
    drafts: Vec<Draft>,
    same_subject_groups: Vec<Vec<String>>,
    trust: &TrustSnapshot,
    livemode: bool,
) -> Result<PresentationRequest, RequestError> {
    let credentials = resolve::resolve(drafts, trust, livemode)?;
    Ok(PresentationRequest {
        form,
        ttl_ms,
        redirect_uri,
        credentials,
        same_subject_groups,
        profiles: Vec::new(),
        credential_sets: Vec::new(),
        same_device: None,
        transaction_data: Vec::new(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
mod tests;
