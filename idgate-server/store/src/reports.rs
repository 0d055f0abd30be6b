//! Reports on rejected answers, as rows: sealed, and stored with their sessions.

use idgate_core::shell::Settlement;
use idgate_core::{Session, SessionId, UnixMillis};

use super::db::{Db, Row, sql};
use super::failure::Done;
use super::sql::{millis, number};
use super::types::{Caller, StoreError};
use crate::prepared_session::Prepared;
use crate::seal::{Place, Sealer};

/// How long a report is kept (decisions 26).
pub(super) const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// The seal's place of a session's report.
pub(super) const fn place<'a>(session_id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "reports", object: session_id, client: client_id }
}

/// A stored report and its subject.
pub(super) struct Sealed {
    session_id: String,
    client_id: String,
    report: Vec<u8>,
}

impl Sealed {
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self { session_id: row.get(0)?, client_id: row.get(1)?, report: row.get(2)? })
    }

    pub(super) fn open(&self, sealer: &Sealer) -> Result<Vec<u8>, StoreError> {
        let Self { session_id, client_id, report } = self;
        let opened = sealer.open(place(session_id, client_id), report);
        let opened = opened.map_err(|error| {
            StoreError::Damaged(format!("the report on session {session_id}: {error}"))
        })?;
        Ok(opened.to_vec())
    }
}

impl Prepared {
    /// Adds the report on the rejection that this transition stores.
    pub(super) fn with_report(
        mut self,
        sealer: &Sealer,
        report: &[u8],
    ) -> Result<Self, StoreError> {
        self.report = Some(seal(sealer, &self.session, report)?);
        Ok(self)
    }
}

fn seal(sealer: &Sealer, session: &Session, report: &[u8]) -> Result<Vec<u8>, StoreError> {
    Ok(sealer.seal(place(session.id().as_str(), session.tenant().as_str()), report)?)
}

/// Stores the report on a rejection.
pub(super) async fn insert(db: &Db<'_>, ended: &Settlement<'_>, sealed: &[u8]) -> Done<()> {
    let sql = sql("INSERT INTO reports (session_id, refused_at, sealed) VALUES ($1, $2, $3)");
    db.run(sql, &[&ended.session.id().as_str(), &millis(ended.at), &sealed]).await.map(drop)
}

/// The report on a session of this caller.
pub(super) async fn of_caller(
    db: &Db<'_>,
    caller: &Caller,
    id: &SessionId,
    now: UnixMillis,
) -> Done<Option<Sealed>> {
    find(db, id.as_str(), Some((caller.client_id.as_str(), caller.livemode)), now).await
}

/// The report on a session, of this client and mode if given, unless it is too old.
pub(super) async fn find(
    db: &Db<'_>,
    id: &str,
    whose: Option<(&str, bool)>,
    now: UnixMillis,
) -> Done<Option<Sealed>> {
    let (client_id, livemode) = whose.unzip();
    let sql = sql("SELECT s.id, s.client_id, r.sealed FROM reports AS r \
                   JOIN sessions AS s ON s.id = r.session_id \
                   WHERE r.session_id = $1 AND r.refused_at > $2 \
                   AND s.client_id = coalesce($3, s.client_id) \
                   AND s.livemode = coalesce($4, s.livemode)");
    let since = millis(now.minus(KEPT_MS));
    db.one(sql, &[&id, &since, &client_id, &livemode], Sealed::read).await
}

/// Removes at most `limit` reports that are too old.
pub(super) async fn forget(db: &Db<'_>, now: UnixMillis, limit: usize) -> Done<usize> {
    let sql = sql("DELETE FROM reports WHERE session_id IN (SELECT session_id FROM reports \
                   WHERE refused_at <= $1 LIMIT $2 {FOR UPDATE SKIP LOCKED})");
    db.run(sql, &[&millis(now.minus(KEPT_MS)), &number(limit)]).await
}
