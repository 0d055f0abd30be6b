//! European trusted lists on the command line: taking one, fetching it anew, and what it says.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::status::VerifiedCrl;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{
    ListAnchors, ListOutcome, ListProfile, ListType, ListedProvider, ListedService, TrustedList,
};
use serde_json::{Value, json};

use super::Fetch;
use super::show::{digest, hex, is_expired};
use crate::admin::files::{in_file, read_at_most};
use crate::admin::output::Output;
use crate::failure::Failure;
use crate::limits::MAX_LIST_FILE_BYTES;
use crate::store::{
    FetchedList, ListSettings, NewCrl, NewTrustedList, OperatorStore, Refreshed, TrustChange,
    TrustRecord, TrustedListRecord,
};

/// The document type and the credential types that lists are about where the operator names none.
const MDL: &str = "org.iso.18013.5.1.mDL";
const PID_VCT: &str = "urn:eudi:pid:1";
const PID_DOC_TYPE: &str = "eu.europa.ec.eudi.pid.1";
/// A list whose next issue is due within this time is named.
const SOON_MS: u64 = 14 * 86_400_000;

/// The options that name a trusted list.
#[derive(Args, Debug)]
pub(super) struct ListOptions {
    /// European trusted list (ETSI TS 119 602, JSON), from a file or an https URL, which `serve` then
    /// fetches anew by itself; replaces the entry's former one
    #[arg(long, value_name = "FILE|URL")]
    trusted_list: Option<String>,
    /// Who vouches for the signer of the trusted list: CAs above it, or the signer itself, PEM or DER,
    /// one or many
    #[arg(long, value_name = "FILE", requires = "trusted_list")]
    list_signer_ca: Option<PathBuf>,
    /// pid, mdl or pub-eaa [default: what the list says]; fixed by the first list
    #[arg(long, value_name = "TYPE", value_parser = list_type, requires = "trusted_list")]
    list_type: Option<ListType>,
    /// Only the provider of the list with this registration identifier, as NTRLU-B1 (repeatable)
    #[arg(long, value_name = "ID")]
    provider: Option<Vec<String>>,
    /// What marks signers below the CAs of the list: iso, etsi, either or any
    /// [default: iso for mdl, else either]
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    signer_profile: Option<ListProfile>,
    /// Take the list although a newer one was seen
    #[arg(long, requires = "trusted_list")]
    accept_rollback: bool,
    /// Queries of 1.0 and haip name the list's URL, so that wallets look only for credentials of its
    /// providers
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    etsi_tl: Option<bool>,
}

impl ListOptions {
    /// Reads the list into `change`, whose other attributes are set, for an entry that was `before`.
    /// CRLs of the list's anchors are its own.
    pub(super) fn read(
        &self,
        change: &mut TrustChange,
        before: Option<&TrustRecord>,
        allow_stale: bool,
        fetch: &Fetch<'_>,
    ) -> Result<(), Failure> {
        change.etsi_tl = self.etsi_tl;
        let follows = before.is_some_and(|before| before.trusted_list.is_some());
        change.list_settings = ListSettings {
            providers: self.provider.clone(),
            profile: self.signer_profile,
            allow_stale: match &self.trusted_list {
                Some(_) => Some(allow_stale),
                None => (allow_stale && follows).then_some(true),
            },
        };
        let Some(place) = &self.trusted_list else { return Ok(()) };
        let anchors = self.anchors()?;
        if anchors.is_none() && !change.test_only && !follows {
            return Err(Failure::Usage(
                "--trusted-list needs --list-signer-ca FILE, or --test: without it anybody could have \
                 made the list"
                    .into(),
            ));
        }
        let (url, token) = fetched(place, fetch)?;
        if let Some(anchors) = &anchors {
            self.take_crls(change, anchors);
        }
        self.name_types(change, before, &token)?;
        let ders = anchors.map(|anchors| anchors.certificates().flatten().copied().collect());
        change.trusted_list = Some(NewTrustedList {
            url,
            token,
            crls: change.trusted_list.take().and_then(|taken| taken.crls),
            anchors: ders.or_else(|| change.test_only.then(Vec::new).filter(|_| !follows)),
            accept_rollback: self.accept_rollback,
        });
        Ok(())
    }

    fn anchors(&self) -> Result<Option<ListAnchors>, Failure> {
        let Some(path) = &self.list_signer_ca else { return Ok(None) };
        let file = read_at_most(path, MAX_LIST_FILE_BYTES)?;
        let anchors = ListAnchors::from_file(&PROVIDER, &file);
        anchors.map(Some).map_err(|why| in_file(path, &why.to_string()))
    }

    /// CRLs of a CA above the list's signer say nothing about issuers.
    fn take_crls(&self, change: &mut TrustChange, anchors: &ListAnchors) {
        let is_of_list =
            |crl: &NewCrl| VerifiedCrl::from_der(&PROVIDER, &crl.der, anchors.cas()).is_ok();
        let (own, others) = std::mem::take(&mut change.crls).into_iter().partition(is_of_list);
        change.crls = others;
        let own: Vec<NewCrl> = own;
        if own.is_empty() {
            return;
        }
        change.trusted_list = Some(NewTrustedList {
            url: None,
            token: Vec::new(),
            anchors: None,
            crls: Some(own.into_iter().flat_map(|crl| crl.der).collect()),
            accept_rollback: false,
        });
    }

