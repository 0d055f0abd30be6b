//! Trusted lists that are fetched: from where, and what became of them.

use idgate_core::UnixMillis;

use super::Store;
use crate::audit_append::append;
use crate::audit_chain::{OPERATOR_CHAIN, SYSTEM};
use crate::lanes::LaneKey;
use crate::trust::listed_rows;
use crate::types::{FetchedList, ListSource, Read, Refreshed, Write};

/// Trusted lists.
impl Store {
    /// Where trusted lists are fetched from.
    pub fn list_sources(&self) -> Read<'_, Vec<ListSource>> {
        self.read_long(LaneKey::GATEWAY, (), |(), db, _| Box::pin(listed_rows::sources(db)))
    }

    /// Gives every entry that takes its trusted list from there the one that was fetched, if it may follow
    /// on the one in force: all of it in one transaction.
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

    /// Notes that nothing could be fetched from `url`.
    pub fn note_list_failure(&self, url: String, why: String, now: UnixMillis) -> Write<'_, ()> {
        self.change(LaneKey::GATEWAY, (url, why, now), |(url, why, now), db, _| {
            Box::pin(listed_rows::note(db, url, Some(why), *now))
        })
    }
}
