//! Pages for people.

use idgate_core::ids::{SessionId, TenantId};

use super::super::db::Db;
use super::super::interface::{Face, PageRecord, PageStore, Picture, Read, Write};
use super::super::lanes::Whose;
use super::super::pages;
use super::gateway::PostgresStore;

impl PageStore for PostgresStore {
    fn page(&self, digest: &[u8; 32]) -> Read<'_, Option<PageRecord>> {
        let digest = *digest;
        self.fault.read(self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            pages::read(&Db::Client(&client), &shared.sealer, &digest).await
        }))
    }

    fn page_of(&self, id: &SessionId) -> Read<'_, Option<PageRecord>> {
        let id = id.as_str().to_owned();
        self.fault.read(self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            pages::of_session(&Db::Client(&client), &shared.sealer, &id).await
        }))
    }

    fn open_page(&self, digest: &[u8; 32]) -> Write<'_, ()> {
        let digest = *digest;
        self.write(Whose::of(digest), move |shared| async move {
            pages::set_opened(&Db::Client(&shared.pool.client().await?), &digest).await
        })
    }

    fn take_page(&self, digest: &[u8; 32], browser: [u8; 32]) -> Write<'_, bool> {
        let digest = *digest;
        self.write(Whose::of(digest), move |shared| async move {
            pages::take(&Db::Client(&shared.pool.client().await?), &digest, &browser).await
        })
    }

    fn note_on_page(&self, digest: &[u8; 32], note: &str) -> Write<'_, ()> {
        let (digest, note) = (*digest, note.to_owned());
        self.write(Whose::of(digest), move |shared| async move {
            pages::note(&Db::Client(&shared.pool.client().await?), &digest, &note).await
        })
    }

    fn face(&self, client_id: &TenantId) -> Read<'_, Option<Face>> {
        let id = client_id.as_str().to_owned();
        self.fault.read(self.read(move |shared| async move {
            pages::face(&Db::Client(&shared.pool.client().await?), &id).await
        }))
    }

    fn logo(&self, client_id: &TenantId) -> Read<'_, Option<Picture>> {
        let id = client_id.as_str().to_owned();
        self.fault.read(self.read(move |shared| async move {
            pages::logo(&Db::Client(&shared.pool.client().await?), &id).await
        }))
    }
}
