//! An issuer as JSON: its name, and the credentials that it may issue.

use std::collections::BTreeMap;

use idgate_core::ClaimPath;
use idgate_core::TrustError;
use idgate_core::shell::TrustEntry;
use idgate_core::trust::{DeviceResponseDocuments, Field, OnUnknownRevocation, RevocationPolicy};
use idgate_core::{Issuer, Trust};
use serde::Deserialize;

use crate::failure::Failure;
use crate::json;
use crate::provider::PROVIDER;
use crate::status::idgate_status::IDGATE_CONFIG;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    issuer_id: String,
    iss: Option<String>,
    #[serde(default)]
    any_iss: bool,
    #[serde(default)]
    vct: Vec<String>,
    #[serde(default)]
    doc_types: Vec<String>,
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default)]
    claim_paths: BTreeMap<String, ClaimPath>,
    #[serde(default)]
    default_claims: Vec<String>,
    #[serde(default)]
    countries: Vec<String>,
    #[serde(default)]
    mdoc_ekus: Vec<String>,
    #[serde(default)]
    x5c_ekus: Vec<String>,
    #[serde(default)]
    revocation: RevocationPolicy,
    #[serde(default)]
    on_unknown_revocation: OnUnknownRevocation,
    status_max_age_days: Option<u32>,
    #[serde(default)]
    named_in_queries: bool,
    #[serde(default)]
    trusted_list_urls: Vec<String>,
    #[serde(default)]
    device_response_documents: DeviceResponseDocuments,
    #[serde(default)]
    issuing_country_unbound: bool,
}

impl Described {
    fn issuer(self) -> Issuer {
        fn each(issuer: Issuer, texts: Vec<String>, add: fn(Issuer, String) -> Issuer) -> Issuer {
            texts.into_iter().fold(issuer, add)
        }
        let mut issuer = Issuer::new(self.issuer_id)
            .revocation(self.revocation)
            .on_unknown_revocation(self.on_unknown_revocation);
        issuer = each(issuer, self.vct, Issuer::vct);
        issuer = each(issuer, self.doc_types, Issuer::doc_type);
        issuer = each(issuer, self.namespaces, Issuer::namespace);
        issuer = each(issuer, self.default_claims, Issuer::default_claim);
        issuer = each(issuer, self.countries, Issuer::country);
        issuer = each(issuer, self.mdoc_ekus, Issuer::mdoc_eku);
        issuer = each(issuer, self.x5c_ekus, Issuer::x5c_eku);
        issuer = each(issuer, self.trusted_list_urls, Issuer::trusted_list_url);
        for (claim, path) in self.claim_paths {
            issuer = issuer.claim_at(claim, path);
        }
        if let Some(iss) = self.iss {
            issuer = issuer.iss(iss);
        }
        if self.any_iss {
            issuer = issuer.any_iss();
        }
        if let Some(days) = self.status_max_age_days {
            issuer = issuer.status_max_age_days(days);
        }
        if self.named_in_queries {
            issuer = issuer.named_in_queries();
        }
        if self.issuing_country_unbound {
            issuer = issuer.issuing_country_unbound();
        }
        issuer.device_response_documents(self.device_response_documents)
    }
}

/// The issuer that this text describes, without material.
pub(crate) fn parse(json: &[u8]) -> Result<TrustEntry, Failure> {
    let described: Described = json::read(json, "the issuer", IDGATE_CONFIG)?;
    if described.iss.is_some() && described.any_iss {
        let why = "is given together with any_iss; leave one of them out";
        return Err(Failure::of_issuer(&described.issuer_id, "iss", None, why));
    }
    read(described.issuer())
}

/// Reads an issuer and its material.
pub(crate) fn read(issuer: Issuer) -> Result<TrustEntry, Failure> {
    let trust = Trust::new(PROVIDER, [issuer]).map_err(|error| fault(&error))?;
    let entry = trust.snapshot().entries().next().cloned();
    entry.ok_or_else(|| Failure::internal("an issuer was read and is not there"))
}

