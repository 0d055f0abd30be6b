//! Pages for people.

use idgate_core::ids::{SessionId, TenantId};

use super::super::db::{Db, at_once};
use super::super::interface::{Face, PageRecord, PageStore, Picture, Read, Write};
use super::super::lanes::Whose;
use super::super::pages;
use super::SqliteStore;

impl PageStore for SqliteStore {
    fn page(&self, digest: &[u8; 32]) -> Read<'_, Option<PageRecord>> {
        let (sought, sealer) = (*digest, self.sealer.clone());
        let whose = self.known_sessions.lane(sought);
        self.fault.read(self.readers.read(whose, move |reader| {
            at_once(pages::read(&Db::sqlite(&reader.main), &sealer, &sought))
        }))
    }

    fn page_of(&self, id: &SessionId) -> Read<'_, Option<PageRecord>> {
        let (sought, sealer) = (id.as_str().to_owned(), self.sealer.clone());
        let whose = self.known_sessions.lane(&*sought);
        self.fault.read(self.readers.read(whose, move |reader| {
            at_once(pages::of_session(&Db::sqlite(&reader.main), &sealer, &sought))
        }))
    }

    fn open_page(&self, digest: &[u8; 32]) -> Write<'_, ()> {
        let digest = *digest;
        self.writer.submit_for(Whose::of(digest), move |batch| {
            at_once(pages::set_opened(&Db::sqlite(batch.main), &digest))
        })
    }

    fn take_page(&self, digest: &[u8; 32], browser: [u8; 32]) -> Write<'_, bool> {
        let digest = *digest;
        self.writer.submit_for(Whose::of(digest), move |batch| {
            at_once(pages::take(&Db::sqlite(batch.main), &digest, &browser))
        })
    }

    fn note_on_page(&self, digest: &[u8; 32], note: &str) -> Write<'_, ()> {
        let (digest, note) = (*digest, note.to_owned());
        self.writer.submit_for(Whose::of(digest), move |batch| {
            at_once(pages::note(&Db::sqlite(batch.main), &digest, &note))
        })
    }

    fn face(&self, client_id: &TenantId) -> Read<'_, Option<Face>> {
        let (whose, sought) = (Whose::of(client_id), client_id.as_str().to_owned());
        self.fault.read(
            self.readers.read(whose, move |reader| {
                at_once(pages::face(&Db::sqlite(&reader.main), &sought))
            }),
        )
    }

    fn logo(&self, client_id: &TenantId) -> Read<'_, Option<Picture>> {
        let (whose, sought) = (Whose::of(client_id), client_id.as_str().to_owned());
        self.fault.read(
            self.readers.read(whose, move |reader| {
                at_once(pages::logo(&Db::sqlite(&reader.main), &sought))
            }),
        )
    }
}
