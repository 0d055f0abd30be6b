//! Keys with certificates, as operators ask for, import and see them.

use idgate_core::crypto::PublicKey;
use idgate_core::request::RegistrationCertificate;
use idgate_core::time::UnixMillis;
use idgate_core::trust::VerifierCertificate;
use rusqlite::{Connection, OptionalExtension as _};

use super::SqliteOperator;
use crate::gateway_key::{GatewayKey, PublishedKey, Registration};
use crate::store::certificates::{
    CertificateRecord, forget, place, raise_version, records, registrations,
};
use crate::store::directory::Change;
use crate::store::files::truncate_log;
use crate::store::interface::StoreError;
use crate::store::operator::{CertificateOperator, RequestedKey};
use crate::store::sql::{millis, time};

impl CertificateOperator for SqliteOperator {
    fn requested_key(
        &mut self,
        client_id: &str,
        now: UnixMillis,
    ) -> Result<GatewayKey, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let erased = forget(&transaction, now)? > 0;
        let waiting: Option<(String, Vec<u8>)> = transaction
            .query_row(
                "SELECT id, sealed FROM certificate_keys WHERE client_id = ?1 AND used = 0",
                [client_id],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let key = match waiting {
            Some((id, sealed)) => {
                GatewayKey::from_pkcs8(&self.sealer.open(place(&id, client_id), &sealed)?)?
            }
            None => {
                let (key, pkcs8) = GatewayKey::generate()?;
                let sealed = self.sealer.seal(place(key.id(), client_id), &pkcs8)?;
                transaction.execute(
                    "INSERT INTO certificate_keys (id, client_id, sec1, sealed, created_at) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                    (key.id(), client_id, key.public().sec1(), sealed, millis(now)),
                )?;
                key
            }
        };
        transaction.commit()?;
        if erased {
            self.cut_log();
        }
        Ok(key)
    }

    fn certificate_keys(&self, client_id: &str) -> Result<Vec<PublicKey>, StoreError> {
        keys_of(&self.main, client_id)?.into_iter().map(|key| Ok(key.public)).collect()
    }

    fn import_certificate(
        &mut self,
        client_id: &str,
        certificate: &VerifierCertificate,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let keys = keys_of(&transaction, client_id)?;
        let key = keys.into_iter().find(|key| key.public == certificate.key);
        let key = key.ok_or_else(|| StoreError::Failed("the certificate's key is gone".into()))?;
        let hash = &certificate.x509_hash;
        transaction.execute(
            "UPDATE certificates SET replaced_at = ?2 WHERE client_id = ?1 AND replaced_at IS NULL",
            (client_id, millis(now)),
        )?;
        // One that was in force before comes back as the newest.
        transaction.execute("DELETE FROM certificates WHERE hash = ?1", [hash])?;
        transaction.execute(
            "INSERT INTO certificates (hash, client_id, key_id, chain, imported_at) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
            (hash, client_id, &key.id, certificate.chain.concat(), millis(now)),
        )?;
        transaction.execute("UPDATE certificate_keys SET used = 1 WHERE id = ?1", [&key.id])?;
        raise_version(&transaction)?;
        let erased = forget(&transaction, now)? > 0;
        transaction.commit()?;
        if erased {
            self.cut_log();
        }
        Ok(())
    }

    fn certificates(&self, client_id: Option<&str>) -> Result<Vec<CertificateRecord>, StoreError> {
        records(&self.main, client_id)
    }

    fn registrations(&self) -> Result<Vec<Registration>, StoreError> {
        registrations(&self.main)
    }

    fn set_registration(
        &mut self,
        client_id: &str,
        certificate: &RegistrationCertificate,
        strict: bool,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        transaction.execute(
            "INSERT OR REPLACE INTO registrations (client_id, jwt, strict, added_at) \
             VALUES (?1, ?2, ?3, ?4)",
            (client_id, &certificate.text, strict, millis(now)),
        )?;
        raise_version(&transaction)?;
        transaction.commit()
    }

    fn remove_registration(&mut self, client_id: &str) -> Result<bool, StoreError> {
        let transaction = Change::begin(&mut self.main, &self.first)?;
        let removed =
            transaction.execute("DELETE FROM registrations WHERE client_id = ?1", [client_id])?;
        raise_version(&transaction)?;
        transaction.commit()?;
        Ok(removed > 0)
    }

    fn requested_keys(&self, client_id: Option<&str>) -> Result<Vec<RequestedKey>, StoreError> {
        let mut statement = self.main.prepare(
            "SELECT client_id, id, created_at FROM certificate_keys \
             WHERE used = 0 AND (?1 IS NULL OR client_id = ?1) ORDER BY created_at DESC, id",
        )?;
        let rows = statement.query_map([client_id], |row| {
            Ok(RequestedKey {
                client_id: row.get(0)?,
                key_id: row.get(1)?,
                created_at: time(row.get(2)?),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl SqliteOperator {
    /// What was erased leaves the log as well, unless a reader is in the way: then with the next
    /// checkpoint.
    pub(super) fn cut_log(&self) {
        let _later = truncate_log(&self.main);
    }
}

fn keys_of(main: &Connection, client_id: &str) -> Result<Vec<PublishedKey>, StoreError> {
    let mut statement =
        main.prepare("SELECT id, sec1 FROM certificate_keys WHERE client_id = ?1")?;
    let mut rows = statement.query([client_id])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(PublishedKey::new(row.get(0)?, &row.get::<_, Vec<u8>>(1)?)?);
    }
    Ok(keys)
}
