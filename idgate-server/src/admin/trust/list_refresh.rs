//! `idgate trust refresh`: fetches trusted lists now.

use idgate_core::UnixMillis;
use serde_json::json;

use super::Fetch;
use crate::admin::output::{Output, Rows};
use crate::failure::Failure;
use idgate_store::{FetchedList, OperatorStore, Refreshed};

/// Fetches the lists of all entries, or of one, now.
pub(super) fn run(
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
    let (mut rows, mut code) = (Rows::default(), 0);
    for url in &urls {
        let outcome = match fetch(url) {
            Ok(token) => store
                .refresh_list(&FetchedList { url: url.clone(), token, accept_rollback }, now)?,
            Err(why) => {
                store.note_list_failure(url, &why, now)?;
                let row = json!({ "url": url, "outcome": "fetch_failed", "why": why });
                rows.add(format!("{url}: {why}"), row);
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
        let row = json!({ "url": url, "outcome": name, "why": told });
        rows.add(format!("{url}: {told}"), row);
    }
    Ok(Output { code, ..rows.into_output("lists") })
}
