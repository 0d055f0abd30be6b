//! `idgate trust refresh`: fetches trusted lists now.

use idgate_core::UnixMillis;
use serde_json::json;

use super::Fetch;
use crate::admin::output::{Output, Rows};
use crate::failure::Failure;
use idgate_store::{FetchedList, FetchedListOfLists, OperatorStore, Refreshed, TrustRecord};

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
        refresh.list_of_lists(url)?;
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
        refresh.list(url)?;
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

    fn list_of_lists(&mut self, url: &str) -> Result<(), Failure> {
        let list = match (self.fetch)(url) {
            Ok(token) => self.fetched(url, token),
            Err(why) => {
                self.store.note_list_of_lists_failure(url, &why, self.now)?;
                self.failed(url, &why);
                return Ok(());
            }
        };
        let moved = self.store.moved_lists(&list, self.now)?;
        let named = moved.into_iter().map(|url| (url.clone(), (self.fetch)(&url))).collect();
        let fetched = FetchedListOfLists { list, named };
        let outcome = self.store.refresh_list_of_lists(&fetched, self.now)?;
        self.tell(url, &outcome, "lists");
        Ok(())
    }

    fn list(&mut self, url: &str) -> Result<(), Failure> {
        match (self.fetch)(url) {
            Ok(token) => {
                let outcome = self.store.refresh_list(&self.fetched(url, token), self.now)?;
                self.tell(url, &outcome, "providers");
            }
            Err(why) => {
                self.store.note_list_failure(url, &why, self.now)?;
                self.failed(url, &why);
            }
        }
        Ok(())
    }

    fn fetched(&self, url: &str, token: Vec<u8>) -> FetchedList {
        FetchedList { url: url.to_owned(), token, accept_rollback: self.accept_rollback }
    }

    fn failed(&mut self, url: &str, why: &str) {
        let row = json!({ "url": url, "outcome": "fetch_failed", "why": why });
        self.rows.add(format!("{url}: {why}"), row);
        self.code = self.code.max(1);
    }

    /// Reports an outcome. `entries`: the word for the entries of such a list.
    fn tell(&mut self, url: &str, outcome: &Refreshed, entries: &str) {
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
