//! Lists of lists as rows, and how a new issue of one changes the entries that follow it.

use idgate_core::UnixMillis;
use idgate_core::shell::ListMark;

use super::entries::{bump, hold};
use super::list_of_lists::{ListOfListsRow, NewListOfLists, PreparedLists};
use super::list_taking::{Refusal, Refused, Taken, outcome_of};
use super::listed::{ListRow, ListSettings, NewTrustedList};
use super::listed_rows;
use crate::audit_chain::AuditEvent;
use crate::db::{Db, Row, sql};
use crate::failure::Done;
use crate::sql::{millis, number, unsigned};
use crate::types::{FetchedList, FetchedListOfLists, ListSource, Refreshed, StoreError};

/// Returns the URLs that lists of lists are fetched from.
pub(super) async fn sources(db: &Db<'_>) -> Done<Vec<ListSource>> {
    let sql =
        sql("SELECT n.url, min(n.next_update), max(n.added_at), max(n.sequence), max(n.listed), \
         max(n.tried_at), max(n.failures), max(n.failure) FROM lists_of_lists AS n \
         JOIN trusted_lists AS l ON l.issuer_id = n.issuer_id AND l.url = n.location \
         WHERE n.url IS NOT NULL GROUP BY n.url ORDER BY n.url");
    let read = |row: &Row<'_>| {
        Ok(ListSource {
            url: row.get(0)?,
            of_lists: true,
            next_update: row.time(1)?,
            added_at: row.time(2)?,
            sequence: unsigned(row.get(3)?),
            listed: unsigned(row.get(4)?),
            fetch: listed_rows::fetch(row, 5)?,
        })
    };
    db.all(sql, &[], read).await
}

/// Returns the lists of lists of all entries, or of the one called `issuer_id`.
pub(super) async fn records(db: &Db<'_>, issuer_id: Option<&str>) -> Done<Vec<ListOfListsRow>> {
    find(db, issuer_id, None).await
}

/// Returns the list of lists of that entry.
pub(super) async fn of_entry(db: &Db<'_>, issuer_id: &str) -> Done<Option<ListOfListsRow>> {
    Ok(find(db, Some(issuer_id), None).await?.pop())
}

/// Returns those of that entry, if it is given, and from that URL, if it is given. An earlier version
/// may have replaced an entry's list without its list of lists, which then is not returned.
async fn find(
    db: &Db<'_>,
    issuer_id: Option<&str>,
    url: Option<&str>,
) -> Done<Vec<ListOfListsRow>> {
    let sql = sql(
        "SELECT n.issuer_id, n.url, n.country, n.organization, n.token, n.sha256, n.anchors, n.crls, \
         n.test_only, n.sequence, n.issued_at, n.payload_sha256, n.territory, n.location, n.listed, \
         n.next_update, n.added_at, n.tried_at, n.failures, n.failure \
         FROM lists_of_lists AS n \
         JOIN trusted_lists AS l ON l.issuer_id = n.issuer_id AND l.url = n.location \
         WHERE (CAST($1 AS text) IS NULL OR n.issuer_id = $1) \
         AND (CAST($2 AS text) IS NULL OR n.url = $2) ORDER BY n.issuer_id",
    );
    db.all(sql, &[&issuer_id, &url], ListOfListsRow::read).await
}

/// Stores the new list of lists of an entry in place of its former one. It must name the list
/// `named`. Without a new one, removes the former one.
pub(super) async fn add(
    db: &Db<'_>,
    (issuer_id, former): (&str, Option<&ListOfListsRow>),
    new: Option<&NewListOfLists>,
    named: &NewTrustedList,
    terms: (bool, bool),
    now: UnixMillis,
) -> Done<()> {
    let Some(new) = new else { return remove(db, issuer_id).await };
    let prepared = new.prepare(issuer_id, former, terms, now).map_err(StoreError::from)?;
    prepared.check_in_force(former).map_err(StoreError::from)?;
    if !names(&prepared, named.url.as_deref(), named.anchors.as_deref()) {
        let why = "the fetched list is not the one that the list of lists names";
        return Err(StoreError::Failed(why.into()).into());
    }
    let mark = listed_rows::mark(db, &prepared.source).await?;
    let mark = prepared.mark(mark.as_ref(), now).map_err(StoreError::from)?;
    keep(db, &prepared, &mark).await
}

/// Returns the URLs of the lists that a fetched list of lists names in place of those in force. The
/// caller fetches them and passes them to [`refresh`].
pub(crate) async fn moved(
    db: &Db<'_>,
    fetched: &FetchedList,
    now: UnixMillis,
) -> Done<Vec<String>> {
    let mut urls = Vec::new();
    for following in following(db, &fetched.url).await? {
        // `refresh` reports a refusal.
        if let Ok(prepared) = following.prepare(fetched, now)
            && !following.is_named_by(&prepared)
        {
            urls.push(prepared.named.location);
        }
    }
    urls.sort_unstable();
    urls.dedup();
    Ok(urls)
}

