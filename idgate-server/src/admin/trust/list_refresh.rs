//! `idgate trust refresh`: fetches trusted lists now.

use idgate_core::UnixMillis;
use serde_json::json;

use super::Fetch;
use crate::admin::output::{Output, Rows};
use crate::failure::Failure;
use idgate_store::{
    FetchedList, FetchedListOfLists, OperatorStore, Refreshed, StoreError, TrustRecord,
};

/// Fetches the lists of all entries, or of one, now. The lists of lists are first, because they may
/// name other URLs.
pub(super) fn run(
    store: &mut OperatorStore,
    issuer_id: Option<&str>,
    accept_rollback: bool,
    fetch: &Fetch<'_>,
    now: UnixMillis,
) -> Result<Output, Failure> {
    let mut refresh =
        Refresh { store, accept_rollback, fetch, now, rows: Rows::default(), code: 0 };
    let of_lists = refresh.urls(issuer_id, |record| {
        record.list_of_lists.as_ref().and_then(|lists| lists.url.clone())
    })?;
    for url in &of_lists {
        refresh.source(url, true)?;
    }
    let urls = refresh.urls(issuer_id, |record| {
        record.trusted_list.as_ref().and_then(|list| list.row.url.clone())
    })?;
    if urls.is_empty() && of_lists.is_empty() {
        return Err(Failure::NotFound(
            "no trusted list comes from a URL; to import a file again, use `idgate trust add \
             ISSUER_ID` with `--trusted-list FILE` or `--lotl FILE`"
                .into(),
        ));
    }
    for url in &urls {
        refresh.source(url, false)?;
    }
    let code = refresh.code;
    Ok(Output { code, ..refresh.rows.into_output("lists") })
}

struct Refresh<'r> {
    store: &'r mut OperatorStore,
    accept_rollback: bool,
    fetch: &'r Fetch<'r>,
    now: UnixMillis,
    rows: Rows,
    code: u8,
}

impl Refresh<'_> {
    /// Returns the URLs that all entries, or the one called `issuer_id`, follow, each once.
    fn urls(
        &self,
        issuer_id: Option<&str>,
        of: impl Fn(&TrustRecord) -> Option<String>,
    ) -> Result<Vec<String>, Failure> {
        let records = match issuer_id {
            Some(issuer_id) => {
                let record = self.store.trust_entry(issuer_id)?;
                vec![record.ok_or_else(|| super::not_found(issuer_id))?]
            }
            None => self.store.trust_entries()?,
        };
        let mut urls: Vec<String> = records.iter().filter_map(of).collect();
        urls.sort_unstable();
        urls.dedup();
        Ok(urls)
    }

    /// Fetches from a URL and stores the answer. A failure is a row of the output, so that the other
    /// lists are still fetched. `of_lists`: whether it is a list of lists.
    fn source(&mut self, url: &str, of_lists: bool) -> Result<(), Failure> {
        match (self.fetch)(url) {
            Ok(token) => match self.stored(url, token, of_lists) {
                Ok(outcome) => self.tell(url, &outcome, of_lists),
                Err(error) => self.failed(url, &error.to_string()),
            },
            Err(why) => {
                match of_lists {
                    true => self.store.note_list_of_lists_failure(url, &why, self.now)?,
                    false => self.store.note_list_failure(url, &why, self.now)?,
                }
                self.failed(url, &why);
            }
        }
        Ok(())
    }

    fn stored(
        &mut self,
        url: &str,
        token: Vec<u8>,
        of_lists: bool,
    ) -> Result<Refreshed, StoreError> {
        let (url, accept_rollback) = (url.to_owned(), self.accept_rollback);
        let list = FetchedList { url, token, accept_rollback };
        if !of_lists {
            return self.store.refresh_list(&list, self.now);
        }
        let moved = self.store.moved_lists(&list, self.now)?;
        let named = moved.into_iter().map(|url| (url.clone(), (self.fetch)(&url))).collect();
        self.store.refresh_list_of_lists(&FetchedListOfLists { list, named }, self.now)
    }

    fn failed(&mut self, url: &str, why: &str) {
        let row = json!({ "url": url, "outcome": "fetch_failed", "why": why });
        self.rows.add(format!("{url}: {why}"), row);
        self.code = self.code.max(1);
    }

    /// Reports an outcome.
    fn tell(&mut self, url: &str, outcome: &Refreshed, of_lists: bool) {
        let entries = if of_lists { "lists" } else { "providers" };
        let (name, told, failed) = match outcome {
            Refreshed::New { from, to, providers } => {
                ("new", format!("number {to} after {from}, {providers} {entries}"), 0)
            }
            Refreshed::Same => ("same", "is the one in force".into(), 0),
            Refreshed::Refused(why) => ("refused", why.clone(), 3),
            Refreshed::Rollback(why) => ("rollback", why.clone(), 3),
            Refreshed::Unreachable(why) => ("fetch_failed", why.clone(), 1),
            Refreshed::Unwanted => ("same", "no entry follows it any more".into(), 0),
        };
        self.code = self.code.max(failed);
        let row = json!({ "url": url, "outcome": name, "why": told });
        self.rows.add(format!("{url}: {told}"), row);
    }
}