    /// Names the types that the list is about where the operator names none: no list opens an entry to
    /// any type.
    fn name_types(
        &self,
        change: &mut TrustChange,
        before: Option<&TrustRecord>,
        token: &[u8],
    ) -> Result<(), Failure> {
        let Ok(list) = TrustedList::recall(&PROVIDER, token, UnixMillis(0)) else { return Ok(()) };
        if let Some(wanted) = self.list_type.filter(|wanted| *wanted != list.list_type) {
            let (own, wanted) = (list.list_type.name(), wanted.name());
            return Err(Failure::Error(format!(
                "the trusted list is of the type {own}, and {wanted} is asked for"
            )));
        }
        let vct = change.vct.as_deref().or(before.map(|before| &before.vct[..]));
        let doc_types = change.doc_types.as_deref().or(before.map(|before| &before.doc_types[..]));
        let (vct, doc_types) = (vct.unwrap_or_default(), doc_types.unwrap_or_default());
        match list.list_type {
            ListType::Pid if vct.is_empty() && doc_types.is_empty() => {
                change.vct = Some(vec![PID_VCT.into()]);
                change.doc_types = Some(vec![PID_DOC_TYPE.into()]);
            }
            ListType::Mdl if !vct.is_empty() => {
                return Err(Failure::Usage(
                    "--vct: an mDL list vouches for no SD-JWT VC; use an entry of its own".into(),
                ));
            }
            ListType::Mdl if doc_types.is_empty() => change.doc_types = Some(vec![MDL.into()]),
            ListType::Mdl if doc_types != [MDL] => {
                return Err(Failure::Usage(format!(
                    "--doc-type: an mDL list vouches for {MDL} alone; use an entry of its own"
                )));
            }
            ListType::PubEaa if vct.is_empty() && doc_types.is_empty() => {
                return Err(Failure::Usage(
                    "a list of public bodies does not say what they issue: name it with --vct or \
                     --doc-type"
                        .into(),
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The list at an https URL, or in a file, and the URL.
fn fetched(place: &str, fetch: &Fetch<'_>) -> Result<(Option<String>, Vec<u8>), Failure> {
    if place.starts_with("https://") {
        let token = fetch(place).map_err(|why| Failure::Error(format!("{place}: {why}")))?;
        return Ok((Some(place.to_owned()), token));
    }
    if place.starts_with("http://") {
        return Err(Failure::Usage("--trusted-list: a list is fetched over https only".into()));
    }
    Ok((None, read_at_most(Path::new(place), MAX_LIST_FILE_BYTES)?))
}

/// Fetches the lists of all entries, or of one, now.
pub(super) fn refresh(
    store: &mut OperatorStore,
    issuer_id: Option<&str>,
    accept_rollback: bool,
    fetch: &Fetch<'_>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    let records = match issuer_id {
        Some(issuer_id) => {
            vec![store.trust_entry(issuer_id)?.ok_or_else(|| super::not_found(issuer_id))?]
        }
        None => store.trust_entries()?,
    };
    let lists = records.iter().filter_map(|record| record.trusted_list.as_ref());
    let mut urls: Vec<String> = lists.filter_map(|list| list.row.url.clone()).collect();
    urls.sort_unstable();
    urls.dedup();
    if urls.is_empty() {
        return Err(Failure::NotFound(
            "there is no trusted list that is fetched from a URL; a file is taken again with `idgate \
             trust add ISSUER_ID --trusted-list FILE`"
                .into(),
        ));
    }
    let (mut text, mut rows, mut code) = (String::new(), Vec::new(), 0);
    for url in &urls {
        let outcome = match fetch(url) {
            Ok(token) => store
                .refresh_list(&FetchedList { url: url.clone(), token, accept_rollback }, now)?,
            Err(why) => {
                store.note_list_failure(url, &why, now)?;
                let _ = writeln!(text, "{url}: {why}");
                rows.push(json!({ "url": url, "outcome": "fetch_failed", "why": why }));
                code = code.max(1);
                continue;
            }
        };
        let (name, told, failed) = match &outcome {
            Refreshed::New { from, to, providers } => {
                ("new", format!("number {to} after {from}, {providers} providers"), 0)
            }
            Refreshed::Same => ("same", "is the one in force".into(), 0),
            Refreshed::Refused(why) => ("refused", why.clone(), 3),
            Refreshed::Rollback(why) => ("rollback", why.clone(), 3),
            Refreshed::Unwanted => ("same", "no entry takes it any more".into(), 0),
        };
        code = code.max(failed);
        let _ = writeln!(text, "{url}: {told}");
        rows.push(json!({ "url": url, "outcome": name, "why": told }));
    }
    let json = json!({ "lists": rows });
    Ok(Output { json, text, warnings: Vec::new(), code })
}

/// The list of an entry for programs.
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
            "known": !row.anchors.is_empty(),
        },
        "announced_signers": list.announced_signers.iter().map(|one| hex(one)).collect::<Vec<_>>(),
        "providers": list.providers.iter().map(provider_json).collect::<Vec<_>>(),
        "warnings": list.warnings,
        "ignored_members": list.ignored_members,
        "fetch": fetch.as_ref().map(|fetch| json!({
            "tried_at": fetch.tried_at.to_string(),
            "failures": fetch.failures,
            "failure": fetch.failure,
        })),
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
        let skipped = match &listed.outcome {
            ListOutcome::Unusable(why) => Some(why),
            _ => None,
        };
        json!({
            "sha256": hex(&listed.sha256),
            "subject": listed.subject,
            "key": listed.key_kind,
            "skipped_because": skipped,
        })
    });
    json!({
        "role": service.role.map(|role| role.name()),
        "from": (service.from.0 > 0).then(|| service.from.to_string()),
        "skipped_because": service.skipped,
        "certificates": certificates.collect::<Vec<_>>(),
    })
}

/// The list of an entry for people.
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

/// What is wrong with the list of an entry.
pub(super) fn problems(record: &TrustRecord, now: UnixMillis) -> Vec<String> {
    let Some(listed) = &record.trusted_list else { return Vec::new() };
    let (issuer_id, list) = (&record.issuer_id, &listed.list);
    let mut found = Vec::new();
    if list.next_update <= now && !listed.row.allow_stale {
        found.push(format!(
            "{issuer_id}: the trusted list was due to be replaced on {}, and vouches for nobody; take \
             a newer one with `idgate trust refresh`, or `idgate trust add --trusted-list FILE`",
            list.next_update
        ));
    }
    if let Ok(Some(anchors)) = listed.row.anchors() {
        let ended = anchors.ends().filter(|(_, end)| is_expired(*end, now));
        found.extend(ended.map(|(subject, end)| {
            format!("{issuer_id}: {subject}, which vouches for its trusted list, expired on {end}")
        }));
    }
    found
}

/// What an operator has to look at soon.
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
        found.push("--allow-stale, so it goes on vouching when it is overdue".into());
    }
    if row.anchors.is_empty() {
        found.push("has a signer that nobody vouches for; it serves tests alone".into());
    }
    if let Some(fetch) = fetch.as_ref().filter(|fetch| fetch.failures > 0) {
        let why = fetch.failure.as_deref().unwrap_or_default();
        found.push(format!("could not be renewed {} times: {why}", fetch.failures));
    }
    if list.signer.not_after.since(now) < SOON_MS {
        found.push(format!("has a signer whose certificate ends on {}", list.signer.not_after));
    }
    if let Ok(Some(anchors)) = row.anchors() {
        let soon = anchors.ends().filter(|(_, end)| end.since(now) < SOON_MS);
        found.extend(soon.map(|(subject, end)| format!("is vouched for by {subject} until {end}")));
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
    let entry = record.entry();
    let shared = entry.roots.iter().chain(&entry.sd_jwt_roots);
    if shared.into_iter().any(|root| root.providers().count() > 1) {
        found.push("gives one certificate to several providers".into());
    }
    found.iter().map(|what| format!("{issuer_id}: the trusted list {what}")).collect()
}

