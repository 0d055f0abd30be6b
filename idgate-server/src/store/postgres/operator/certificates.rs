//! Keys with certificates, as operators ask for, import and see them.

use idgate_core::crypto::PublicKey;
use idgate_core::request::RegistrationCertificate;
use idgate_core::time::UnixMillis;
use idgate_core::trust::VerifierCertificate;
use tokio_postgres::Row;

use super::super::certificates::{forget, keys_of, raise_version, registrations};
use super::super::error::{Done, Failure};
use super::super::pool::Tx;
use super::super::sql::{execute, rows};
use super::PostgresOperator;
use crate::gateway_key::{GatewayKey, Registration};
use crate::seal::Sealer;
use crate::store::certificates::{CertificateRecord, certificate, place};
use crate::store::interface::StoreError;
use crate::store::operator::{CertificateOperator, RequestedKey};
use crate::store::sql::{millis, time};

impl CertificateOperator for PostgresOperator {
    fn requested_key(
        &mut self,
        client_id: &str,
        now: UnixMillis,
    ) -> Result<GatewayKey, StoreError> {
        let env = (&self.desk.sealer, client_id, now);
        self.run(self.desk.pool.transact(&env, |&(sealer, client_id, now), tx| {
            Box::pin(requested_key(tx, sealer, client_id, now))
        }))
    }

    fn certificate_keys(&self, client_id: &str) -> Result<Vec<PublicKey>, StoreError> {
        let keys = self.run(async { keys_of(&self.desk.pool.client().await?, client_id).await })?;
        Ok(keys.into_iter().map(|key| key.public).collect())
    }

    fn import_certificate(
        &mut self,
        client_id: &str,
        certificate: &VerifierCertificate,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let env = (client_id, certificate, now);
        self.run(self.desk.pool.transact(&env, |&(client_id, certificate, now), tx| {
            Box::pin(import(tx, client_id, certificate, now))
        }))
    }

    fn certificates(&self, client_id: Option<&str>) -> Result<Vec<CertificateRecord>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT client_id, key_id, chain, imported_at, replaced_at \
                       FROM certificates WHERE $1::text IS NULL OR client_id = $1 \
                       ORDER BY number DESC";
            rows(&client, sql, &[&client_id]).await?.iter().map(record).collect()
        })
    }

    fn registrations(&self) -> Result<Vec<Registration>, StoreError> {
        self.run(async { registrations(&self.desk.pool.client().await?).await })
    }

    fn set_registration(
        &mut self,
        client_id: &str,
        certificate: &RegistrationCertificate,
        strict: bool,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let env = (client_id, &certificate.text, strict, now);
        self.run(self.desk.pool.transact(&env, |&(client_id, text, strict, now), tx| {
            Box::pin(async move {
                execute(
                    tx,
                    "INSERT INTO registrations (client_id, jwt, strict, added_at) \
                     VALUES ($1, $2, $3, $4) ON CONFLICT (client_id) DO UPDATE \
                     SET jwt = excluded.jwt, strict = excluded.strict, \
                     added_at = excluded.added_at",
                    &[&client_id, text, &strict, &millis(now)],
                )
                .await?;
                raise_version(tx).await
            })
        }))
    }

    fn remove_registration(&mut self, client_id: &str) -> Result<bool, StoreError> {
        self.run(self.desk.pool.transact(&client_id, |client_id, tx| {
            Box::pin(async move {
                let sql = "DELETE FROM registrations WHERE client_id = $1";
                let removed = execute(tx, sql, &[client_id]).await?;
                raise_version(tx).await?;
                Ok(removed > 0)
            })
        }))
    }

    fn requested_keys(&self, client_id: Option<&str>) -> Result<Vec<RequestedKey>, StoreError> {
        self.run(async {
            let client = self.desk.pool.client().await?;
            let sql = "SELECT client_id, id, created_at FROM certificate_keys \
                       WHERE NOT used AND ($1::text IS NULL OR client_id = $1) \
                       ORDER BY created_at DESC, id";
            rows(&client, sql, &[&client_id]).await?.iter().map(requested).collect()
        })
    }
}

async fn requested_key(
    tx: &Tx<'_>,
    sealer: &Sealer,
    client_id: &str,
    now: UnixMillis,
) -> Done<GatewayKey> {
    // Two commands at once shall not make two keys.
    tx.batch_execute("LOCK TABLE certificate_keys IN SHARE ROW EXCLUSIVE MODE").await?;
    forget(tx, now).await?;
    let sql = "SELECT id, sealed FROM certificate_keys WHERE client_id = $1 AND NOT used";
    if let Some(waiting) = rows(tx, sql, &[&client_id]).await?.first() {
        let (id, sealed): (String, Vec<u8>) = (waiting.try_get(0)?, waiting.try_get(1)?);
        return Ok(GatewayKey::from_pkcs8(&sealer.open(place(&id, client_id), &sealed)?)?);
    }
    let (key, pkcs8) = GatewayKey::generate()?;
    let sealed = sealer.seal(place(key.id(), client_id), &pkcs8)?;
    execute(
        tx,
        "INSERT INTO certificate_keys (id, client_id, sec1, sealed, created_at) \
         VALUES ($1, $2, $3, $4, $5)",
        &[&key.id(), &client_id, &key.public().sec1(), &sealed, &millis(now)],
    )
    .await?;
    Ok(key)
}

async fn import(
    tx: &Tx<'_>,
    client_id: &str,
    certificate: &VerifierCertificate,
    now: UnixMillis,
) -> Done<()> {
    let keys = keys_of(tx, client_id).await?;
    let key = keys.into_iter().find(|key| key.public == certificate.key);
    let key = key.ok_or_else(|| Failure::failed("the certificate's key is gone"))?;
    let hash = &certificate.x509_hash;
    let sql =
        "UPDATE certificates SET replaced_at = $2 WHERE client_id = $1 AND replaced_at IS NULL";
    execute(tx, sql, &[&client_id, &millis(now)]).await?;
    // One that was in force before comes back as the newest.
    execute(tx, "DELETE FROM certificates WHERE hash = $1", &[hash]).await?;
    execute(
        tx,
        "INSERT INTO certificates (hash, client_id, key_id, chain, imported_at) \
         VALUES ($1, $2, $3, $4, $5)",
        &[hash, &client_id, &key.id, &certificate.chain.concat(), &millis(now)],
    )
    .await?;
    execute(tx, "UPDATE certificate_keys SET used = true WHERE id = $1", &[&key.id]).await?;
    raise_version(tx).await?;
    forget(tx, now).await.map(drop)
}

fn record(row: &Row) -> Done<CertificateRecord> {
    Ok(CertificateRecord {
        client_id: row.try_get(0)?,
        key_id: row.try_get(1)?,
        certificate: certificate(&row.try_get::<_, Vec<u8>>(2)?)?,
        imported_at: time(row.try_get(3)?),
        replaced_at: row.try_get::<_, Option<i64>>(4)?.map(time),
    })
}

fn requested(row: &Row) -> Done<RequestedKey> {
    Ok(RequestedKey {
        client_id: row.try_get(0)?,
        key_id: row.try_get(1)?,
        created_at: time(row.try_get(2)?),
    })
}
