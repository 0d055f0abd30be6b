//! A trust entry as JSON: who an issuer is and what it may attest.

use std::collections::BTreeMap;

use idgate_core::shell::{DocType, NameSpace, Oid, TrustEntry};
use idgate_core::trust::{DeviceResponseDocuments, RevocationPolicy};
use idgate_core::{ClaimPath, IssuerId};
use serde::Deserialize;

use crate::failure::Failure;
use crate::status::idgate_status::IDGATE_CONFIG;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    issuer_id: String,
    iss: Option<String>,
    #[serde(default)]
    vct: Vec<String>,
    #[serde(default)]
    doc_types: Vec<String>,
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default)]
    claims: Vec<String>,
    #[serde(default)]
    countries: Vec<String>,
    ekus: Option<Vec<String>>,
    #[serde(default)]
    sd_jwt_ekus: Vec<String>,
    #[serde(default)]
    revocation: RevocationPolicy,
    status_max_age_days: Option<u32>,
    #[serde(default)]
    issuing_country_unbound: bool,
    #[serde(default)]
    claim_paths: BTreeMap<String, ClaimPath>,
    #[serde(default)]
    aki: bool,
    #[serde(default)]
    device_response_documents: DeviceResponseDocuments,
}

/// The entry that this text describes, without material.
pub(crate) fn parse(json: &[u8]) -> Result<TrustEntry, Failure> {
    let described: Entry = serde_json::from_slice(json)
        .map_err(|error| Failure::unreadable(IDGATE_CONFIG, "the trust entry", &error))?;
    let mut entry = TrustEntry::new(IssuerId::new(described.issuer_id));
    if described.iss.is_some() {
        entry.iss = described.iss;
    }
    entry.vct = described.vct;
    entry.doc_types = described.doc_types.into_iter().map(DocType::new).collect();
    entry.namespaces = described.namespaces.into_iter().map(NameSpace::new).collect();
    entry.default_claims = described.claims;
    entry.countries = described.countries;
    if let Some(ekus) = described.ekus {
        entry.ekus = oids("ekus", &ekus)?;
    }
    entry.sd_jwt_ekus = oids("sd_jwt_ekus", &described.sd_jwt_ekus)?;
    entry.revocation = described.revocation;
    entry.issuing_country_unbound = described.issuing_country_unbound;
    entry.claim_paths = described.claim_paths.into_iter().collect();
    entry.aki = described.aki;
    entry.device_response_documents = described.device_response_documents;
    if let Some(days) = described.status_max_age_days {
        if !(1..=3650).contains(&days) {
            return Err(Failure::config("status_max_age_days is not 1 to 3650"));
        }
        entry.status_max_age_days = days;
    }
    Ok(entry)
}

fn oids(member: &str, texts: &[String]) -> Result<Vec<Oid>, Failure> {
    let oid = |text: &String| {
        Oid::parse(text).ok_or_else(|| {
            let why = "is not an object identifier; write 1.0.18013.5.1.2";
            Failure::config(format!("{member}: {text} {why}"))
        })
    };
    texts.iter().map(oid).collect()
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
    fn what_queries_take_from_an_entry_is_read() {
        let entry = parse(br#"{"issuer_id":"dmv"}"#).unwrap();
        assert!(entry.claim_paths.is_empty() && !entry.aki);
        assert_eq!(entry.device_response_documents.name(), "one");
        let given = r#"{"issuer_id":"dmv","aki":true,"device_response_documents":"any",
            "claim_paths":{"city":["address","locality"],"all":["nationalities",null]}}"#;
        let entry = parse(given.as_bytes()).unwrap();
        assert!(entry.aki && entry.device_response_documents.name() == "any");
        let paths: Vec<String> =
            entry.claim_paths.iter().map(|(_, path)| path.to_string()).collect();
        assert_eq!(paths, [r#"["nationalities",null]"#, r#"["address","locality"]"#]);
    }

    #[test]
    fn what_certificates_of_sd_jwt_issuers_must_be_for_is_read() {
        let ekus = |json: &str| parse(json.as_bytes()).unwrap().sd_jwt_ekus;
        assert!(ekus(r#"{"issuer_id":"dmv"}"#).is_empty());
        let given = ekus(r#"{"issuer_id":"dmv","sd_jwt_ekus":["1.2.3","2.5.29.37.0"]}"#);
        let given: Vec<String> = given.iter().map(ToString::to_string).collect();
        assert_eq!(given, ["1.2.3", "2.5.29.37.0"]);
    }

    #[test]
    fn what_is_unknown_or_wrong_is_refused() {
        for bad in [
            "",
            "[]",
            "{}",
            r#"{"issuer_id":"a","issuer_id":"b"}"#,
            r#"{"issuer_id":"a","vcts":[]}"#,
            r#"{"issuer_id":"a","revocation":"maybe"}"#,
            r#"{"issuer_id":"a","ekus":["one.two"]}"#,
            r#"{"issuer_id":"a","sd_jwt_ekus":["one.two"]}"#,
            r#"{"issuer_id":"a","sd_jwt_ekus":"1.2.3"}"#,
            r#"{"issuer_id":"a","status_max_age_days":0}"#,
            r#"{"issuer_id":"a","status_max_age_days":3651}"#,
            r#"{"issuer_id":"a","status_max_age_days":"7"}"#,
            r#"{"issuer_id":"a","issuing_country_unbound":1}"#,
            r#"{"issuer_id":"a","claim_paths":{"b":["c",0]}}"#,
            r#"{"issuer_id":"a","claim_paths":{"b":[]}}"#,
            r#"{"issuer_id":"a","claim_paths":[]}"#,
            r#"{"issuer_id":"a","aki":"yes"}"#,
            r#"{"issuer_id":"a","device_response_documents":"two"}"#,
            r#"{"issuer_id":"a"} x"#,
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
