//! Why answers were refused, as rows: sealed, beside their sessions.

use idgate_core::ids::SessionId;
use idgate_core::session::{Session, Settlement};
use idgate_core::time::UnixMillis;
use rusqlite::Connection;

use super::interface::{Caller, StoreError};
use super::prepared::Prepared;
use super::sql::{millis, number};
use super::statement::{Columns, Statement, rows};
use crate::seal::{Place, Sealer};

/// How long a report is kept (decisions 26).
pub(super) const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// Where the report on a session stands.
pub(super) const fn place<'a>(session_id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "reports", object: session_id, client: client_id }
}

/// The report on a session, of a client and mode if given, unless it is too old; as [`Sealed::read`] reads
/// it.
pub(super) const FIND: &str = "SELECT s.id, s.client_id, r.sealed FROM reports AS r \
     JOIN sessions AS s ON s.id = r.session_id WHERE r.session_id = $1 AND r.refused_at > $2 \
     AND s.client_id = coalesce($3, s.client_id) AND s.livemode = coalesce($4, s.livemode)";

/// A report as it is stored, and what it is about.
pub(super) struct Sealed {
    pub(super) session_id: String,
    pub(super) client_id: String,
    pub(super) report: Vec<u8>,
}

impl Sealed {
    pub(super) fn read<R: Columns>(row: &R) -> Result<Self, R::Error> {
        let (session_id, client_id) = (row.column(0)?, row.column(1)?);
        Ok(Self { session_id, client_id, report: row.column(2)? })
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
    /// With what is kept about the refusal that it stores.
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

/// Stores what is kept about a refusal.
pub(super) fn insert<'v>(ended: &'v Settlement<'_>, sealed: &'v [u8]) -> Statement<'v> {
    Statement::new("INSERT INTO reports (session_id, refused_at, sealed) VALUES ($1, $2, $3)")
        .with(ended.session.id().as_str())
        .with(millis(ended.at))
        .with(sealed)
}

/// The report on a session of this caller.
pub(super) fn of_caller(
    main: &Connection,
    caller: &Caller,
    id: &SessionId,
    now: UnixMillis,
) -> Result<Option<Sealed>, StoreError> {
    find(main, id.as_str(), Some((caller.client_id.as_str(), caller.livemode)), now)
}

/// The report on a session, of this client and mode if given, unless it is too old.
pub(super) fn find(
    main: &Connection,
    id: &str,
    whose: Option<(&str, bool)>,
    now: UnixMillis,
) -> Result<Option<Sealed>, StoreError> {
    let (client_id, livemode) = whose.unzip();
    let asked = (id, millis(now.minus(KEPT_MS)), client_id, livemode);
    Ok(rows(main, FIND, asked, |row| Sealed::read(row))?.pop())
}

/// Removes reports that are too old, at most `limit`.
pub(super) fn forget(
    main: &Connection,
    now: UnixMillis,
    limit: usize,
) -> Result<usize, StoreError> {
    Ok(main
        .prepare_cached(
            "DELETE FROM reports WHERE session_id IN (SELECT session_id FROM reports \
             WHERE refused_at <= ?1 LIMIT ?2)",
        )?
        .execute((millis(now.minus(KEPT_MS)), number(limit)))?)
}