/// The failure for an error of the core. Some members of the JSON have names in the plural.
fn fault(error: &TrustError) -> Failure {
    let field = match error.field() {
        Field::Id => "issuer_id",
        Field::MdocEku => "mdoc_ekus",
        Field::X5cEku => "x5c_ekus",
        other => other.name(),
    };
    Failure::of_issuer(error.issuer().as_str(), field, error.index(), error.why())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_iss_when_they_are_urls_unless_another_is_given() {
        let iss = |json: &str| parse(json.as_bytes()).unwrap().iss;
        assert_eq!(iss(r#"{"issuer_id":"dmv"}"#), None);
        assert_eq!(iss(r#"{"issuer_id":"https://i.example"}"#).unwrap(), "https://i.example");
        let given = r#"{"issuer_id":"https://i.example","iss":"x"}"#;
        assert_eq!(iss(given).unwrap(), "x");
        assert_eq!(iss(r#"{"issuer_id":"https://i.example","any_iss":true}"#), None);
    }

    #[test]
    fn lists_without_exp_count_for_seven_days_unless_the_entry_says_otherwise() {
        let days = |json: &str| parse(json.as_bytes()).unwrap().status_max_age_days;
        assert_eq!(days(r#"{"issuer_id":"dmv"}"#), 7);
        assert_eq!(days(r#"{"issuer_id":"dmv","status_max_age_days":301}"#), 301);
        let unbound = r#"{"issuer_id":"dmv","issuing_country_unbound":true}"#;
        assert!(parse(unbound.as_bytes()).unwrap().issuing_country_unbound);
    }

    #[test]
    fn query_members_of_an_issuer_are_read() {
        let entry = parse(br#"{"issuer_id":"dmv"}"#).unwrap();
        assert!(entry.claim_paths.is_empty() && !entry.aki);
        assert_eq!(entry.device_response_documents.name(), "one");
        let given = r#"{"issuer_id":"dmv","named_in_queries":true,"device_response_documents":"any",
            "claim_paths":{"city":["address","locality"],"all":["nationalities",null]}}"#;
        let entry = parse(given.as_bytes()).unwrap();
        assert!(entry.aki && entry.device_response_documents.name() == "any");
        let paths: Vec<String> =
            entry.claim_paths.iter().map(|(_, path)| path.to_string()).collect();
        assert_eq!(paths, [r#"["nationalities",null]"#, r#"["address","locality"]"#]);
    }

    #[test]
    fn x5c_ekus_of_an_issuer_are_read() {
        let ekus = |json: &str| parse(json.as_bytes()).unwrap().sd_jwt_ekus;
        assert!(ekus(r#"{"issuer_id":"dmv"}"#).is_empty());
        let given = ekus(r#"{"issuer_id":"dmv","x5c_ekus":["1.2.3","2.5.29.37.0"]}"#);
        let given: Vec<String> = given.iter().map(ToString::to_string).collect();
        assert_eq!(given, ["1.2.3", "2.5.29.37.0"]);
    }

    #[test]
    fn on_unknown_revocation_of_an_issuer_is_read() {
        let choice = |json: &str| parse(json.as_bytes()).unwrap().on_unknown_revocation.name();
        assert_eq!(choice(r#"{"issuer_id":"dmv"}"#), "refuse");
        for name in ["refuse", "accept", "tenant"] {
            let given = format!(r#"{{"issuer_id":"dmv","on_unknown_revocation":"{name}"}}"#);
            assert_eq!(choice(&given), name);
        }
    }

    #[test]
    fn a_fault_names_the_issuer_and_the_member() {
        for (json, field, path) in [
            (r#"{"issuer_id":"a","mdoc_ekus":["1.2","x"]}"#, "mdoc_ekus", "mdoc_ekus[1]"),
            (
                r#"{"issuer_id":"a","status_max_age_days":0}"#,
                "status_max_age_days",
                "status_max_age_days",
            ),
        ] {
            let failure = parse(json.as_bytes()).unwrap_err();
            let details = &failure.details;
            assert_eq!((&*details.issuer, &*details.field, &*details.path), ("a", field, path));
            assert!(
                failure.message.starts_with(&format!("a: {path}: is not ")),
                "{}",
                failure.message
            );
        }
    }

    #[test]
    fn unknown_and_wrong_members_are_refused() {
        for bad in [
            "",
            "[]",
            "{}",
            r#"{"issuer_id":"a","issuer_id":"b"}"#,
            r#"{"issuer_id":"a","vcts":[]}"#,
            r#"{"issuer_id":"a","iss":"b","any_iss":true}"#,
            r#"{"issuer_id":"a","revocation":"maybe"}"#,
            r#"{"issuer_id":"a","on_unknown_revocation":"maybe"}"#,
            r#"{"issuer_id":"a","revocation":"required","on_unknown_revocation":"accept"}"#,
            r#"{"issuer_id":"a","mdoc_ekus":["one.two"]}"#,
            r#"{"issuer_id":"a","x5c_ekus":["one.two"]}"#,
            r#"{"issuer_id":"a","x5c_ekus":"1.2.3"}"#,
            r#"{"issuer_id":"a","status_max_age_days":0}"#,
            r#"{"issuer_id":"a","status_max_age_days":3651}"#,
            r#"{"issuer_id":"a","status_max_age_days":"7"}"#,
            r#"{"issuer_id":"a","issuing_country_unbound":1}"#,
            r#"{"issuer_id":"a","claim_paths":{"b":["c",0]}}"#,
            r#"{"issuer_id":"a","claim_paths":{"b":[]}}"#,
            r#"{"issuer_id":"a","claim_paths":[]}"#,
            r#"{"issuer_id":"a","named_in_queries":"yes"}"#,
            r#"{"issuer_id":"a","device_response_documents":"two"}"#,
            r#"{"issuer_id":"a"} x"#,
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
