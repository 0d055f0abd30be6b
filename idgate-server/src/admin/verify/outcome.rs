//! What a verification came to, for people and for programs. It never shows a claim.

use std::fmt::Write;

use idgate_core::error::VerifyError;
use idgate_core::verify::{CredentialReport, VerifiedCredential};
use serde_json::json;

use crate::admin::Output;

pub(super) type Outcome = Result<VerifiedCredential, VerifyError>;

/// The tree of checks and the verdict.
pub(super) fn tell(report: &CredentialReport, result: &Outcome) -> Output {
    let mut output = Output::new(object(report, result), tree(report, result));
    output.code = if result.is_ok() { 0 } else { 3 };
    output
}

fn tree(report: &CredentialReport, result: &Outcome) -> String {
    let mut text = String::new();
    let mut group = "";
    for (check, passed) in report.checks() {
        if check.group() != group {
            group = check.group();
            let _infallible = writeln!(text, "{group}");
        }
        let mark = if passed { "ok    " } else { "FAILED" };
        let _infallible = writeln!(text, "  {mark} {check} ({})", check.clause());
    }
    let _infallible = match result {
        Ok(credential) => {
            let facts = credential.facts();
            writeln!(
                text,
                "verified: {} by {}, {}, revocation {}",
                facts.credential_type,
                facts.issuer.as_deref().unwrap_or("an issuer without iss"),
                facts.alg,
                credential.revocation().name(),
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
                "clause": check.clause(),
                "passed": passed,
            })
        })
        .collect();
    match result {
        Ok(credential) => {
            let facts = credential.facts();
            json!({
                "verified": true,
                "credential_type": facts.credential_type,
                "issuer": facts.issuer,
                "alg": facts.alg.name(),
                "holder_binding": facts.holder_binding.name(),
                "session_transcript": facts.session_transcript,
                "revocation": credential.revocation().name(),
                "checks": checks,
            })
        }
        Err(error) => json!({
            "verified": false,
            "reason": error.reason,
            "detail": error.detail,
            "checks": checks,
        }),
    }
}
