//! Pages for people.

use idgate_core::ids::{SessionId, TenantId};

use super::super::interface::{Face, PageRecord, PageStore, Picture, Read, Write};
use super::super::lanes::Whose;
use super::super::pages;
use super::SqliteStore;

impl PageStore for SqliteStore {
    fn page(&self, digest: &[u8; 32]) -> Read<'_, Option<PageRecord>> {
        let (sought, sealer) = (*digest, self.sealer.clone());
        let whose = self.known_sessions.lane(sought);
        self.fault.read(self.readers.read(whose, move |reader| {
            pages::read(&reader.main, &sought)?.map(|found| found.open(&sealer)).transpose()
        }))
    }

    fn page_of(&self, id: &SessionId) -> Read<'_, Option<PageRecord>> {
        let (sought, sealer) = (id.as_str().to_owned(), self.sealer.clone());
        let whose = self.known_sessions.lane(&*sought);
        self.fault.read(self.readers.read(whose, move |reader| {
            pages::of_session(&reader.main, &sought)?.map(|found| found.open(&sealer)).transpose()
        }))
    }

    fn open_page(&self, digest: &[u8; 32]) -> Write<'_, ()> {
        let digest = *digest;
        self.writer
            .submit_for(Whose::of(digest), move |batch| pages::set_opened(batch.main, &digest))
    }

    fn take_page(&self, digest: &[u8; 32], browser: [u8; 32]) -> Write<'_, bool> {
        let digest = *digest;
        self.writer
            .submit_for(Whose::of(digest), move |batch| pages::take(batch.main, &digest, &browser))
    }

    fn note_on_page(&self, digest: &[u8; 32], note: &str) -> Write<'_, ()> {
        let (digest, note) = (*digest, note.to_owned());
        self.writer
            .submit_for(Whose::of(digest), move |batch| pages::note(batch.main, &digest, &note))
    }

    fn face(&self, client_id: &TenantId) -> Read<'_, Option<Face>> {
        let sought = client_id.as_str().to_owned();
        let read = self
            .readers
            .read(Whose::of(client_id), move |reader| pages::face(&reader.main, &sought));
        self.fault.read(read)
    }

    fn logo(&self, client_id: &TenantId) -> Read<'_, Option<Picture>> {
        let sought = client_id.as_str().to_owned();
        let read = self
            .readers
            .read(Whose::of(client_id), move |reader| pages::logo(&reader.main, &sought));
        self.fault.read(read)
    }
}
