//! Pages for people.

use deadpool_postgres::GenericClient;
use idgate_core::ids::{SessionId, TenantId};
use tokio_postgres::Row;

use super::super::interface::{Face, PageRecord, PageStore, Picture, Read, Write};
use super::super::lanes::Whose;
use super::super::pages::{FoundPage, NOTES, SealedPage};
use super::error::{Done, Failure};
use super::gateway::PostgresStore;
use super::sql::{Parameters, execute, row};

impl PageStore for PostgresStore {
    fn page(&self, digest: &[u8; 32]) -> Read<'_, Option<PageRecord>> {
        let digest = *digest;
        self.fault.read(self.read(move |shared| async move {
            let sql = "SELECT p.digest, p.session_id, s.client_id, p.sealed, p.browser, \
                       p.is_opened, p.notes FROM pages AS p \
                       JOIN sessions AS s ON s.id = p.session_id WHERE p.digest = $1";
            let client = shared.pool.client().await?;
            let found = find(&client, sql, &[&digest.as_slice()]).await?;
            Ok(found.map(|found| found.open(&shared.sealer)).transpose()?)
        }))
    }

    fn page_of(&self, id: &SessionId) -> Read<'_, Option<PageRecord>> {
        let id = id.as_str().to_owned();
        self.fault.read(self.read(move |shared| async move {
            let sql = "SELECT p.digest, p.session_id, s.client_id, p.sealed, p.browser, \
                       p.is_opened, p.notes FROM pages AS p \
                       JOIN sessions AS s ON s.id = p.session_id WHERE p.session_id = $1";
            let client = shared.pool.client().await?;
            let found = find(&client, sql, &[&id]).await?;
            Ok(found.map(|found| found.open(&shared.sealer)).transpose()?)
        }))
    }

    fn open_page(&self, digest: &[u8; 32]) -> Write<'_, ()> {
        let digest = *digest;
        self.write(Whose::of(digest), move |shared| async move {
            let client = shared.pool.client().await?;
            let sql = "UPDATE pages SET is_opened = true WHERE digest = $1";
            execute(&client, sql, &[&digest.as_slice()]).await?;
            Ok(())
        })
    }

    fn take_page(&self, digest: &[u8; 32], browser: [u8; 32]) -> Write<'_, bool> {
        let digest = *digest;
        self.write(Whose::of(digest), move |shared| async move {
            let client = shared.pool.client().await?;
            let sql = "UPDATE pages SET browser = coalesce(browser, $2) WHERE digest = $1 \
                       RETURNING browser = $2";
            let taken = row(&client, sql, &[&digest.as_slice(), &browser.as_slice()]).await?;
            Ok(taken.map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
        })
    }

    fn note_on_page(&self, digest: &[u8; 32], note: &str) -> Write<'_, ()> {
        let (digest, note) = (*digest, note.to_owned());
        self.write(Whose::of(digest), move |shared| async move {
            let client = shared.pool.client().await?;
            let sql = "UPDATE pages SET notes = notes || $2::text || ' ' WHERE digest = $1 \
                       AND length(notes) + length($2::text) < $3::bigint \
                       AND strpos(' ' || notes, ' ' || $2::text || ' ') = 0";
            execute(&client, sql, &[&digest.as_slice(), &note, &NOTES]).await?;
            Ok(())
        })
    }

    fn face(&self, client_id: &TenantId) -> Read<'_, Option<Face>> {
        let id = client_id.as_str().to_owned();
        self.fault.read(self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            let sql = "SELECT name, logo IS NOT NULL FROM clients WHERE id = $1";
            let Some(found) = row(&client, sql, &[&id]).await? else { return Ok(None) };
            Ok(Some(Face { name: found.try_get(0)?, has_logo: found.try_get(1)? }))
        }))
    }

    fn logo(&self, client_id: &TenantId) -> Read<'_, Option<Picture>> {
        let id = client_id.as_str().to_owned();
        self.fault.read(self.read(move |shared| async move {
            let client = shared.pool.client().await?;
            let sql = "SELECT logo_type, logo FROM clients WHERE id = $1 \
                       AND logo IS NOT NULL AND logo_type IS NOT NULL";
            let Some(found) = row(&client, sql, &[&id]).await? else { return Ok(None) };
            Ok(Some(Picture { media_type: found.try_get(0)?, bytes: found.try_get(1)? }))
        }))
    }
}

impl SealedPage {
    pub(super) async fn insert_on(&self, on: &impl GenericClient, session_id: &str) -> Done<()> {
        let sql = "INSERT INTO pages (digest, session_id, sealed) VALUES ($1, $2, $3)";
        execute(on, sql, &[&self.digest.as_slice(), &session_id, &self.sealed]).await?;
        Ok(())
    }
}

async fn find(
    on: &impl GenericClient,
    sql: &str,
    parameters: Parameters<'_>,
) -> Done<Option<FoundPage>> {
    row(on, sql, parameters).await?.as_ref().map(found).transpose()
}

fn found(row: &Row) -> Done<FoundPage> {
    let browser: Option<&[u8]> = row.try_get(4)?;
    Ok(FoundPage {
        digest: digest(row.try_get(0)?)?,
        session_id: row.try_get(1)?,
        client_id: row.try_get(2)?,
        sealed: row.try_get(3)?,
        browser: browser.map(digest).transpose()?,
        is_opened: row.try_get(5)?,
        notes: row.try_get(6)?,
    })
}

fn digest(stored: &[u8]) -> Done<[u8; 32]> {
    stored.try_into().map_err(|_| Failure::failed("a stored digest has another length"))
}
