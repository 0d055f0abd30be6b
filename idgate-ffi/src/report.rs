//! Reports as JSON for the caller: imported lists, checks that were made, effects to carry out.
//! They never contain a claim.

use idgate_core::Effect;
use idgate_core::error::Check;
use idgate_core::shell::{ImportedList, ListedCertificate, TrustedList};
use idgate_core::verify::{CredentialReport, Report};
use serde_json::{Value, json};

/// The outcome for each certificate of a list.
pub(crate) fn listed(list: &ImportedList) -> Value {
    json!(list.certificates)
}

/// The facts of a trusted list, and the outcome for each of its certificates.
pub(crate) fn trusted_list(list: &TrustedList) -> Value {
    let services = list.providers.iter().flat_map(|listed| &listed.services);
    let certificates = services.flat_map(|service| {
        service.certificates.iter().map(|listed| certificate(listed, service.skipped))
    });
    json!({
        "list_type": list.list_type.name(),
        "sequence": list.sequence,
        "issued_at_ms": list.issued_at.0,
        "next_update_ms": list.next_update.0,
        "organization": list.signer.organization,
        "providers": list.providers.iter().map(|listed| &*listed.provider).collect::<Vec<_>>(),
        "certificates": certificates.collect::<Vec<_>>(),
    })
}

/// `skipped`: why its whole service is ignored.
fn certificate(listed: &ListedCertificate, skipped: Option<&str>) -> Value {
    let mut told = json!(listed);
    if let (Some(why), Some(members)) = (skipped, told.as_object_mut()) {
        members.insert("skipped_because".to_owned(), why.into());
    }
    told
}

/// The checks of an answer, presentation by presentation, and what failed.
pub(crate) fn report(report: &Report) -> Value {
    json!({
        "failed": report.error().map(ToString::to_string),
        "credentials": report.credentials.iter().map(checks).collect::<Vec<_>>(),
    })
}

/// The checks of one presentation.
pub(crate) fn checks(report: &CredentialReport) -> Value {
    let checks = report.checks().map(|(check, passed)| {
        json!({
            "group": check.group(),
            "check": check.title(),
            "clause": report.clause(check),
            "passed": passed,
        })
    });
    checks.collect()
}

/// The checks that one presentation passed.
pub(crate) fn passed(checks: impl Iterator<Item = (Check, bool)>) -> Value {
    let checks = checks.map(|(check, passed)| {
        json!({
            "group": check.group(),
            "check": check.title(),
            "clause": check.clause(),
            "passed": passed,
        })
    });
    checks.collect()
}

/// The effects to carry out after the commit, in order.
pub(crate) fn effects(effects: &[Effect]) -> Value {
    let known = effects.iter().filter_map(|effect| {
        Some(match effect {
            Effect::PublishStatus { status, reason, wallet_error, occurred_at } => json!({
                "type": "publish_status",
                "status": status.as_str(),
                "reason": reason.map(|reason| reason.as_str()),
                "wallet_error": wallet_error.map(|error| error.as_str()),
                "occurred_at_ms": occurred_at.0,
            }),
            Effect::ExpireAt(at) => json!({ "type": "expire_at", "at_ms": at.0 }),
            Effect::RedactClaimsAt(at) => json!({ "type": "redact_claims_at", "at_ms": at.0 }),
            _ => return None,
        })
    });
    known.collect()
}
