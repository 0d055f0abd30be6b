//! Replaces the instance key in everything that it protects, value by value: sealed values are
//! sealed again, MACs and signatures are computed again. It works in pages and replaces a value
//! only if it is unchanged since it was read. A run after an interrupted one finds the rest.
//!
//! A page is one use case for both databases. SQLite has no running gateway during a reseal. On
//! PostgreSQL nodes keep running, and the caller checks afterwards whether a node that changed a
//! value sealed it with the new key.

use super::audit::head::Head;
use super::audit::heads::{count_message, read_row};
use super::db::{Db, Row, Sql, sql};
use super::failure::Done;
use super::finding::Finding;
use super::sql::unsigned;
use super::types::Resealed;
use super::types::StoreError;
use super::{certificates, gateway_keys, idempotency, keys, pages, reports, webhook_endpoints};
use crate::audit_chain::{AuditKeys, SignedCheckpoint, SignedRemoval};
use crate::seal::{Place, SealedBy, Sealer};
use crate::stored_session;

/// Rows in one transaction.
pub(super) const PAGE: i64 = 100;

/// The seal's place of a value, from its object and the object's client.
pub(super) type PlaceOf = for<'a> fn(&'a str, &'a str) -> Place<'a>;

/// A group of values with the same form.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// Sealed values that both databases keep in the same way.
    Sealed(&'static Kind),
    /// The heads of the chains.
    Heads,
    /// The number of entries.
    Totals,
    /// Checkpoints.
    Checkpoints,
    /// Removals.
    Removals,
}

/// The groups of the audit log.
pub(super) const LOG: [Part; 4] = [Part::Heads, Part::Totals, Part::Checkpoints, Part::Removals];

/// The groups of sealed values.
pub(super) fn sealed_parts() -> impl Iterator<Item = Part> {
    SECRETS.iter().chain(&OF_SESSIONS).map(Part::Sealed)
}

/// The row before a page: a name, and a number if the name has several rows.
pub(super) type Last = (String, i64);

/// Before the first row.
pub(super) const fn beginning() -> Last {
    (String::new(), i64::MIN)
}

/// One page of a group. Returns its end, unless it is empty.
pub(super) async fn page(
    db: &Db<'_>,
    part: Part,
    last: &Last,
    work: &mut Rekeying<'_>,
) -> Done<Option<Last>> {
    match part {
        Part::Sealed(kind) => sealed(db, kind, &last.0, work).await,
        Part::Heads => heads(db, &last.0, work).await,
        Part::Totals => totals(db, last.1, work).await,
        Part::Checkpoints => checkpoints(db, last, work).await,
        Part::Removals => removals(db, &last.0, work).await,
    }
}

/// All pages of a group, in the caller's transaction.
pub(super) async fn pages_of(db: &Db<'_>, part: Part, work: &mut Rekeying<'_>) -> Done<()> {
    let mut last = beginning();
    while let Some(end) = page(db, part, &last, work).await? {
        last = end;
    }
    Ok(())
}

/// A kind of row with a sealed value. The statements take `$1`, `$2`, `$3`: either the last id and
/// the number of rows, or id, new value and old value. They return id, client and sealed value.
pub(super) struct Kind {
    select: Sql,
    update: Sql,
    pub(super) place: PlaceOf,
}

impl Kind {
    /// The rows after `last`: id, client and sealed value of each.
    pub(super) async fn page(
        &self,
        db: &Db<'_>,
        last: &str,
    ) -> Done<Vec<(String, String, Vec<u8>)>> {
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        db.all(self.select, &[&last, &PAGE], read).await
    }
}

/// Whether values are replaced or only counted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mode {
    Count,
    Replace,
}

