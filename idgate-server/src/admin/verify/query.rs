//! A DCQL query from a file (OpenID4VP 6). Features that this command does not check are refused,
//! because a verdict is about the whole query.

use std::path::Path;

use idgate_core::shell::json::{Tape, Value};
use idgate_core::shell::{ClaimFilter, CredentialSet};
use idgate_core::{ClaimPath, CredentialFormat};

use super::read;
use crate::admin::files::in_file;
use crate::failure::Failure;

/// The query.
#[derive(Debug)]
pub(super) struct Query {
    /// No two have the same id.
    pub(super) credentials: Vec<Asked>,
    /// Empty: all credentials are requested.
    pub(super) sets: Vec<CredentialSet>,
}

/// A credential of the query.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) format: CredentialFormat,
    /// `vct_values`, or `doctype_value` alone.
    pub(super) types: Vec<String>,
    /// No two have the same path.
    pub(super) claims: Vec<AskedClaim>,
}

/// A claim of a credential.
#[derive(Debug)]
pub(super) struct AskedClaim {
    /// Its path.
    pub(super) path: ClaimPath,
    /// Its `values`.
    pub(super) filter: Option<ClaimFilter>,
}

impl Query {
    /// From the value of `dcql_query`.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = read(path)?;
        let mut tape = Tape::default();
        let id = tape.parse(&text).map_err(|error| in_file(path, error))?;
        Self::of(tape.value(id)).map_err(|why| in_file(path, why))
    }

    fn of(root: Value<'_, '_>) -> Result<Self, String> {
        let credentials = root.get("credentials").and_then(Value::elements);
        let credentials = credentials.ok_or("there is no array \"credentials\"")?;
        let credentials: Vec<Asked> = credentials.map(Asked::of).collect::<Result<_, _>>()?;
        if credentials.is_empty() {
            return Err("it requests no credential".into());
        }
        if let Some(id) = repeated(credentials.iter().map(|asked| &asked.id)) {
            return Err(format!("two credentials have the id {id}"));
        }
        let sets = match root.get("credential_sets") {
            None => Vec::new(),
            Some(sets) => {
                let sets = filled(Some(sets)).ok_or("credential_sets is not an array with sets")?;
                sets.into_iter()
                    .map(|set| credential_set(set, &credentials))
                    .collect::<Result<_, _>>()?
            }
        };
        Ok(Self { credentials, sets })
    }
}

impl Asked {
    fn of(value: Value<'_, '_>) -> Result<Self, String> {
        let id = text(value.get("id")).ok_or("a credential has no \"id\"")?;
        Self::with_id(&id, value).map_err(|why| format!("{id}: {why}"))
    }

    fn with_id(id: &str, value: Value<'_, '_>) -> Result<Self, String> {
        let format = match text(value.get("format")).as_deref() {
            Some("dc+sd-jwt") => CredentialFormat::SdJwtVc,
            Some("mso_mdoc") => CredentialFormat::Mdoc,
            _ => return Err("its format is not dc+sd-jwt or mso_mdoc".into()),
        };
        if value.get("claim_sets").is_some() {
            return Err(
                "claim_sets are not supported here; remove the claims that are optional".into()
            );
        }
        if value.get("multiple").is_some_and(|multiple| multiple.as_bool() != Some(false)) {
            return Err("multiple is not supported here: each query has one presentation".into());
        }
        let meta = value.get("meta");
        let types: Vec<String> = match format {
            CredentialFormat::Mdoc => {
                text(meta.and_then(|meta| meta.get("doctype_value"))).into_iter().collect()
            }
            _ => strings(meta.and_then(|meta| meta.get("vct_values"))).unwrap_or_default(),
        };
        if types.is_empty() {
            return Err("its meta has no vct_values or doctype_value".into());
        }
        let claims: Vec<AskedClaim> = match value.get("claims") {
            None => Vec::new(),
            Some(claims) => {
                let claims = filled(Some(claims)).ok_or("claims is not an array with claims")?;
                claims.into_iter().map(AskedClaim::of).collect::<Result<_, _>>()?
            }
        };
        if let Some(path) = repeated(claims.iter().map(|claim| claim.path.to_string())) {
            return Err(format!("two claims have the path {path}"));
        }
        Ok(Self { id: id.into(), format, types, claims })
    }
}

impl AskedClaim {
    fn of(claim: Value<'_, '_>) -> Result<Self, String> {
        let path = compact(claim.get("path").ok_or("a claim has no \"path\"")?);
        let path = ClaimPath::from_json(&path).map_err(|why| format!("path {path} {why}"))?;
        let filter = claim.get("values").map(|values| ClaimFilter::from_values(&compact(values)));
        let filter = filter.transpose().map_err(|why| format!("values of {path} {why}"))?;
        if filter.is_some() && path.selects_several() {
            return Err(format!(
                "values of {path} cannot be compared: the path selects several elements"
            ));
        }
        Ok(Self { path, filter })
    }
}

fn credential_set(set: Value<'_, '_>, credentials: &[Asked]) -> Result<CredentialSet, String> {
    const RULE: &str = "a credential set has no array \"options\" of arrays of ids";
    let options = filled(set.get("options")).ok_or(RULE)?;
    let ids = |ids: Value<'_, '_>| strings(Some(ids)).filter(|ids| !ids.is_empty());
    let options: Vec<Vec<String>> =
        options.into_iter().map(ids).collect::<Option<_>>().ok_or(RULE)?;
    let known = |id: &String| credentials.iter().any(|asked| asked.id == *id);
    if let Some(id) = options.iter().flatten().find(|id| !known(id)) {
        return Err(format!("a credential set names {id}, but no credential has this id"));
    }
    let required = match set.get("required") {
        None => true,
        Some(required) => {
            required.as_bool().ok_or("required of a credential set is not a boolean")?
        }
    };
    Ok(CredentialSet::new(options, required))
}

/// The first repeated item.
fn repeated<T: PartialEq>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut seen = Vec::new();
    for one in all {
        if seen.contains(&one) {
            return Some(one);
        }
        seen.push(one);
    }
    None
}

/// The elements of an array that is not empty.
fn filled<'t, 'a>(value: Option<Value<'t, 'a>>) -> Option<Vec<Value<'t, 'a>>> {
    let elements: Vec<_> = value?.elements()?.collect();
    Some(elements).filter(|elements| !elements.is_empty())
}

fn compact(value: Value<'_, '_>) -> String {
    let mut text = String::new();
    value.write_compact(&mut text);
    text
}

fn text(value: Option<Value<'_, '_>>) -> Option<String> {
    value.and_then(Value::as_str).map(|text| text.into_owned())
}

fn strings(value: Option<Value<'_, '_>>) -> Option<Vec<String>> {
    value?.elements()?.map(|one| text(Some(one))).collect()
}
