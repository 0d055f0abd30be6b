//! `dcql_query` (6, B.2.3, B.3.5), as a wallet reads it, and its faults.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::findings::Findings;
use super::parameters::members_of;
use super::request::Expected;

/// A credential format (Annex B).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Format {
    /// `dc+sd-jwt`
    #[default]
    SdJwtVc,
    /// `mso_mdoc`
    Mdoc,
}

/// A parsed query.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// As sent.
    pub json: Value,
    /// One for each credential.
    pub credentials: Vec<CredentialQuery>,
    /// The sets of credentials. Empty: all are requested.
    pub sets: Vec<CredentialSet>,
}

/// One requested credential.
#[derive(Clone, Debug, Default)]
pub struct CredentialQuery {
    /// Its id.
    pub id: String,
    /// Its format.
    pub format: Format,
    /// The accepted types, or the document type.
    pub types: Vec<String>,
    /// The paths of the requested claims. Empty: only claims that cannot be hidden.
    pub paths: Vec<Vec<Value>>,
}

/// A set of credentials.
#[derive(Clone, Debug, Default)]
pub struct CredentialSet {
    /// The options: the answer has all ids of one list.
    pub options: Vec<Vec<String>>,
    /// Whether the answer must have one.
    pub required: bool,
}

impl Format {
    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SdJwtVc => "dc+sd-jwt",
            Self::Mdoc => "mso_mdoc",
        }
    }
}

impl Query {
    /// Reads it as far as possible.
    pub fn read(json: &Value) -> Self {
        let set = |set: &Value| CredentialSet {
            options: elements(&set["options"]).iter().map(texts).collect(),
            required: set["required"] != false,
        };
        Self {
            credentials: elements(&json["credentials"]).iter().map(CredentialQuery::read).collect(),
            sets: elements(&json["credential_sets"]).iter().map(set).collect(),
            json: json.clone(),
        }
    }

    /// The names of the used features that a known wallet refuses.
    pub fn refused_features(&self) -> Vec<&'static str> {
        let mut features = Vec::new();
        let mut note = |name, used: bool| {
            if used {
                features.push(name);
            }
        };
        note("credential_sets", self.json.get("credential_sets").is_some());
        for credential in self.json.get("credentials").map(elements).unwrap_or_default() {
            for name in ["multiple", "claim_sets", "require_cryptographic_holder_binding"] {
                note(name, credential.get(name).is_some());
            }
            note("no claims", credential.get("claims").is_none());
            for claim in elements(&credential["claims"]) {
                let plain = elements(&claim["path"]).iter().all(Value::is_string);
                note("path of other than names", !plain);
                note("values", claim.get("values").is_some());
            }
            for authority in elements(&credential["trusted_authorities"]) {
                note("trusted_authorities other than aki", authority["type"] != "aki");
            }
        }
        features
    }

    pub(super) fn check(
        &self,
        parameters: &Map<String, Value>,
        expected: &Expected,
        findings: &mut Findings,
    ) {
        let query = parameters.get("dcql_query");
        findings.must("dcql_query", query.is_some_and(Value::is_object), "not an object");
        members(&self.json, &["credentials", "credential_sets"], findings);
        let formats: Vec<Format> = self.credentials.iter().map(|one| one.format).collect();
        findings.must("dcql_formats", formats == expected.formats, format!("{formats:?}"));
        let mut ids = BTreeSet::new();
        let asked = self.json.get("credentials").map(elements).unwrap_or_default();
        for (credential, json) in self.credentials.iter().zip(asked) {
            findings.must("dcql_id_unique", ids.insert(&*credential.id), &credential.id);
            credential.check(json, findings);
        }
        if let Some(sets) = self.json.get("credential_sets") {
            findings.must("dcql_credential_sets", !elements(sets).is_empty(), sets);
            for set in elements(sets) {
                members(set, &["options", "required"], findings);
            }
        }
        let options = self.sets.iter().flat_map(|set| set.options.clone());
        for option in options {
            let refer = !option.is_empty() && option.iter().all(|id| ids.contains(&**id));
            findings.must("dcql_references", refer, option.join(" "));
        }
    }
}

impl CredentialQuery {
    fn read(json: &Value) -> Self {
        let is_mdoc = json["format"] == Format::Mdoc.name();
        let meta = &json["meta"];
        let doctype = || meta["doctype_value"].as_str().map(String::from).into_iter().collect();
        let path = |claim: &Value| elements(&claim["path"]).to_vec();
        Self {
            id: json["id"].as_str().unwrap_or_default().into(),
            format: if is_mdoc { Format::Mdoc } else { Format::SdJwtVc },
            types: if is_mdoc { doctype() } else { texts(&meta["vct_values"]) },
            paths: elements(&json["claims"]).iter().map(path).collect(),
        }
    }