/// The finding for an operator while the store has several keys.
pub(super) fn judge(found: Resealed) -> Finding {
    let Resealed { current, others, unreadable } = found;
    if others == 0 && unreadable > 0 {
        let what = format!(
            "{unreadable} values cannot be opened with any of them, so all of them are still \
             required; `idgate doctor --deep` and `idgate audit verify` say which, and a backup \
             has them as they were"
        );
        return Finding::warning("instance_keys", what);
    }
    if others == 0 {
        let what = format!(
            "{current} values are sealed under the first of them, none under another; after \
             `idgate keys reseal` the others are no longer needed"
        );
        return Finding::good("instance_keys", what);
    }
    let what = format!(
        "{others} values are still sealed under another key than the first; run `idgate keys \
         reseal` before you remove that one"
    );
    Finding::warning("instance_keys", what)
}

/// The keys that open and seal, and the count so far.
pub(super) struct Rekeying<'k> {
    sealer: &'k Sealer,
    audit: &'k AuditKeys,
    mode: Mode,
    pub(super) found: Resealed,
}

impl<'k> Rekeying<'k> {
    pub(super) fn new(sealer: &'k Sealer, audit: &'k AuditKeys, mode: Mode) -> Self {
        Self { sealer, audit, mode, found: Resealed::default() }
    }

    /// Counts a sealed value. Returns its replacement, if it needs one.
    pub(super) fn sealed(
        &mut self,
        place: Place<'_>,
        sealed: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        match self.sealer.open_by(place, sealed) {
            Ok((SealedBy::First, _)) => Ok(self.current()),
            Ok((SealedBy::Another, _)) if self.mode == Mode::Count => Ok(self.other(None)),
            Ok((SealedBy::Another, plain)) => {
                let anew = self.sealer.seal(place, &plain)?;
                Ok(self.other(Some(anew)))
            }
            Err(_) => Ok(self.unreadable()),
        }
    }

    /// The same for the MAC of a chain's head.
    fn head(&mut self, head: &Head, genuine: bool, mac: &[u8]) -> Option<Vec<u8>> {
        let anew = head.mac(self.audit);
        if anew == mac {
            self.current()
        } else if genuine {
            self.other(Some(anew))
        } else {
            self.unreadable()
        }
    }

    /// The same for any other MAC.
    fn mac(&mut self, message: &[u8], mac: &[u8]) -> Option<Vec<u8>> {
        let anew = self.audit.mac(message);
        if anew == mac {
            self.current()
        } else if self.audit.is_mac(message, mac) {
            self.other(Some(anew))
        } else {
            self.unreadable()
        }
    }

    /// The same for a signed checkpoint.
    fn checkpoint(&mut self, line: &str) -> Option<String> {
        let Ok(signed) = serde_json::from_str::<SignedCheckpoint>(line) else {
            return self.unreadable();
        };
        match signed.anew(self.audit) {
            None => self.current(),
            Some(anew) if signed.is_signed_by(self.audit) => self.other(Some(anew.to_line())),
            Some(_) => self.unreadable(),
        }
    }

    /// The same for a signed removal record of this client's chain.
    fn removal(&mut self, client_id: &str, line: &str) -> Option<String> {
        let Ok(signed) = serde_json::from_str::<SignedRemoval>(line) else {
            return self.unreadable();
        };
        match signed.anew(self.audit) {
            None => self.current(),
            Some(anew) if signed.end(self.audit, client_id).is_some() => {
                self.other(Some(anew.to_line()))
            }
            Some(_) => self.unreadable(),
        }
    }

    /// The page size for a table that every settlement writes to.
    fn locked(&self) -> i64 {
        if self.mode == Mode::Replace { 1 } else { PAGE }
    }

    fn current<T>(&mut self) -> Option<T> {
        self.found.current = self.found.current.saturating_add(1);
        None
    }

    fn other<T>(&mut self, anew: Option<T>) -> Option<T> {
        self.found.others = self.found.others.saturating_add(1);
        anew.filter(|_| self.mode == Mode::Replace)
    }

    fn unreadable<T>(&mut self) -> Option<T> {
        self.found.unreadable = self.found.unreadable.saturating_add(1);
        None
    }
}

