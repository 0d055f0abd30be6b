//! Pages for people, as rows: the digest of the token, and the sealed secret that the page's codes
//! are derived from.

use idgate_core::{Session, SessionId};

use super::db::{Db, Row, sql};
use super::failure::Done;
use super::types::{Face, NewPage, PageRecord, Picture, StoreError};
use crate::seal::{Place, Sealer};

/// How many bytes of notes a page may have.
const NOTES: i64 = 2048;

/// A new page in stored form.
pub(super) struct SealedPage {
    pub(super) digest: [u8; 32],
    sealed: Vec<u8>,
}

impl SealedPage {
    pub(super) fn new(
        sealer: &Sealer,
        session: &Session,
        page: &NewPage,
    ) -> Result<Self, StoreError> {
        let place = place(session.id().as_str(), session.tenant().as_str());
        Ok(Self { digest: page.digest, sealed: sealer.seal(place, &*page.secret)? })
    }

    pub(super) async fn insert(&self, db: &Db<'_>, session_id: &str) -> Done<()> {
        let sql = sql("INSERT INTO pages (digest, session_id, sealed) VALUES ($1, $2, $3)");
        db.run(sql, &[&self.digest.as_slice(), &session_id, &self.sealed]).await.map(drop)
    }
}

/// The seal's place of the secret that a page's codes are derived from.
pub(super) const fn place<'a>(session_id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "pages", object: session_id, client: client_id }
}

/// A row whose secret is still sealed.
struct FoundPage {
    digest: [u8; 32],
    session_id: String,
    client_id: String,
    sealed: Vec<u8>,
    browser: Option<[u8; 32]>,
    is_opened: bool,
    notes: String,
    phone: Option<[u8; 32]>,
    moves: i64,
}

impl FoundPage {
    fn open(self, sealer: &Sealer) -> Result<PageRecord, StoreError> {
        let opened = sealer.open(place(&self.session_id, &self.client_id), &self.sealed);
        let secret = opened.map_err(|error| {
            StoreError::Damaged(format!("the page of session {}: {error}", self.session_id))
        })?;
        Ok(PageRecord {
            digest: self.digest,
            session_id: SessionId::new(self.session_id),
            secret,
            browser: self.browser,
            phone: self.phone,
            moves: self.moves,
            is_opened: self.is_opened,
            notes: self.notes.split_whitespace().map(str::to_owned).collect(),
        })
    }

    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self {
            digest: row.digest(0)?,
            session_id: row.get(1)?,
            client_id: row.get(2)?,
            sealed: row.get(3)?,
            browser: row.digest_if_any(4)?,
            is_opened: row.get(5)?,
            notes: row.get(6)?,
            phone: row.digest_if_any(7)?,
            moves: row.get(8)?,
        })
    }
}

/// The page whose token has this digest.
pub(super) async fn read(
    db: &Db<'_>,
    sealer: &Sealer,
    digest: &[u8; 32],
) -> Done<Option<PageRecord>> {
    let sql = sql(
        "SELECT p.digest, p.session_id, s.client_id, p.sealed, p.browser, p.is_opened, p.notes, \
         p.phone, p.moves \
         FROM pages AS p JOIN sessions AS s ON s.id = p.session_id WHERE p.digest = $1",
    );
    let found = db.one(sql, &[&digest.as_slice()], FoundPage::read).await?;
    Ok(found.map(|found| found.open(sealer)).transpose()?)
}

/// The page of a session, if it has one.
pub(super) async fn of_session(db: &Db<'_>, sealer: &Sealer, id: &str) -> Done<Option<PageRecord>> {
    let sql = sql(
        "SELECT p.digest, p.session_id, s.client_id, p.sealed, p.browser, p.is_opened, p.notes, \
         p.phone, p.moves \
         FROM pages AS p JOIN sessions AS s ON s.id = p.session_id WHERE p.session_id = $1",
    );
    let found = db.one(sql, &[&id], FoundPage::read).await?;
    Ok(found.map(|found| found.open(sealer)).transpose()?)
}

