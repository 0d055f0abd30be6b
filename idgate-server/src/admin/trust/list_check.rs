//! The checks of `trust check` for a trusted list: its problems, and warnings about coming ones.

use idgate_core::UnixMillis;
use idgate_core::shell::{ListOutcome, ListProfile, TrustEntry};

use super::list_show::profile_of;
use super::lotl_show;
use super::show::is_expired;
use idgate_store::{TrustRecord, TrustedListRecord};

/// A list, or a certificate for its signer, that ends within this time gets a warning.
const SOON_MS: u64 = 14 * 86_400_000;

/// Returns the problems of an entry's list.
pub(super) fn problems(record: &TrustRecord, now: UnixMillis) -> Vec<String> {
    let Some(listed) = &record.trusted_list else { return Vec::new() };
    let (issuer_id, list) = (&record.issuer_id, &listed.list);
    let mut found = Vec::new();
    if list.next_update <= now && !listed.row.allow_stale {
        let option = if record.list_of_lists.is_some() { "--lotl" } else { "--trusted-list" };
        found.push(format!(
            "{issuer_id}: the trusted list expired on {}, and its issuers are no longer trusted; import \
             a newer one with `idgate trust refresh`, or `idgate trust add {option} FILE`",
            list.next_update
        ));
    }
    found.extend(lotl_show::problems(record, listed.row.allow_stale, now));
    // A list of lists also names former signers, so an expired one among them is not a problem.
    if let (Ok(Some(anchors)), None) = (listed.row.anchors(), &record.list_of_lists) {
        let ended = anchors.ends().filter(|(_, end)| is_expired(*end, now));
        found.extend(ended.map(|(subject, end)| {
            format!("{issuer_id}: {subject}, the anchor of its trusted list, expired on {end}")
        }));
    }
    found.extend(crl_problems(issuer_id, listed, now));
    found
}

/// Returns the problems of the CRLs for the list's signer. While one of them is overdue, every new
/// issue is refused.
fn crl_problems(issuer_id: &str, listed: &TrustedListRecord, now: UnixMillis) -> Vec<String> {
    let crls = match listed.row.verified_crls() {
        Ok(crls) => crls,
        Err(why) => {
            return vec![format!("{issuer_id}: a CRL for the signer of its trusted list: {why}")];
        }
    };
    let overdue = crls.iter().filter(|crl| is_expired(crl.next_update(), now));
    let told = overdue.map(|crl| {
        format!(
            "{issuer_id}: a CRL for the signer of its trusted list was due to be replaced on {}, and no \
             new issue is accepted; add a newer one with `idgate trust add {issuer_id} --trusted-list \
             FILE|URL --list-signer-ca FILE --crl FILE`",
            crl.next_update()
        )
    });
    told.collect()
}

/// Whether several providers have one of its certificates.
fn is_shared(entry: &TrustEntry) -> bool {
    let roots = [&entry.roots, &entry.sd_jwt_roots, &entry.status_roots];
    let signers = [&entry.pinned_signers, &entry.sd_jwt_signers, &entry.status_signers];
    let roots = roots.into_iter().flatten().map(|root| root.providers().count());
    let signers = signers.into_iter().flatten().map(|signer| signer.providers().count());
    roots.chain(signers).any(|providers| providers > 1)
}

/// Returns the warnings about an entry's list and its list of lists.
pub(super) fn warnings(record: &TrustRecord, now: UnixMillis) -> Vec<String> {
    let Some(listed) = &record.trusted_list else { return Vec::new() };
    let TrustedListRecord { row, list, fetch } = listed;
    let issuer_id = &record.issuer_id;
    let mut found = list.warnings.clone();
    let left = list.next_update.since(now);
    if list.next_update > now && left < SOON_MS {
        found.push(format!("is due to be replaced on {}", list.next_update));
    }
    if row.allow_stale {
        found.push("has --allow-stale, so its issuers stay trusted after it expires".into());
    }
    if row.anchors.is_empty() {
        found.push("has a signer without a trust anchor; it is for test mode only".into());
    }
    if let Some(fetch) = fetch.as_ref().filter(|fetch| fetch.failures > 0) {
        let why = fetch.failure.as_deref().unwrap_or_default();
        found.push(format!("could not be renewed {} times: {why}", fetch.failures));
    }
    if list.signer.not_after.since(now) < SOON_MS {
        found.push(format!("has a signer whose certificate ends on {}", list.signer.not_after));
    }
    if let (Ok(Some(anchors)), None) = (row.anchors(), &record.list_of_lists) {
        let soon = anchors.ends().filter(|(_, end)| end.since(now) < SOON_MS);
        found.extend(
            soon.map(|(subject, end)| format!("has an anchor, {subject}, that expires on {end}")),
        );
    }
    if row.verified_crls().is_ok_and(|crls| crls.iter().any(|crl| !crl.is_numbered())) {
        found.push("has a CRL for its signer without CRLNumber; its issuer should add one".into());
    }
    if list.providers.is_empty() {
        found.push("names no provider, so everything is refused".into());
    }
    if profile_of(listed) == ListProfile::Any {
        let what = "--signer-profile any, so every certificate of a listed CA may sign credentials";
        found.push(what.into());
    }
    let services = || list.providers.iter().flat_map(|provider| &provider.services);
    let skipped = services().filter(|service| service.skipped.is_some()).count();
    let unusable = services().flat_map(|service| &service.certificates);
    let unusable = unusable.filter(|listed| listed.outcome != ListOutcome::Usable).count();
    if skipped > 0 || unusable > 0 {
        found.push(format!("has {skipped} services and {unusable} certificates that were skipped"));
    }
    if is_shared(&record.entry()) {
        found.push("gives one certificate to several providers".into());
    }
    let mut all: Vec<String> =
        found.iter().map(|what| format!("{issuer_id}: the trusted list {what}")).collect();
    all.extend(lotl_show::warnings(record, now));
    all
}
