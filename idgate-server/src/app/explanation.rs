//! The report on a refused answer, for the tenant and the operator: which rules were checked, their
//! clauses, and whether each passed. It contains nothing of the presentation.

use idgate_core::error::{Check, VerifyError};
use idgate_core::verify::{CredentialReport, Report};
use idgate_core::{Session, SessionId};
use serde_json::{Value, json};

use super::{App, AppError};
use idgate_store::Caller;

impl App {
    /// Why the answer to a session of the caller was refused, as JSON text.
    ///
    /// # Errors
    /// There is no such session, its answer was not refused, or the refusal is more than 24 hours
    /// old.
    pub async fn explanation(&self, caller: &Caller, id: &SessionId) -> Result<String, AppError> {
        let report = self.store.report(caller, id, self.now()).await?.ok_or(AppError::NotFound)?;
        String::from_utf8(report)
            .map_err(|_| AppError::Fault("a stored report is not UTF-8".into()))
    }
}

/// The report to store about a refusal; `None` if nothing was refused.
pub(super) fn explain(session: &Session, report: &Report) -> Option<Vec<u8>> {
    let error = report.error()?;
    let failed = report.credentials.iter().find(|it| it.failed.is_some());
    let credential = failed.filter(|_| report.failed.is_none()).map(|it| it.id.as_str());
    let told = json!({
        "session_id": session.id().as_str(),
        "reason": error.reason.as_str(),
        "refused_at": session.settled_at()?.to_string(),
        "credential": credential,
        "answer": report.failed.iter().map(of_answer).collect::<Vec<_>>(),
        "credentials": report.credentials.iter().map(checks).collect::<Vec<_>>(),
    });
    Some(told.to_string().into_bytes())
}

/// The report on an accepted answer, for the observer; `None` if it was refused.
pub(super) fn explain_accepted(session: &Session, report: &Report) -> Option<String> {
    let settled = session.settlement()?;
    if settled.reason.is_some() {
        return None;
    }
    let told = json!({
        "session_id": session.id().as_str(),
        "verified_at": settled.at.to_string(),
        "answer": [],
        "credentials": report.credentials.iter().map(checks).collect::<Vec<_>>(),
    });
    Some(told.to_string())
}

fn checks(report: &CredentialReport) -> Value {
    let failed = report.failed.as_ref();
    let checks = report.checks().map(|(rule, passed)| {
        let mut told = check(rule, report.clause(rule), failed.filter(|_| !passed));
        if rule == Check::Status && report.accepted_unknown_status {
            let accepted = "the status is unknown; the trust entry or the request accepts that";
            if let Some(members) = told.as_object_mut() {
                members.insert("detail".into(), accepted.into());
            }
        }
        told
    });
    json!({ "id": report.id, "passed": failed.is_none(), "checks": checks.collect::<Vec<_>>() })
}

fn of_answer(error: &VerifyError) -> Value {
    check(error.check, error.check.clause(), Some(error))
}

fn check(rule: Check, clause: &str, failed: Option<&VerifyError>) -> Value {
    let mut told = json!({
        "group": rule.group(),
        "rule": rule.title(),
        "clause": clause,
        "passed": failed.is_none(),
    });
    if let (Some(error), Some(members)) = (failed, told.as_object_mut()) {
        // A fixed text: it names the fault and never what was sent.
        members.insert("detail".into(), error.detail.into());
    }
    told
}
