//! Parses `CreateSessionRequest` from strict JSON: both forms, every constraint. The order is
//! syntax, unknown fields, the fields themselves, and the requirements on trust.

mod claim_paths;
mod credential;
mod dc_api;
mod groups;
mod intended_use;
mod newer;
mod on_unknown;
mod page;
mod preset;
mod profiles;
mod resolve;
mod sets;
mod transaction_data;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use self::credential::Draft;
use self::profiles::Profiles;
use crate::codec::json::Tape;
use crate::error::{ErrorCode, RequestError};
use crate::limits::{DEFAULT_TTL_MS, MAX_CREATE_BYTES, MAX_CREDENTIALS, MAX_TTL_MS, MIN_TTL_MS};
use crate::request::fields::Field;
use crate::request::object::Object;
use crate::request::presentation_request::{
    CredentialRequest, CredentialSet, DcApiPages, PresentationRequest, Presets, RequestForm,
};
use crate::request::profile::{Profile, SpokenProfiles};
use crate::request::purpose::Purpose;
use crate::request::redirect_uri::check_redirect_uri;
use crate::trust::{TrustSnapshot, UnknownRevocation};

const LEGACY_FIELDS: [&str; 5] =
    ["issuer_id", "ttl_ms", "format", "redirect_uri", on_unknown::FIELD];
const CUSTOM_FIELDS: [&str; 5] =
    ["credentials", "ttl_ms", "same_subject_groups", "redirect_uri", on_unknown::FIELD];
const ALL_FIELDS: [&str; 7] = [
    "issuer_id",
    "credentials",
    "ttl_ms",
    "format",
    "same_subject_groups",
    "redirect_uri",
    on_unknown::FIELD,
];
/// Fields that need a profile other than `draft`.
const NEWER_FIELDS: [&str; 4] = ["profile", "profiles", "same_device", "transaction_data"];
/// Such fields of the custom form.
const NEWER_CUSTOM_FIELDS: [&str; 6] = [
    "profile",
    "profiles",
    "same_device",
    "transaction_data",
    "credential_sets",
    "distinct_credentials",
];

impl PresentationRequest {
    /// Parses a creation body and resolves its defaults against `trust`, for a verifier that
    /// supports `profiles`. Profiles other than `draft` have more fields.
    ///
    /// # Errors
    /// [`RequestError`] with the path of the first field that breaks a rule.
    pub(crate) fn parse_for(
        body: &[u8],
        trust: &TrustSnapshot,
        livemode: bool,
        profiles: &SpokenProfiles,
    ) -> Result<Self, RequestError> {
        let mut tape = Tape::default();
        let mut written = Written::read(root_of(&mut tape, body)?, profiles)?;
        if written.form == RequestForm::Legacy {
            let mut drafts = written.drafts.iter_mut();
            drafts.try_for_each(|draft| resolve::legacy_claims(draft, trust))?;
        }
        let drafts = core::mem::take(&mut written.drafts);
        let credentials = resolve::resolve(drafts, trust, livemode, &written.profiles)?;
        on_unknown::check(written.on_unknown_revocation, &credentials, trust)?;
        written.complete(credentials)
    }
}

/// Checks everything in a body that can be checked without trust, with all profiles, and returns
/// its members. If the body names no profile, the one that refuses the fewest fields is assumed.
pub(super) fn check(body: &[u8]) -> Result<Object, RequestError> {
    let every = SpokenProfiles::new([Profile::V1_0, Profile::Haip, Profile::Draft]).with_dc_api();
    let mut tape = Tape::default();
    let root = root_of(&mut tape, body)?;
    let members = Object::of(root.value);
    let mut written = Written::read(root, &every)?;
    let drafts = core::mem::take(&mut written.drafts);
    if written.profiles.speak(Profile::Draft) {
        resolve::refuse_equal_descriptor_ids(&drafts)?;
    }
    written.complete(drafts.into_iter().map(|draft| draft.request).collect())?;
    Ok(members)
}

fn root_of<'t, 'a>(tape: &'t mut Tape<'a>, body: &'a [u8]) -> Result<Field<'t, 'a>, RequestError> {
    if body.len() > MAX_CREATE_BYTES {
        return Err(RequestError::new(ErrorCode::InvalidRequest, "", "is larger than 64 KiB"));
    }
    let root = tape
        .parse_explaining(body)
        .map_err(|why| RequestError::new(ErrorCode::InvalidJson, "", why))?;
    Ok(Field::new(tape.value(root), ""))
}

