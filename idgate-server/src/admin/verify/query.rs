//! A DCQL query and the answer to it, from files (OpenID4VP 6, 8.1).

use std::path::Path;

use idgate_core::codec::json::{Tape, Value};
use idgate_core::error::{Check, Reason, VerifyError};
use idgate_core::request::{ClaimsPath, CredentialFormat};

use super::{read, unusable};
use crate::failure::Failure;

/// What was asked for.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) credentials: Vec<Asked>,
    /// The options of each set that is required.
    required: Vec<Vec<Vec<String>>>,
    has_sets: bool,
}

/// A credential of the query.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) format: Option<CredentialFormat>,
    /// `vct_values`, or `doctype_value` alone.
    pub(super) types: Vec<String>,
    /// Where its claims stand.
    pub(super) paths: Vec<ClaimsPath>,
}

/// The ids that were answered, and the one presentation of each.
pub(super) type Answers = Vec<(String, String)>;

impl Query {
    /// From the value of `dcql_query`.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = read(path)?;
        let mut tape = Tape::default();
        let id = tape.parse(&text).map_err(|error| unusable(path, error))?;
        Self::of(tape.value(id)).map_err(|why| unusable(path, why))
    }

    fn of(root: Value<'_, '_>) -> Result<Self, String> {
        let credentials = root.get("credentials").and_then(Value::elements);
        let credentials = credentials.ok_or("there is no array \"credentials\"")?;
        let credentials: Vec<Asked> = credentials.map(Asked::of).collect::<Result<_, _>>()?;
        if credentials.is_empty() {
            return Err("it asks for no credential".into());
        }
        let sets = root.get("credential_sets");
        let all = sets.and_then(Value::elements).into_iter().flatten();
        let is_required =
            |set: &Value<'_, '_>| set.get("required").and_then(Value::as_bool).unwrap_or(true);
        let required = all.filter(is_required).map(options).collect::<Option<_>>();
        let required =
            required.ok_or("a credential set has no array \"options\" of arrays of ids")?;
        Ok(Self { credentials, required, has_sets: sets.is_some() })
    }

    /// Refuses answers to what was not asked, and what is not answered.
    pub(super) fn check(&self, answers: &Answers) -> Result<(), VerifyError> {
        let came = |id: &String| answers.iter().any(|(answered, _)| answered == id);
        let known = |id: &String| self.credentials.iter().any(|asked| asked.id == *id);
        if !answers.iter().all(|(id, _)| known(id)) {
            return Err(mismatch("vp_token has an id that is not in the query"));
        }
        let complete = match self.has_sets {
            false => self.credentials.iter().all(|asked| came(&asked.id)),
            true => self.required.iter().all(|set| set.iter().any(|ids| ids.iter().all(came))),
        };
        match (answers.is_empty(), complete) {
            (true, _) => Err(mismatch("vp_token is empty")),
            (_, false) => Err(mismatch("vp_token leaves out a credential that is required")),
            _ => Ok(()),
        }
    }
}

impl Asked {
    fn of(value: Value<'_, '_>) -> Result<Self, String> {
        let text = |value: Option<Value<'_, '_>>| {
            value.and_then(Value::as_str).map(|text| text.into_owned())
        };
        let id = text(value.get("id")).ok_or("a credential has no \"id\"")?;
        let format = match text(value.get("format")).as_deref() {
            Some("dc+sd-jwt") => CredentialFormat::SdJwtVc,
            Some("mso_mdoc") => CredentialFormat::Mdoc,
            _ => return Err(format!("{id}: its format is not dc+sd-jwt or mso_mdoc")),
        };
        let meta = value.get("meta");
        let types: Vec<String> = match format {
            CredentialFormat::Mdoc => {
                text(meta.and_then(|meta| meta.get("doctype_value"))).into_iter().collect()
            }
            _ => strings(meta.and_then(|meta| meta.get("vct_values"))).unwrap_or_default(),
        };
        if types.is_empty() {
            return Err(format!("{id}: its meta names no vct_values or doctype_value"));
        }
        let claims = value.get("claims").and_then(Value::elements).into_iter().flatten();
        let path = |claim: Value<'_, '_>| {
            let mut text = String::new();
            claim.get("path").ok_or("a claim has no \"path\"")?.write_compact(&mut text);
            ClaimsPath::from_json(&text)
        };
        let paths = claims.map(path).collect::<Result<_, _>>();
        let paths = paths.map_err(|why| format!("{id}: {why}"))?;
        Ok(Self { id, format: Some(format), types, paths })
    }
}

/// What the wallet sent as `vp_token`. The outer error is the file's, the inner one the wallet's.
pub(super) fn answers(path: &Path) -> Result<Result<Answers, VerifyError>, Failure> {
    let text = read(path)?;
    let mut tape = Tape::default();
    let id = tape.parse(&text).map_err(|error| unusable(path, error))?;
    let members = tape.value(id).members();
    let members = members.ok_or_else(|| unusable(path, "it is not the object of a vp_token"))?;
    Ok(members.map(|(id, given)| Ok((id.unescape().into_owned(), only(given)?))).collect())
}

/// One presentation: `multiple` is never asked for. Drafts of the text had no array around it.
fn only(given: Value<'_, '_>) -> Result<String, VerifyError> {
    let one = match given.elements() {
        None => given,
        Some(mut all) => match (all.next(), all.next()) {
            (Some(one), None) => one,
            _ => return Err(mismatch("an id of vp_token has no presentation, or several")),
        },
    };
    let detail = "a presentation is not a string";
    let malformed = VerifyError::new(Reason::MalformedPresentation, Check::Submission, detail);
    one.as_str().map(|text| text.into_owned()).ok_or(malformed)
}

fn mismatch(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::SubmissionMismatch, Check::Submission, detail)
}

fn options(set: Value<'_, '_>) -> Option<Vec<Vec<String>>> {
    set.get("options")?.elements()?.map(|ids| strings(Some(ids))).collect()
}

fn strings(value: Option<Value<'_, '_>>) -> Option<Vec<String>> {
    let text = |one: Value<'_, '_>| one.as_str().map(|text| text.into_owned());
    value?.elements()?.map(text).collect()
}
