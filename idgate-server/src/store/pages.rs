//! Pages for people, as rows: the digest of the token, and what its codes are made of sealed.

use idgate_core::ids::SessionId;
use idgate_core::session::Session;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::interface::{Face, NewPage, PageRecord, Picture, StoreError};
use crate::seal::{Place, Sealer};

/// How much may be remembered of one page, in bytes.
pub(super) const NOTES: i64 = 2048;

/// A new page in the form that is stored.
pub(super) struct SealedPage {
    pub(super) digest: [u8; 32],
    pub(super) sealed: Vec<u8>,
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

    pub(super) fn insert(&self, main: &Connection, session_id: &str) -> Result<(), StoreError> {
        main.prepare_cached("INSERT INTO pages (digest, session_id, sealed) VALUES (?1, ?2, ?3)")?
            .execute((self.digest, session_id, &self.sealed))?;
        Ok(())
    }
}

/// Where what a page's codes are made of stands.
pub(super) const fn place<'a>(session_id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "pages", object: session_id, client: client_id }
}

/// A row, while its secret is still sealed.
pub(super) struct FoundPage {
    pub(super) digest: [u8; 32],
    pub(super) session_id: String,
    pub(super) client_id: String,
    pub(super) sealed: Vec<u8>,
    pub(super) browser: Option<[u8; 32]>,
    pub(super) is_opened: bool,
    pub(super) notes: String,
}

impl FoundPage {
    pub(super) fn open(self, sealer: &Sealer) -> Result<PageRecord, StoreError> {
        let opened = sealer.open(place(&self.session_id, &self.client_id), &self.sealed);
        let secret = opened.map_err(|error| {
            StoreError::Damaged(format!("the page of session {}: {error}", self.session_id))
        })?;
        Ok(PageRecord {
            digest: self.digest,
            session_id: SessionId::new(self.session_id),
            secret,
            browser: self.browser,
            is_opened: self.is_opened,
            notes: self.notes.split_whitespace().map(str::to_owned).collect(),
        })
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            digest: row.get(0)?,
            session_id: row.get(1)?,
            client_id: row.get(2)?,
            sealed: row.get(3)?,
            browser: row.get(4)?,
            is_opened: row.get(5)?,
            notes: row.get(6)?,
        })
    }
}

pub(super) fn read(main: &Connection, digest: &[u8; 32]) -> Result<Option<FoundPage>, StoreError> {
    Ok(main
        .prepare_cached(
            "SELECT p.digest, p.session_id, s.client_id, p.sealed, p.browser, p.is_opened, p.notes \
             FROM pages AS p JOIN sessions AS s ON s.id = p.session_id WHERE p.digest = ?1",
        )?
        .query_row([digest], FoundPage::from_row)
        .optional()?)
}

pub(super) fn of_session(main: &Connection, id: &str) -> Result<Option<FoundPage>, StoreError> {
    Ok(main
        .prepare_cached(
            "SELECT p.digest, p.session_id, s.client_id, p.sealed, p.browser, p.is_opened, p.notes \
             FROM pages AS p JOIN sessions AS s ON s.id = p.session_id WHERE p.session_id = ?1",
        )?
        .query_row([id], FoundPage::from_row)
        .optional()?)
}

pub(super) fn set_opened(main: &Connection, digest: &[u8; 32]) -> Result<(), StoreError> {
    main.prepare_cached("UPDATE pages SET is_opened = 1 WHERE digest = ?1")?.execute([digest])?;
    Ok(())
}

/// Whether it is this browser's now.
pub(super) fn take(
    main: &Connection,
    digest: &[u8; 32],
    browser: &[u8; 32],
) -> Result<bool, StoreError> {
    main.prepare_cached("UPDATE pages SET browser = ?2 WHERE digest = ?1 AND browser IS NULL")?
        .execute((digest, browser))?;
    let is_its = main
        .prepare_cached("SELECT browser = ?2 FROM pages WHERE digest = ?1")?
        .query_row((digest, browser), |row| row.get(0))
        .optional()?;
    Ok(is_its.unwrap_or(false))
}

pub(super) fn note(main: &Connection, digest: &[u8; 32], note: &str) -> Result<(), StoreError> {
    main.prepare_cached(
        "UPDATE pages SET notes = notes || ?2 || ' ' WHERE digest = ?1 \
         AND length(notes) + length(?2) < ?3 AND instr(' ' || notes, ' ' || ?2 || ' ') = 0",
    )?
    .execute((digest, note, NOTES))?;
    Ok(())
}

pub(super) fn face(main: &Connection, client_id: &str) -> Result<Option<Face>, StoreError> {
    Ok(main
        .prepare_cached("SELECT name, logo IS NOT NULL FROM clients WHERE id = ?1")?
        .query_row([client_id], |row| Ok(Face { name: row.get(0)?, has_logo: row.get(1)? }))
        .optional()?)
}

pub(super) fn logo(main: &Connection, client_id: &str) -> Result<Option<Picture>, StoreError> {
    Ok(main
        .prepare_cached(
            "SELECT logo_type, logo FROM clients WHERE id = ?1 \
             AND logo IS NOT NULL AND logo_type IS NOT NULL",
        )?
        .query_row([client_id], |row| Ok(Picture { media_type: row.get(0)?, bytes: row.get(1)? }))
        .optional()?)
}