/// Stores a fetched list of lists, with the list that it names, in every entry that follows its
/// URL, and notes the result of the fetch. Returns the outcome and the entries for the audit log.
/// If the named list does not verify, the trust entry keeps its list and its list of lists.
pub(crate) async fn refresh(
    db: &Db<'_>,
    fetched: &FetchedListOfLists,
    (by, now): (&str, UnixMillis),
) -> Done<(Refreshed, Vec<AuditEvent>)> {
    hold(db).await?;
    let url = &fetched.list.url;
    let all = following(db, url).await?;
    let mut outcome = if all.is_empty() { Refreshed::Unwanted } else { Refreshed::Same };
    let (mut refused, mut events, mut was_taken) =
        (Vec::<(&str, Refusal)>::new(), Vec::new(), false);
    for one in &all {
        match one.take(db, fetched, now).await? {
            Ok(Some((new, event))) => {
                outcome = new;
                events.push(event.by(by));
                was_taken = true;
            }
            Ok(None) => was_taken = true,
            Err(why) => refused.push((&one.lists.issuer_id, why)),
        }
    }
    if !refused.is_empty() {
        outcome = outcome_of(&refused, was_taken);
    }
    note(db, url, outcome.failure(), now).await?;
    if !events.is_empty() {
        bump(db).await?;
    }
    Ok((outcome, events))
}

/// Notes the result of a fetch.
pub(crate) async fn note(
    db: &Db<'_>,
    url: &str,
    failure: Option<&str>,
    now: UnixMillis,
) -> Done<()> {
    hold(db).await?;
    let note = sql("UPDATE lists_of_lists SET tried_at = $2, failure = $3, \
                    failures = CASE WHEN CAST($3 AS text) IS NULL THEN 0 ELSE failures + 1 END \
                    WHERE url = $1");
    db.run(note, &[&url, &millis(now), &failure]).await.map(drop)
}

/// The stored lists of an entry that follows a list of lists.
struct Following {
    lists: ListOfListsRow,
    list: ListRow,
}

/// Returns the entries that follow the list of lists at `url`.
async fn following(db: &Db<'_>, url: &str) -> Done<Vec<Following>> {
    let mut all = Vec::new();
    for lists in find(db, None, Some(url)).await? {
        if let Some(list) = listed_rows::find(db, &lists.issuer_id).await? {
            all.push(Following { lists, list });
        }
    }
    Ok(all)
}

impl Following {
    fn prepare(&self, fetched: &FetchedList, now: UnixMillis) -> Result<PreparedLists, Refused> {
        let new = NewListOfLists {
            url: Some(fetched.url.clone()),
            token: fetched.token.clone(),
            country: self.lists.country.clone(),
            anchors: None,
            crls: None,
            accept_rollback: fetched.accept_rollback,
        };
        let terms = (self.lists.test_only, self.list.allow_stale);
        new.prepare(&self.lists.issuer_id, Some(&self.lists), terms, now)
    }

    /// Whether its list has the URL and the signers that the new list of lists names.
    fn is_named_by(&self, prepared: &PreparedLists) -> bool {
        names(prepared, self.list.url.as_deref(), Some(&self.list.anchors))
    }

    /// Stores a fetched list of lists, with the list that it names if that list moved or has other
    /// signers. `None`: the list of lists has no new content.
    async fn take(
        &self,
        db: &Db<'_>,
        fetched: &FetchedListOfLists,
        now: UnixMillis,
    ) -> Done<Result<Option<(Refreshed, AuditEvent)>, Refusal>> {
        let prepared = match self.prepare(&fetched.list, now) {
            Ok(prepared) => prepared,
            Err(why) => return refusal(why).map(Err),
        };
        let mark = listed_rows::mark(db, &prepared.source).await?;
        let mark = prepared
            .check_in_force(Some(&self.lists))
            .and_then(|()| prepared.mark(mark.as_ref(), now));
        let mark = match mark {
            Ok(mark) => mark,
            Err(why) => return refusal(why).map(Err),
        };
        if self.is_named_by(&prepared) && prepared.says_the_same(&self.lists) {
            // It may have been signed again.
            keep(db, &prepared, &mark).await?;
            return Ok(Ok(None));
        }
        let list = match self.list_under(db, &prepared, fetched, now).await? {
            Ok(list) => list,
            Err(why) => return refusal(why).map(Err),
        };
        let mut event = AuditEvent::trust_changed(&self.lists.issuer_id, now);
        if let Some(taken) = &list {
            listed_rows::keep(db, taken).await?;
            if let Some(change) = taken.change {
                event = event.with_list(change);
            }
        }
        keep(db, &prepared, &mark).await?;
        let (from, to) = (self.lists.sequence, prepared.row.sequence);
        Ok(Ok(Some((Refreshed::New { from, to, providers: prepared.row.listed }, event))))
    }

