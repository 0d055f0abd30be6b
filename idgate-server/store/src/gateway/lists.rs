//! Fetched trusted lists: their URLs, and the outcome of each fetch.

use idgate_core::UnixMillis;

use super::Store;
use crate::audit_append::append;
use crate::audit_chain::{OPERATOR_CHAIN, SYSTEM};
use crate::lanes::LaneKey;
use crate::trust::{list_of_lists_rows, listed_rows};
use crate::types::{FetchedList, FetchedListOfLists, ListSource, Read, Refreshed, Write};

/// Trusted lists.
impl Store {
    /// Returns the URLs that trusted lists are fetched from.
    pub fn list_sources(&self) -> Read<'_, Vec<ListSource>> {
        self.read_long(LaneKey::GATEWAY, (), |(), db, _| Box::pin(listed_rows::sources(db)))
    }

    /// Stores the fetched list in every entry that follows its URL and accepts it, in one
    /// transaction.
    pub fn refresh_list(&self, fetched: FetchedList, now: UnixMillis) -> Write<'_, Refreshed> {
        self.change_chains((fetched, now), |(fetched, now), db, env| {
            Box::pin(async move {
                let by = (SYSTEM, *now);
                let (outcome, events) = listed_rows::refresh(db, fetched, by).await?;
                for event in events {
                    append(db, &env.audit, OPERATOR_CHAIN, event).await?;
                }
                Ok(outcome)
            })
        })
    }

    /// Returns the URLs of the lists that a newly fetched list of lists names in place of those in
    /// force. They must be fetched before [`Store::refresh_list_of_lists`].
    pub fn moved_lists(&self, fetched: FetchedList, now: UnixMillis) -> Read<'_, Vec<String>> {
        self.read_long(LaneKey::GATEWAY, (fetched, now), |(fetched, now), db, _| {
            Box::pin(list_of_lists_rows::moved(db, fetched, *now))
        })
    }

    /// Stores the fetched list of lists, with the list that it names, in every entry that follows
    /// its URL and accepts it, in one transaction.
    pub fn refresh_list_of_lists(
        &self,
        fetched: FetchedListOfLists,
        now: UnixMillis,
    ) -> Write<'_, Refreshed> {
        self.change_chains((fetched, now), |(fetched, now), db, env| {
            Box::pin(async move {
                let by = (SYSTEM, *now);
                let (outcome, events) = list_of_lists_rows::refresh(db, fetched, by).await?;
                for event in events {
                    append(db, &env.audit, OPERATOR_CHAIN, event).await?;
                }
                Ok(outcome)
            })
        })
    }

    /// Notes that fetching from `url` failed.
    pub fn note_list_failure(&self, url: String, why: String, now: UnixMillis) -> Write<'_, ()> {
        self.change(LaneKey::GATEWAY, (url, why, now), |(url, why, now), db, _| {
            Box::pin(listed_rows::note(db, url, Some(why), *now))
        })
    }

    /// Notes that fetching a list of lists from `url` failed.
    pub fn note_list_of_lists_failure(
        &self,
        url: String,
        why: String,
        now: UnixMillis,
    ) -> Write<'_, ()> {
        self.change(LaneKey::GATEWAY, (url, why, now), |(url, why, now), db, _| {
            Box::pin(list_of_lists_rows::note(db, url, Some(why), *now))
        })
    }
}
