//! The content of a trusted list, as text and as JSON.

use std::fmt::Write as _;

use idgate_core::UnixMillis;
use idgate_core::shell::{ListProfile, ListedProvider, ListedService};
use serde_json::{Value, json};

use super::lotl_show;
use crate::digest::{hex, sha256};
use idgate_store::{ListRow, TrustRecord, TrustedListRecord};

/// Returns the list of an entry as JSON.
pub(super) fn to_json(record: &TrustRecord, now: UnixMillis) -> Value {
    let Some(listed) = &record.trusted_list else { return Value::Null };
    let TrustedListRecord { row, list, fetch } = listed;
    json!({
        "url": row.url,
        "sha256": hex(&row.sha256),
        "list_type": row.list_type,
        "sequence": list.sequence,
        "operator": list.operator,
        "issued_at": list.issued_at.to_string(),
        "next_update": list.next_update.to_string(),
        "stale": list.next_update <= now,
        "allow_stale": row.allow_stale,
        "test_only": row.test_only,
        "signer_profile": profile_of(listed).name(),
        "only_providers": row.provider_ids(),
        "signer": {
            "subject": list.signer.subject,
            "sha256": hex(&list.signer.sha256),
            "organization": row.organization,
            "not_after": list.signer.not_after.to_string(),
            "known": has_known_signer(record, row),
        },
        "announced_signers": list.announced_signers.iter().map(|one| hex(one)).collect::<Vec<_>>(),
        "providers": list.providers.iter().map(provider_json).collect::<Vec<_>>(),
        "warnings": list.warnings,
        "ignored_members": list.ignored_members,
        "other_services": list.other_services,
        "fetch": fetch.as_ref().map(|fetch| json!({
            "tried_at": fetch.tried_at.to_string(),
            "failures": fetch.failures,
            "failure": fetch.failure,
        })),
        "list_of_lists": record.list_of_lists.as_ref().map(|lists| lotl_show::to_json(lists, now)),
        "added_at": row.added_at.to_string(),
    })
}

fn provider_json(listed: &ListedProvider) -> Value {
    json!({
        "name": listed.provider.name,
        "identifier": listed.provider.identifier(),
        "country": listed.provider.country,
        "services": listed.services.iter().map(service_json).collect::<Vec<_>>(),
    })
}

fn service_json(service: &ListedService) -> Value {
    let certificates = service.certificates.iter().map(|listed| {
        json!({
            "sha256": hex(&listed.sha256),
            "subject": listed.subject,
            "key": listed.key_kind,
            "skipped_because": listed.skipped_because(),
        })
    });
    json!({
        "role": service.role.map(|role| role.name()),
        "from": (service.from.0 > 0).then(|| service.from.to_string()),
        "skipped_because": service.skipped,
        "certificates": certificates.collect::<Vec<_>>(),
    })
}

/// Returns the list of an entry as text.
pub(super) fn to_text(record: &TrustRecord, now: UnixMillis) -> String {
    let Some(listed) = &record.trusted_list else { return String::new() };
    let TrustedListRecord { row, list, .. } = listed;
    let mut text = String::new();
    let from = row.url.as_deref().unwrap_or("a file");
    let due = if list.next_update <= now { "was due" } else { "next" };
    let mode = if row.test_only { "test only" } else { "live and test" };
    let _ = writeln!(
        text,
        "  trusted list: {} number {} of {}, {}, from {from}, {due} on {}, {} providers, {mode}",
        row.list_type,
        list.sequence,
        list.issued_at,
        hex(&row.sha256),
        list.next_update,
        list.providers.len(),
    );
    let _ = writeln!(text, "    signer: {}", list.signer.subject);
    text.extend(record.list_of_lists.as_ref().map(|lists| lotl_show::to_text(lists, now)));
    if list.other_services > 0 {
        let _ = writeln!(text, "    left out: {} services of other types", list.other_services);
    }
    for provider in &list.providers {
        let who = &provider.provider;
        let _ = writeln!(
            text,
            "    {} ({}, {})",
            who.name,
            who.identifier().unwrap_or("no identifier"),
            who.country.as_deref().unwrap_or("no country"),
        );
        for service in &provider.services {
            let role = service.role.map_or("another service", |role| role.name());
            let skipped = service.skipped.map(|why| format!(", skipped: {why}"));
            let count = service.certificates.len();
            let _ =
                writeln!(text, "      {role}: {count} certificates{}", skipped.unwrap_or_default());
        }
    }
    text
}

/// Returns the certificate profile that signers below the CAs of a list must satisfy.
pub(super) fn profile_of(listed: &TrustedListRecord) -> ListProfile {
    listed.row.list_profile().unwrap_or(ListProfile::of(listed.list.list_type))
}

/// Whether the signer leads to an anchor of the operator, by way of the list of lists if there is one.
fn has_known_signer(record: &TrustRecord, row: &ListRow) -> bool {
    let of_lists = record.list_of_lists.as_ref();
    !row.anchors.is_empty() && of_lists.is_none_or(|lists| !lists.anchors.is_empty())
}

/// Returns the report on a newly imported list, as JSON and as text.
pub(super) fn report(record: &TrustRecord) -> Option<(Value, String)> {
    let TrustedListRecord { row, list, .. } = record.trusted_list.as_ref()?;
    let entry = record.entry();
    let roots = entry.roots.len().max(entry.sd_jwt_roots.len());
    let signers = entry.pinned_signers.iter().filter(|one| one.is_listed()).count();
    let of_sd_jwts = entry.sd_jwt_signers.iter().filter(|one| one.is_listed()).count();
    let is_known = has_known_signer(record, row);
    let json = json!({
        "kind": "trusted_list",
        "list_type": row.list_type,
        "sequence": list.sequence,
        "issued_at": list.issued_at.to_string(),
        "next_update": list.next_update.to_string(),
        "signer": if is_known { "known" } else { "unknown" },
        "sha256": hex(&sha256(&row.token)),
        "providers": list.providers.len(),
        "roots": roots,
        "signers": signers.max(of_sd_jwts),
        "status_roots": entry.status_roots.len(),
        "status_signers": entry.status_signers.len(),
    });
    let unknown = match is_known {
        true => "",
        false => "; its signer is unknown: anybody may have made it",
    };
    let text = format!(
        "trusted list {} number {}: {} providers, {roots} roots, {} signers; the next one is due on \
         {}{unknown}\n",
        row.list_type,
        list.sequence,
        list.providers.len(),
        signers.max(of_sd_jwts),
        list.next_update,
    );
    Some((json, text))
}