/// The kinds of keys and secrets.
pub(super) const SECRETS: [Kind; 5] = [
    Kind {
        select: sql(
            "SELECT id, id, signing_secret FROM clients WHERE id > $1 ORDER BY id LIMIT $2",
        ),
        update: sql("UPDATE clients SET signing_secret = $2 WHERE id = $1 AND signing_secret = $3"),
        place: |id, _| keys::secret_place(id),
    },
    Kind {
        select: sql(
            "SELECT client_id, client_id, secret FROM webhook_endpoints WHERE client_id > $1 \
                 ORDER BY client_id LIMIT $2",
        ),
        update: sql(
            "UPDATE webhook_endpoints SET secret = $2 WHERE client_id = $1 AND secret = $3",
        ),
        place: |id, _| webhook_endpoints::place(id),
    },
    Kind {
        select: sql("SELECT client_id, client_id, previous_secret FROM webhook_endpoints \
                 WHERE client_id > $1 AND previous_secret IS NOT NULL ORDER BY client_id LIMIT $2"),
        update: sql("UPDATE webhook_endpoints SET previous_secret = $2 \
                 WHERE client_id = $1 AND previous_secret = $3"),
        place: |id, _| webhook_endpoints::place(id),
    },
    Kind {
        select: sql(
            "SELECT id, '', sealed FROM gateway_keys WHERE id > $1 AND sealed IS NOT NULL \
                 ORDER BY id LIMIT $2",
        ),
        update: sql("UPDATE gateway_keys SET sealed = $2 WHERE id = $1 AND sealed = $3"),
        place: |id, _| gateway_keys::place(id),
    },
    Kind {
        select: sql("SELECT id, client_id, sealed FROM certificate_keys WHERE id > $1 \
                 ORDER BY id LIMIT $2"),
        update: sql("UPDATE certificate_keys SET sealed = $2 WHERE id = $1 AND sealed = $3"),
        place: |id, client| certificates::place(id, client),
    },
];

/// The kinds that belong to sessions.
const OF_SESSIONS: [Kind; 4] = [
    Kind {
        select: sql("SELECT session_id, client_id, sealed FROM idempotent_answers \
                 WHERE session_id > $1 ORDER BY session_id LIMIT $2"),
        update: sql(
            "UPDATE idempotent_answers SET sealed = $2 WHERE session_id = $1 AND sealed = $3",
        ),
        place: idempotency::place,
    },
    Kind {
        select: sql("SELECT p.session_id, s.client_id, p.sealed FROM pages AS p \
                 JOIN sessions AS s ON s.id = p.session_id WHERE p.session_id > $1 \
                 ORDER BY p.session_id LIMIT $2"),
        update: sql("UPDATE pages SET sealed = $2 WHERE session_id = $1 AND sealed = $3"),
        place: pages::place,
    },
    Kind {
        select: sql("SELECT r.session_id, s.client_id, r.sealed FROM reports AS r \
                 JOIN sessions AS s ON s.id = r.session_id \
                 WHERE r.session_id > $1 ORDER BY r.session_id LIMIT $2"),
        update: sql("UPDATE reports SET sealed = $2 WHERE session_id = $1 AND sealed = $3"),
        place: reports::place,
    },
    Kind {
        select: sql(
            "SELECT id, client_id, record FROM sessions WHERE id > $1 ORDER BY id LIMIT $2",
        ),
        update: sql("UPDATE sessions SET record = $2 WHERE id = $1 AND record = $3"),
        place: stored_session::place_of,
    },
];

async fn sealed(
    db: &Db<'_>,
    kind: &Kind,
    last: &str,
    work: &mut Rekeying<'_>,
) -> Done<Option<Last>> {
    let rows = kind.page(db, last).await?;
    for (id, client, sealed) in &rows {
        if let Some(anew) = work.sealed((kind.place)(id, client), sealed)? {
            db.run(kind.update, &[id, &anew, sealed]).await?;
        }
    }
    Ok(rows.into_iter().next_back().map(|(id, ..)| (id, 0)))
}

