//! Request, import and list keys with certificates.

use idgate_core::UnixMillis;
use idgate_core::crypto::PublicKey;
use idgate_core::shell::VerifierCertificate;

use super::OperatorStore;
use crate::certificates::{CertificateRecord, forget, place, raise_version, records, replace};
use crate::db::{Db, Row, sql};
use crate::failure::{Done, Failure};
use crate::gateway_key::{GatewayKey, PublishedKey};
use crate::seal::Sealer;
use crate::sql::millis;
use crate::types::StoreError;

/// Commands about certificates of the gateway and of clients.
impl OperatorStore {
    /// The key of this client (empty: the gateway) to request a certificate for. It is the key that
    /// already waits for its certificate, or a new one. Also erases what was replaced long ago.
    ///
    /// # Errors
    /// The database or the random number generator failed.
    pub fn requested_key(
        &mut self,
        client_id: &str,
        now: UnixMillis,
    ) -> Result<GatewayKey, StoreError> {
        let sealer = self.sealer();
        let (key, erased) = self.change(async |db| {
            // Concurrent commands must not create two keys.
            db.lock("LOCK TABLE certificate_keys IN SHARE ROW EXCLUSIVE MODE").await?;
            let erased = forget(db, now).await? > 0;
            let key = match waiting_key(db, sealer, client_id).await? {
                Some(waiting) => waiting,
                None => make_key(db, sealer, client_id, now).await?,
            };
            Ok((key, erased))
        })?;
        if erased {
            self.cut_log();
        }
        Ok(key)
    }

    /// The keys of this client (empty: the gateway) that a certificate may be for.
    ///
    /// # Errors
    /// The database failed.
    pub fn certificate_keys(&self, client_id: &str) -> Result<Vec<PublicKey>, StoreError> {
        let keys = self.read(async |db| keys_of(db, client_id).await)?;
        Ok(keys.into_iter().map(|key| key.public).collect())
    }

    /// Puts a certificate in force for this client (empty: the gateway). Its key must be one of
    /// [`OperatorStore::certificate_keys`]. The previous certificate continues to sign for sessions
    /// that were created with it.
    ///
    /// # Errors
    /// The database failed, or the certificate is for another key.
    pub fn import_certificate(
        &mut self,
        client_id: &str,
        certificate: &VerifierCertificate,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let erased = self.change(async |db| {
            let keys = keys_of(db, client_id).await?;
            let key = keys.into_iter().find(|key| key.public == certificate.key);
            let key = key.ok_or_else(|| Failure::failed("the certificate's key is gone"))?;
            replace(db, client_id, now).await?;
            insert(db, client_id, &key.id, certificate, now).await?;
            raise_version(db).await?;
            Ok(forget(db, now).await? > 0)
        })?;
        if erased {
            self.cut_log();
        }
        Ok(())
    }

    /// The certificates of this client (empty: the gateway), or of all (`None`), newest first.
    ///
    /// # Errors
    /// The database failed.
    pub fn certificates(
        &self,
        client_id: Option<&str>,
    ) -> Result<Vec<CertificateRecord>, StoreError> {
        self.read(async |db| records(db, client_id).await)
    }

    /// The keys of this client (empty: the gateway), or of all (`None`), that wait for their
    /// certificate.
    ///
    /// # Errors
    /// The database failed.
    pub fn requested_keys(&self, client_id: Option<&str>) -> Result<Vec<RequestedKey>, StoreError> {
        self.read(async |db| {
            let sql = sql("SELECT client_id, id, created_at FROM certificate_keys \
                           WHERE NOT used AND (CAST($1 AS text) IS NULL OR client_id = $1) \
                           ORDER BY created_at DESC, id");
            db.all(sql, &[&client_id], RequestedKey::read).await
        })
    }
}

/// A key that waits for its certificate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RequestedKey {
    /// The client that it is for; empty: the gateway.
    pub client_id: String,
    /// Its RFC 7638 thumbprint.
    pub key_id: String,
    /// When it was created.
    pub created_at: UnixMillis,
}

impl RequestedKey {
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self { client_id: row.get(0)?, key_id: row.get(1)?, created_at: row.time(2)? })
    }
}

async fn waiting_key(db: &Db<'_>, sealer: &Sealer, client_id: &str) -> Done<Option<GatewayKey>> {
    let sql = sql("SELECT id, sealed FROM certificate_keys WHERE client_id = $1 AND NOT used");
    let open = |row: &Row<'_>| {
        let (id, sealed): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
        Ok(GatewayKey::from_pkcs8(&sealer.open(place(&id, client_id), &sealed)?)?)
    };
    db.one(sql, &[&client_id], open).await
}

async fn make_key(
    db: &Db<'_>,
    sealer: &Sealer,
    client_id: &str,
    now: UnixMillis,
) -> Done<GatewayKey> {
    let (key, pkcs8) = GatewayKey::generate()?;
    let sealed = sealer.seal(place(key.id(), client_id), &pkcs8)?;
    let sql = sql("INSERT INTO certificate_keys (id, client_id, sec1, sealed, created_at) \
                   VALUES ($1, $2, $3, $4, $5)");
    let sec1 = key.public().sec1();
    db.run(sql, &[&key.id(), &client_id, &sec1, &sealed, &millis(now)]).await?;
    Ok(key)
}

async fn keys_of(db: &Db<'_>, client_id: &str) -> Done<Vec<PublishedKey>> {
    let sql = sql("SELECT id, sec1 FROM certificate_keys WHERE client_id = $1");
    let read = |row: &Row<'_>| Ok(PublishedKey::new(row.get(0)?, &row.get::<Vec<u8>>(1)?)?);
    db.all(sql, &[&client_id], read).await
}

/// A certificate that was in force before becomes the newest again.
async fn insert(
    db: &Db<'_>,
    client_id: &str,
    key_id: &str,
    certificate: &VerifierCertificate,
    now: UnixMillis,
) -> Done<()> {
    let hash = &certificate.x509_hash;
    db.run(sql("DELETE FROM certificates WHERE hash = $1"), &[hash]).await?;
    let insert = sql("INSERT INTO certificates (hash, client_id, key_id, chain, imported_at) \
                      VALUES ($1, $2, $3, $4, $5)");
    let chain = certificate.chain.concat();
    db.run(insert, &[hash, &client_id, &key_id, &chain, &millis(now)]).await?;
    db.run(sql("UPDATE certificate_keys SET used = true WHERE id = $1"), &[&key_id]).await.map(drop)
}