    /// Verifies the list that the new list of lists names. `None`: its URL and its signers are
    /// those of the entry's current list.
    async fn list_under(
        &self,
        db: &Db<'_>,
        prepared: &PreparedLists,
        fetched: &FetchedListOfLists,
        now: UnixMillis,
    ) -> Done<Result<Option<Taken>, Refused>> {
        if self.is_named_by(prepared) {
            return Ok(Ok(None));
        }
        let new = match self.new_list(prepared, fetched) {
            Ok(new) => new,
            Err(why) => return Ok(Err(why)),
        };
        let entry = (&*self.lists.issuer_id, Some(&*self.lists.country));
        let settings = (&ListSettings::default(), self.list.test_only);
        let list = match new.prepare(entry, settings, Some(&self.list), now) {
            Ok(list) => list,
            Err(why) => return Ok(Err(why)),
        };
        if let Err(why) = list.check_in_force(now) {
            return Ok(Err(why));
        }
        let mark = listed_rows::mark(db, &list.source).await?;
        Ok(list.take(mark.as_ref(), now).map(Some))
    }

    fn new_list(
        &self,
        prepared: &PreparedLists,
        fetched: &FetchedListOfLists,
    ) -> Result<NewTrustedList, Refused> {
        let location = &prepared.named.location;
        let found = fetched.named.iter().find(|(url, _)| url == location);
        let token = match found.map(|(_, token)| token) {
            Some(Ok(token)) => token.clone(),
            Some(Err(why)) => return Err(Refused::unreachable(location, why)),
            None => return Err(Refused::unreachable(location, "the refresh did not try it")),
        };
        Ok(NewTrustedList {
            url: Some(location.clone()),
            token,
            list_type: None,
            anchors: Some(prepared.named.signers.concat()),
            crls: Some(Vec::new()),
            accept_rollback: fetched.list.accept_rollback,
        })
    }
}

/// Returns the refusal of a list, or an error if the store failed.
fn refusal(why: Refused) -> Done<Refusal> {
    match why {
        Refused::List(why) => Ok(why),
        Refused::Store(error) => Err(error.into()),
    }
}

/// Whether the list of lists names this URL and these signers.
fn names(prepared: &PreparedLists, url: Option<&str>, anchors: Option<&[u8]>) -> bool {
    let named = &prepared.named;
    url == Some(&*named.location) && anchors == Some(&*named.signers.concat())
}

async fn remove(db: &Db<'_>, issuer_id: &str) -> Done<()> {
    db.run(sql("DELETE FROM lists_of_lists WHERE issuer_id = $1"), &[&issuer_id]).await.map(drop)
}

/// Stores an accepted list of lists in place of the entry's former one, and the mark of its source.
async fn keep(db: &Db<'_>, prepared: &PreparedLists, mark: &ListMark) -> Done<()> {
    listed_rows::keep_mark(db, &prepared.source, mark).await?;
    let row = &prepared.row;
    let sql = sql("INSERT INTO lists_of_lists (issuer_id, url, country, organization, token, \
         sha256, anchors, crls, test_only, sequence, issued_at, payload_sha256, territory, location, \
         listed, next_update, added_at, failures) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 0) \
         ON CONFLICT (issuer_id) DO UPDATE SET url = excluded.url, country = excluded.country, \
         organization = excluded.organization, token = excluded.token, \
         sha256 = excluded.sha256, anchors = excluded.anchors, crls = excluded.crls, \
         test_only = excluded.test_only, sequence = excluded.sequence, \
         issued_at = excluded.issued_at, payload_sha256 = excluded.payload_sha256, \
         territory = excluded.territory, location = excluded.location, \
         listed = excluded.listed, next_update = excluded.next_update, \
         added_at = excluded.added_at, tried_at = NULL, failures = 0, failure = NULL");
    db.run(
        sql,
        &[
            &row.issuer_id,
            &row.url,
            &row.country,
            &row.organization,
            &row.token,
            &row.sha256,
            &row.anchors,
            &row.crls,
            &row.test_only,
            &number(row.sequence),
            &millis(row.issued_at),
            &row.payload_sha256.as_slice(),
            &row.territory,
            &row.location,
            &number(row.listed),
            &millis(row.next_update),
            &millis(row.added_at),
        ],
    )
    .await
    .map(drop)
}

impl ListOfListsRow {
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self {
            issuer_id: row.get(0)?,
            url: row.get(1)?,
            country: row.get(2)?,
            organization: row.get(3)?,
            token: row.get(4)?,
            sha256: row.get(5)?,
            anchors: row.get(6)?,
            crls: row.get(7)?,
            test_only: row.get(8)?,
            sequence: unsigned(row.get(9)?),
            issued_at: row.time(10)?,
            payload_sha256: row.get::<Vec<u8>>(11)?.try_into().unwrap_or_default(),
            territory: row.get(12)?,
            location: row.get(13)?,
            listed: unsigned(row.get(14)?),
            next_update: row.time(15)?,
            added_at: row.time(16)?,
            fetch: listed_rows::fetch(row, 17)?,
        })
    }
}