/// Every settlement writes a head. When heads are replaced, one is locked at a time; counting locks
/// none.
async fn heads(db: &Db<'_>, last: &str, work: &mut Rekeying<'_>) -> Done<Option<Last>> {
    let select = match work.mode {
        Mode::Replace => {
            sql("SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, \
             open_since, mac FROM audit_heads WHERE client_id > $1 ORDER BY client_id LIMIT $2 \
             {FOR UPDATE}")
        }
        Mode::Count => sql("SELECT client_id, seq, entry_hash, checkpoint_seq, checkpoint_hash, \
             open_since, mac FROM audit_heads WHERE client_id > $1 ORDER BY client_id LIMIT $2"),
    };
    let audit = work.audit;
    let read = |row: &Row<'_>| Ok((read_row(audit, row)?, row.get::<Vec<u8>>(6)?));
    let mut end = None;
    for ((head, genuine), mac) in db.all(select, &[&last, &work.locked()], read).await? {
        if let Some(anew) = work.head(&head, genuine, &mac) {
            let update = sql("UPDATE audit_heads SET mac = $2 WHERE client_id = $1");
            db.run(update, &[&head.client_id, &anew]).await?;
        }
        end = Some((head.client_id, 0));
    }
    Ok(end)
}

/// Every settlement writes one of these rows as well.
async fn totals(db: &Db<'_>, last: i64, work: &mut Rekeying<'_>) -> Done<Option<Last>> {
    let select = match work.mode {
        Mode::Replace => sql("SELECT {slice|id}, entries, mac FROM {audit_totals|audit_total} \
             WHERE {slice|id} > $1 ORDER BY {slice|id} LIMIT $2 {FOR UPDATE}"),
        Mode::Count => sql("SELECT {slice|id}, entries, mac FROM {audit_totals|audit_total} \
             WHERE {slice|id} > $1 ORDER BY {slice|id} LIMIT $2"),
    };
    let read = |row: &Row<'_>| Ok((row.get(0)?, unsigned(row.get(1)?), row.get(2)?));
    let rows: Vec<(i64, u64, Vec<u8>)> = db.all(select, &[&last, &work.locked()], read).await?;
    for (slice, entries, mac) in &rows {
        if let Some(anew) = work.mac(&count_message(db, *slice, *entries), mac) {
            let update =
                sql("UPDATE {audit_totals|audit_total} SET mac = $2 WHERE {slice|id} = $1");
            db.run(update, &[slice, &anew]).await?;
        }
    }
    Ok(rows.last().map(|(slice, ..)| (String::new(), *slice)))
}

async fn checkpoints(db: &Db<'_>, last: &Last, work: &mut Rekeying<'_>) -> Done<Option<Last>> {
    let select = sql("SELECT client_id, seq, signed FROM audit_checkpoints \
                      WHERE (client_id, seq) > ($1, $2) ORDER BY client_id, seq LIMIT $3");
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let rows: Vec<(String, i64, String)> = db.all(select, &[&last.0, &last.1, &PAGE], read).await?;
    for (client_id, seq, line) in &rows {
        if let Some(anew) = work.checkpoint(line) {
            let update = sql("UPDATE audit_checkpoints SET signed = $3 \
                              WHERE client_id = $1 AND seq = $2 AND signed = $4");
            db.run(update, &[client_id, seq, &anew, line]).await?;
        }
    }
    Ok(rows.into_iter().next_back().map(|(client_id, seq, _)| (client_id, seq)))
}

async fn removals(db: &Db<'_>, last: &str, work: &mut Rekeying<'_>) -> Done<Option<Last>> {
    let select = sql("SELECT client_id, signed FROM audit_removals \
                      WHERE client_id > $1 ORDER BY client_id LIMIT $2");
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let rows: Vec<(String, String)> = db.all(select, &[&last, &PAGE], read).await?;
    for (client_id, line) in &rows {
        if let Some(anew) = work.removal(client_id, line) {
            let update = sql("UPDATE audit_removals SET signed = $2 \
                              WHERE client_id = $1 AND signed = $3");
            db.run(update, &[client_id, &anew, line]).await?;
        }
    }
    Ok(rows.into_iter().next_back().map(|(client_id, _)| (client_id, 0)))
}