    fn check(&self, json: &Value, findings: &mut Findings) {
        let known = [
            "id",
            "format",
            "meta",
            "multiple",
            "trusted_authorities",
            "require_cryptographic_holder_binding",
            "claims",
            "claim_sets",
        ];
        members(json, &known, findings);
        findings.must("dcql_id", is_id(&self.id), &self.id);
        findings.must("dcql_format", json["format"] == self.format.name(), &json["format"]);
        let only = match self.format {
            Format::SdJwtVc => "vct_values",
            Format::Mdoc => "doctype_value",
        };
        members(&json["meta"], &[only], findings);
        findings.must("dcql_meta", !self.types.is_empty(), &json["meta"]);
        for name in ["multiple", "require_cryptographic_holder_binding"] {
            let fits = json.get(name).is_none_or(Value::is_boolean);
            findings.must("dcql_booleans", fits, name);
        }
        check_authorities(json, findings);
        self.check_claims(json, findings);
    }

    fn check_claims(&self, json: &Value, findings: &mut Findings) {
        let claims = elements(&json["claims"]);
        let there = json.get("claims").is_none() || !claims.is_empty();
        findings.must("dcql_claims", there, "empty");
        let (mut ids, mut paths) = (BTreeSet::new(), BTreeSet::new());
        for claim in claims {
            let path = claim["path"].to_string();
            findings.must("dcql_path", self.is_path(elements(&claim["path"])), &path);
            findings.must("dcql_path_once", paths.insert(path.clone()), &path);
            findings.should("dcql_claim_hidden", !self.is_always_visible(claim), &path);
            let values = claim.get("values").map(elements);
            let scalar = |value: &Value| value.is_string() || value.is_i64() || value.is_boolean();
            let fit = values.is_none_or(|values| !values.is_empty() && values.iter().all(scalar));
            findings.must("dcql_values", fit, &path);
            let retain = claim.get("intent_to_retain");
            let fits = retain.is_none_or(|retain| retain.is_boolean() && self.is_mdoc());
            findings.must("dcql_intent_to_retain", fits, &path);
            members(claim, &["id", "path", "values", "intent_to_retain"], findings);
            if let Some(id) = claim.get("id") {
                let id = id.as_str().unwrap_or_default();
                findings.must("dcql_claim_id", is_id(id) && ids.insert(id), id);
            }
        }
        self.check_claim_sets(json, &ids, claims.len(), findings);
    }

    fn check_claim_sets(
        &self,
        json: &Value,
        ids: &BTreeSet<&str>,
        claims: usize,
        findings: &mut Findings,
    ) {
        let Some(sets) = json.get("claim_sets") else { return };
        let sets: Vec<Vec<String>> = elements(sets).iter().map(texts).collect();
        let refer =
            sets.iter().all(|set| !set.is_empty() && set.iter().all(|id| ids.contains(&**id)));
        let fits = !sets.is_empty() && refer && ids.len() == claims && claims > 0;
        findings.must("dcql_claim_sets", fits, &json["claim_sets"]);
        let used: BTreeSet<&str> = sets.iter().flatten().map(String::as_str).collect();
        findings.should("dcql_claim_sets_use", used == *ids, &json["claim_sets"]);
    }

    fn is_mdoc(&self) -> bool {
        self.format == Format::Mdoc
    }

    fn is_path(&self, path: &[Value]) -> bool {
        let step = |step: &Value| step.is_string() || step.is_null() || step.is_u64();
        match self.format {
            Format::SdJwtVc => !path.is_empty() && path.iter().all(step),
            Format::Mdoc => path.len() == 2 && path.iter().all(Value::is_string),
        }
    }

    /// Claims of an SD-JWT VC that cannot be hidden are not requested.
    fn is_always_visible(&self, claim: &Value) -> bool {
        const VISIBLE: [&str; 8] =
            ["iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"];
        let first = claim["path"].get(0).and_then(Value::as_str).unwrap_or_default();
        !self.is_mdoc() && VISIBLE.contains(&first)
    }
}

fn check_authorities(json: &Value, findings: &mut Findings) {
    let Some(authorities) = json.get("trusted_authorities") else { return };
    let known = |one: &Value| {
        let kind = one["type"].as_str().unwrap_or_default();
        let values = texts(&one["values"]);
        ["aki", "etsi_tl", "openid_federation"].contains(&kind)
            && !values.is_empty()
            && values.len() == elements(&one["values"]).len()
    };
    let fits = !elements(authorities).is_empty() && elements(authorities).iter().all(known);
    findings.must("dcql_trusted_authorities", fits, authorities);
    for one in elements(authorities) {
        members(one, &["type", "values"], findings);
    }
}

fn members(object: &Value, known: &[&str], findings: &mut Findings) {
    for name in members_of(object) {
        findings.should("dcql_members", known.contains(&name), name);
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

pub(super) fn elements(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    elements(value).iter().filter_map(Value::as_str).map(String::from).collect()
}