pub(super) async fn set_opened(db: &Db<'_>, digest: &[u8; 32]) -> Done<()> {
    let sql = sql("UPDATE pages SET is_opened = true WHERE digest = $1");
    db.run(sql, &[&digest.as_slice()]).await.map(drop)
}

/// Whether the page now belongs to this browser.
pub(super) async fn take(db: &Db<'_>, digest: &[u8; 32], browser: &[u8; 32]) -> Done<bool> {
    let sql = sql("UPDATE pages SET browser = coalesce(browser, $2) WHERE digest = $1 \
                   RETURNING browser = $2");
    let taken = db.one(sql, &[&digest.as_slice(), &browser.as_slice()], |row| row.get(0)).await?;
    Ok(taken.unwrap_or(false))
}

/// Hands the page over to a phone, unless it moved since `moves` was read, no browser has it, or
/// its session no longer takes an answer.
pub(super) async fn hand_over(
    db: &Db<'_>,
    digest: &[u8; 32],
    phone: &[u8; 32],
    moves: i64,
) -> Done<bool> {
    let sql = sql("UPDATE pages SET phone = $2, moves = moves + 1 \
                   WHERE digest = $1 AND moves = $3 AND phone IS NULL AND browser IS NOT NULL \
                   AND EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = pages.session_id \
                       AND s.status IN ('CREATED', 'PENDING'))");
    let changed = db.run(sql, &[&digest.as_slice(), &phone.as_slice(), &moves]).await?;
    Ok(changed == 1)
}

/// Returns the page to the browser that had it, unless it moved since `moves` was read, has the
/// note `unless`, or its session no longer takes an answer.
pub(super) async fn bring_back(
    db: &Db<'_>,
    digest: &[u8; 32],
    moves: i64,
    unless: &str,
) -> Done<bool> {
    let sql = sql("UPDATE pages SET phone = NULL, moves = moves + 1 \
                   WHERE digest = $1 AND moves = $2 AND phone IS NOT NULL \
                   AND replace(' ' || notes, ' ' || CAST($3 AS text) || ' ', '') = ' ' || notes \
                   AND EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = pages.session_id \
                       AND s.status IN ('CREATED', 'PENDING'))");
    let changed = db.run(sql, &[&digest.as_slice(), &moves, &unless]).await?;
    Ok(changed == 1)
}

pub(super) async fn note(db: &Db<'_>, digest: &[u8; 32], note: &str) -> Done<()> {
    let sql = sql("UPDATE pages SET notes = notes || CAST($2 AS text) || ' ' WHERE digest = $1 \
                   AND length(notes) + length(CAST($2 AS text)) < CAST($3 AS bigint) \
                   AND replace(' ' || notes, ' ' || CAST($2 AS text) || ' ', '') = ' ' || notes");
    db.run(sql, &[&digest.as_slice(), &note, &NOTES]).await.map(drop)
}

/// The name, logo and links that people see of a client.
pub(super) async fn face(db: &Db<'_>, client_id: &str) -> Done<Option<Face>> {
    let sql = sql("SELECT name, logo IS NOT NULL, accent, privacy_url, help_url FROM clients \
                   WHERE id = $1");
    let read = |row: &Row<'_>| {
        Ok(Face {
            name: row.get(0)?,
            has_logo: row.get(1)?,
            accent: row.get(2)?,
            privacy_url: row.get(3)?,
            help_url: row.get(4)?,
        })
    };
    db.one(sql, &[&client_id], read).await
}

/// The logo of a client, if it has one.
pub(super) async fn logo(db: &Db<'_>, client_id: &str) -> Done<Option<Picture>> {
    let sql = sql("SELECT logo_type, logo FROM clients WHERE id = $1 \
                   AND logo IS NOT NULL AND logo_type IS NOT NULL");
    let read = |row: &Row<'_>| Ok(Picture { media_type: row.get(0)?, bytes: row.get(1)? });
    db.one(sql, &[&client_id], read).await
}