/// A body whose fields are checked, before trust is consulted.
struct Written<'t, 'a> {
    root: Field<'t, 'a>,
    form: RequestForm,
    has_newer_fields: bool,
    drafts: Vec<Draft>,
    ttl_ms: u64,
    same_subject_groups: Vec<Vec<String>>,
    redirect_uri: Option<String>,
    retry_uri: Option<String>,
    purpose: Option<Purpose>,
    profiles: Profiles,
    same_device: Option<bool>,
    handover: bool,
    intended_use: Option<String>,
    credential_sets: Vec<CredentialSet>,
    dc_api: Option<DcApiPages>,
    on_unknown_revocation: Option<UnknownRevocation>,
    transaction_data: Vec<transaction_data::Parsed<'t, 'a>>,
    presets: Presets,
}

impl<'t, 'a> Written<'t, 'a> {
    fn read(root: Field<'t, 'a>, profiles: &SpokenProfiles) -> Result<Self, RequestError> {
        let form = choose_form(&root, profiles)?;
        let has_newer_fields = newer::has_any(&root);
        let mut drafts = match form {
            RequestForm::Legacy => vec![credential::parse_legacy(&root)?],
            RequestForm::Custom => parse_credentials(&root)?,
        };
        let ttl_ms = parse_ttl(&root)?;
        let same_subject_groups = groups::parse_groups(&root, &drafts)?;
        groups::resolve_subject_claim_paths(&mut drafts, &same_subject_groups)?;
        let redirect_uri = parse_redirect_uri(&root)?;
        let retry_uri = page::parse_retry_uri(&root, profiles)?;
        let purpose = page::parse_purpose(&root, profiles)?;
        let intended_use = intended_use::parse(&root, profiles)?;
        let (spoken, presets) = (profiles, presets_of(&root, &drafts));
        let profiles = match presets {
            Presets::AgeApp => Profiles::of_age_app(spoken)?,
            Presets::Used | Presets::Unused => Profiles::parse(&root, spoken)?,
        };
        if let (Some(draft), false) =
            (drafts.iter().find(|it| it.is_preset), profiles.speak_1_0_alone())
        {
            let rule = "is for the profile 1.0 only; add \"profile\": \"1.0\", or write the credential out";
            return Err(draft.invalid("preset", rule));
        }
        let same_device = profiles::parse_same_device(&root, &profiles)?;
        let is_same_device = same_device.unwrap_or_else(|| profiles.speak(Profile::Haip));
        let handover = page::parse_handover(&root, spoken, is_same_device)?;
        let credential_sets = sets::parse_sets(&root, &drafts, &profiles)?;
        let dc_api = dc_api::parse_dc_api(&root, &profiles)?;
        let on_unknown_revocation = on_unknown::parse(&root)?;
        let transaction_data = transaction_data::parse_transaction_data(&root, &drafts, &profiles)?;
        Ok(Self {
            root,
            form,
            has_newer_fields,
            drafts,
            ttl_ms,
            same_subject_groups,
            redirect_uri,
            retry_uri,
            purpose,
            profiles,
            same_device,
            handover,
            intended_use,
            credential_sets,
            dc_api,
            on_unknown_revocation,
            transaction_data,
            presets,
        })
    }

    /// The request for `credentials`, which were built from the drafts.
    fn complete(
        self,
        credentials: Vec<CredentialRequest>,
    ) -> Result<PresentationRequest, RequestError> {
        let mut request = PresentationRequest {
            form: self.form,
            ttl_ms: self.ttl_ms,
            redirect_uri: self.redirect_uri,
            retry_uri: self.retry_uri,
            purpose: self.purpose,
            credentials,
            same_subject_groups: self.same_subject_groups,
            credential_sets: self.credential_sets,
            same_device: self.same_device,
            handover: self.handover,
            intended_use: self.intended_use,
            distinct_credentials: parse_distinct_credentials(&self.root, &self.profiles)?,
            on_unknown_revocation: self.on_unknown_revocation,
            transaction_data: Vec::new(),
            dc_api: self.dc_api,
            presets: self.presets,
            has_newer_fields: self.has_newer_fields,
            profiles: self.profiles.listed,
        };
        transaction_data::encode(self.transaction_data, &mut request)?;
        Ok(request)
    }
}

