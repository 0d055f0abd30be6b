//! The list of lists of an entry: its content, its problems, and warnings about coming ones.

use idgate_core::UnixMillis;
use idgate_store::{ListOfListsRow, TrustRecord};
use serde_json::{Value, json};

use super::show::is_expired;
use crate::digest::hex;

/// A list of lists, or a certificate for its signer, that ends within this time gets a warning.
const SOON_MS: u64 = 14 * 86_400_000;

/// Returns the list of lists as JSON.
pub(super) fn to_json(row: &ListOfListsRow, now: UnixMillis) -> Value {
    let lists = row.recall().ok();
    json!({
        "url": row.url,
        "sha256": hex(&row.sha256),
        "country": row.country,
        "sequence": row.sequence,
        "lists": row.listed,
        "operator": lists.as_ref().map(|lists| &lists.operator),
        "issued_at": lists.as_ref().map(|lists| lists.issued_at.to_string()),
        "next_update": row.next_update.to_string(),
        "stale": row.next_update <= now,
        "signer": lists.as_ref().map(|lists| json!({
            "subject": lists.signer.subject,
            "sha256": hex(&lists.signer.sha256),
            "organization": row.organization,
            "not_after": lists.signer.not_after.to_string(),
            "known": !row.anchors.is_empty(),
        })),
        "fetch": row.fetch.as_ref().map(|fetch| json!({
            "tried_at": fetch.tried_at.to_string(),
            "failures": fetch.failures,
            "failure": fetch.failure,
        })),
        "added_at": row.added_at.to_string(),
    })
}

/// Returns the list of lists as text.
pub(super) fn to_text(row: &ListOfListsRow, now: UnixMillis) -> String {
    let from = row.url.as_deref().unwrap_or("a file");
    let due = if row.next_update <= now { "was due" } else { "next" };
    format!(
        "    named for {} by the list of lists number {}, {}, from {from}, {due} on {}, {} lists\n",
        row.country,
        row.sequence,
        hex(&row.sha256),
        row.next_update,
        row.listed,
    )
}

/// Returns the problems of an entry's list of lists. `allow_stale`: whether the entry uses it after
/// its next update was due.
pub(super) fn problems(record: &TrustRecord, allow_stale: bool, now: UnixMillis) -> Vec<String> {
    let Some(row) = &record.list_of_lists else { return Vec::new() };
    let issuer_id = &record.issuer_id;
    let mut found = Vec::new();
    if row.next_update <= now && !allow_stale {
        found.push(format!(
            "{issuer_id}: the list of lists was due to be replaced on {}, and the issuers of the list that it \
             names are no longer trusted; import a newer one with `idgate trust refresh`, or `idgate trust add \
             --lotl FILE`",
            row.next_update
        ));
    }
    // The Official Journal names several signers, of which some may have ended.
    if let Ok(Some(anchors)) = row.anchors()
        && anchors.ends().all(|(_, end)| is_expired(end, now))
    {
        found.extend(anchors.ends().map(|(subject, end)| {
            format!("{issuer_id}: {subject}, an anchor of its list of lists, expired on {end}")
        }));
    }
    match row.verified_crls() {
        Ok(crls) => {
            let overdue = crls.iter().filter(|crl| is_expired(crl.next_update(), now));
            found.extend(overdue.map(|crl| {
                format!(
                    "{issuer_id}: a CRL for the signer of its list of lists was due to be replaced on {}, and no new \
                     issue is accepted; add a newer one with `idgate trust add {issuer_id} --lotl FILE|URL \
                     --list-signer-ca FILE --crl FILE`",
                    crl.next_update()
                )
            }));
        }
        Err(why) => {
            found.push(format!("{issuer_id}: a CRL for the signer of its list of lists: {why}"));
        }
    }
    found
}

/// Returns the warnings about an entry's list of lists.
pub(super) fn warnings(record: &TrustRecord, now: UnixMillis) -> Vec<String> {
    let Some(row) = &record.list_of_lists else { return Vec::new() };
    let mut found = Vec::new();
    if row.next_update > now && row.next_update.since(now) < SOON_MS {
        found.push(format!("is due to be replaced on {}", row.next_update));
    }
    if row.anchors.is_empty() {
        found.push("has a signer without a trust anchor; it is for test mode only".into());
    }
    if let Some(fetch) = row.fetch.as_ref().filter(|fetch| fetch.failures > 0) {
        let why = fetch.failure.as_deref().unwrap_or_default();
        found.push(format!("could not be renewed {} times: {why}", fetch.failures));
    }
    match row.recall() {
        Ok(lists) if lists.signer.not_after.since(now) < SOON_MS => {
            let end = lists.signer.not_after;
            found.push(format!("has a signer whose certificate ends on {end}"));
        }
        Ok(_) => {}
        Err(why) => found.push(format!("cannot be read: {why}")),
    }
    if let Ok(Some(anchors)) = row.anchors() {
        let is_current = |(_, end): &(_, _)| !is_expired(*end, now);
        let soon = anchors.ends().filter(is_current).filter(|(_, end)| end.since(now) < SOON_MS);
        found.extend(
            soon.map(|(subject, end)| format!("has an anchor, {subject}, that expires on {end}")),
        );
    }
    let issuer_id = &record.issuer_id;
    found.iter().map(|what| format!("{issuer_id}: the list of lists {what}")).collect()
}