/// What signers below the CAs of a list are measured by.
fn profile_of(listed: &TrustedListRecord) -> ListProfile {
    listed.row.list_profile().unwrap_or(ListProfile::of(listed.list.list_type))
}

/// What became of a new list.
pub(super) fn report(record: &TrustRecord) -> Option<(Value, String)> {
    let TrustedListRecord { row, list, .. } = record.trusted_list.as_ref()?;
    let entry = record.entry();
    let roots = entry.roots.len().max(entry.sd_jwt_roots.len());
    let signers = entry.pinned_signers.iter().filter(|one| one.is_listed()).count();
    let of_sd_jwts = entry.sd_jwt_signers.iter().filter(|one| one.is_listed()).count();
    let json = json!({
        "kind": "trusted_list",
        "list_type": row.list_type,
        "sequence": list.sequence,
        "issued_at": list.issued_at.to_string(),
        "next_update": list.next_update.to_string(),
        "signer": if row.anchors.is_empty() { "unknown" } else { "known" },
        "sha256": hex(&digest(&row.token)),
        "providers": list.providers.len(),
        "roots": roots,
        "signers": signers.max(of_sd_jwts),
        "status_roots": entry.status_roots.len(),
        "status_signers": entry.status_signers.len(),
    });
    let unknown = match row.anchors.is_empty() {
        true => "; its signer is unknown: anybody may have made it",
        false => "",
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

fn list_type(text: &str) -> Result<ListType, String> {
    ListType::from_name(text).ok_or_else(|| "must be pid, mdl or pub-eaa".into())
}

fn profile(text: &str) -> Result<ListProfile, String> {
    ListProfile::from_name(text).ok_or_else(|| "must be iso, etsi, either or any".into())
}