/// The presence of `issuer_id` or of `credentials` determines the form. Both or neither is an
/// error.
fn choose_form(
    root: &Field<'_, '_>,
    profiles: &SpokenProfiles,
) -> Result<RequestForm, RequestError> {
    let takes_dc_api = profiles.has_dc_api() || profiles.is_draft_alone();
    let dc_api: &[&str] = if takes_dc_api { &["dc_api"] } else { &[] };
    let (pages, uses) = (page::fields(profiles), intended_use::fields(profiles));
    let with = |fields: &[&'static str], more: &[&'static str]| {
        [fields, more, dc_api, pages, uses].concat()
    };
    root.refuse_unknown(&with(&ALL_FIELDS, &NEWER_CUSTOM_FIELDS))?;
    let form = match (root.has("issuer_id"), root.has("credentials")) {
        (true, false) => {
            root.refuse_unknown(&with(&LEGACY_FIELDS, &NEWER_FIELDS)).map(|()| RequestForm::Legacy)
        }
        (false, true) => root
            .refuse_unknown(&with(&CUSTOM_FIELDS, &NEWER_CUSTOM_FIELDS))
            .map(|()| RequestForm::Custom),
        (true, true) => Err(root.invalid("has both issuer_id and credentials; send one of them")),
        (false, false) => Err(root.invalid("needs issuer_id or credentials")),
    }?;
    if profiles.is_draft_alone() {
        newer::refuse_all(root, profiles)?;
    }
    Ok(form)
}

fn parse_credentials(root: &Field<'_, '_>) -> Result<Vec<Draft>, RequestError> {
    let field = root.required("credentials")?;
    let credentials = field.elements()?;
    for credential in credentials.iter().filter(|credential| credential.is_object()) {
        credential.refuse_unknown(match credential.has("preset") {
            true => &preset::FIELDS,
            false => &credential::FIELDS,
        })?;
    }
    if credentials.is_empty() || credentials.len() > MAX_CREDENTIALS {
        return Err(field.invalid("must have 1 to 10 items"));
    }
    let mut drafts: Vec<Draft> = Vec::with_capacity(credentials.len());
    let mut pattern_chars = 0;
    for (index, credential) in credentials.iter().enumerate() {
        let draft = match credential.has("preset") {
            true => preset::parse(credential, index)?,
            false => credential::parse(credential, index, &mut pattern_chars)?,
        };
        if drafts.iter().any(|other| other.request.id == draft.request.id) {
            let path = credential.path_of("id");
            return Err(RequestError::new(ErrorCode::InvalidRequest, path, "must be unique"));
        }
        drafts.push(draft);
    }
    Ok(drafts)
}

/// How the request uses presets.
fn presets_of(root: &Field<'_, '_>, drafts: &[Draft]) -> Presets {
    let names_profile = root.has("profile") || root.has("profiles");
    match drafts.iter().filter(|draft| draft.is_preset).count() {
        0 => Presets::Unused,
        all if all == drafts.len() && !names_profile => Presets::AgeApp,
        _ => Presets::Used,
    }
}

/// JSON Schema `integer`: `300000.0` is one.
fn parse_ttl(root: &Field<'_, '_>) -> Result<u64, RequestError> {
    let Some(field) = root.member("ttl_ms") else { return Ok(DEFAULT_TTL_MS) };
    match field.number()?.as_u64() {
        Some(ttl_ms) if (MIN_TTL_MS..=MAX_TTL_MS).contains(&ttl_ms) => Ok(ttl_ms),
        _ => Err(field.invalid("must be an integer from 60000 to 86400000")),
    }
}

fn parse_distinct_credentials(
    root: &Field<'_, '_>,
    profiles: &Profiles,
) -> Result<bool, RequestError> {
    let Some(field) = root.member("distinct_credentials") else { return Ok(false) };
    profiles.refuse_in_draft(&field)?;
    field.value.as_bool().ok_or_else(|| field.invalid("must be a boolean"))
}

fn parse_redirect_uri(root: &Field<'_, '_>) -> Result<Option<String>, RequestError> {
    let Some(field) = root.member("redirect_uri") else { return Ok(None) };
    let uri = field.string()?;
    check_redirect_uri(&uri).map_err(|rule| field.invalid(rule))?;
    Ok(Some(uri.into_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
mod tests;
