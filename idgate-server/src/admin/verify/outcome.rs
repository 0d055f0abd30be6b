//! The result of a verification, as text and as JSON. It never shows a claim.

use std::fmt::Write;

use idgate_core::ErrorCode;
use idgate_core::error::{Check, VerifyError};
use idgate_core::revocation::RevocationOutcome;
use idgate_core::shell::VerifiedCredential;
use idgate_core::verify::CredentialReport;
use serde_json::json;

use crate::admin::output::{Output, on_one_line};

pub(super) type Outcome = Result<VerifiedCredential, VerifyError>;

/// The tree of checks and the verdict.
pub(super) fn tell(report: &CredentialReport, result: &Outcome) -> Output {
    Output::new(object(report, result), tree(report, result)).failed_if(result.is_err())
}

/// The verdict on an answer that does not open; a gateway has the same code.
pub(super) fn undecryptable(detail: &str) -> Output {
    let code = ErrorCode::DecryptionFailed;
    let object = json!({ "verified": false, "reason": code, "detail": detail, "checks": [] });
    Output::new(object, format!("refused: {code}: {detail}\n")).failed_if(true)
}

/// The same for several credentials, by their ids; verified if all of them are.
pub(super) fn tell_all(told: &[(&str, CredentialReport, Outcome)]) -> Output {
    let verified = told.iter().all(|(_, _, result)| result.is_ok());
    let mut text = String::new();
    let mut credentials = Vec::new();
    for (id, report, result) in told {
        let _infallible = writeln!(text, "{id}:");
        text.push_str(&tree(report, result));
        let mut told = object(report, result);
        if let Some(members) = told.as_object_mut() {
            members.insert("id".into(), (*id).into());
        }
        credentials.push(told);
    }
    let object = json!({ "verified": verified, "credentials": credentials });
    Output::new(object, text).failed_if(!verified)
}

/// Whether a check passed; `None`: it was not made, because of the options or without a list.
fn is_passed(check: Check, passed: bool, result: &Outcome) -> Option<bool> {
    let revocation = result.as_ref().ok().map(VerifiedCredential::revocation_details);
    let is_off = revocation.is_some_and(|revocation| match check {
        Check::Status => {
            matches!(revocation.credential, RevocationOutcome::Off | RevocationOutcome::Unknown)
        }
        Check::SignerStatus => revocation.signer == RevocationOutcome::Off,
        _ => false,
    });
    (!is_off).then_some(passed)
}

fn tree(report: &CredentialReport, result: &Outcome) -> String {
    let mut text = String::new();
    let mut group = "";
    for (check, passed) in report.checks() {
        if check.group() != group {
            group = check.group();
            let _infallible = writeln!(text, "{group}");
        }
        let mark = match is_passed(check, passed, result) {
            Some(true) => "ok    ",
            Some(false) => "FAILED",
            None => "not checked",
        };
        let _infallible = writeln!(text, "  {mark} {check} ({})", report.clause(check));
    }
    let _infallible = match result {
        Ok(credential) => {
            let (facts, revocation) = (credential.facts(), credential.revocation_details());
            let unbound = match facts.issuing_country_unbound {
                true => ", issuing_country not that of the signer",
                false => "",
            };
            let tolerated = match facts.tolerated.as_slice() {
                [] => String::new(),
                oids => format!(", tolerated in its certificate: {}", oids.join(", ")),
            };
            writeln!(
                text,
                "verified: {} by {}, {}, revocation {} (credential {}, signer {}){unbound}{tolerated}",
                on_one_line(&facts.credential_type),
                on_one_line(facts.issuer.as_deref().unwrap_or("an issuer without iss")),
                facts.alg,
                revocation.summary().name(),
                revocation.credential.name(),
                revocation.signer.name(),
            )
        }
        Err(error) => writeln!(text, "refused: {}: {}", error.reason, error.detail),
    };
    text
}

fn object(report: &CredentialReport, result: &Outcome) -> serde_json::Value {
    let checks: Vec<_> = report
        .checks()
        .map(|(check, passed)| {
            json!({
                "group": check.group(),
                "check": check.title(),
                "clause": report.clause(check),
                "passed": is_passed(check, passed, result),
            })
        })
        .collect();
    match result {
        Ok(credential) => {
            let (facts, revocation) = (credential.facts(), credential.revocation_details());
            let mut told = json!({
                "verified": true,
                "credential_type": facts.credential_type,
                "issuer": facts.issuer,
                "alg": facts.alg.name(),
                "holder_binding": facts.holder_binding.name(),
                "session_transcript": facts.session_transcript,
                "revocation": revocation.summary().name(),
                "revocation_details": {
                    "credential": revocation.credential.name(),
                    "signer": revocation.signer.name(),
                },
                "checks": checks,
            });
            if let Some(members) = told.as_object_mut() {
                if facts.issuing_country_unbound {
                    members.insert("issuing_country_unbound".into(), true.into());
                }
                if !facts.tolerated.is_empty() {
                    members.insert("tolerated".into(), facts.tolerated.as_slice().into());
                }
            }
            told
        }
        Err(error) => json!({
            "verified": false,
            "reason": error.reason,
            "detail": error.detail,
            "checks": checks,
        }),
    }
}
