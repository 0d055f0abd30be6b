//! Keys with certificates, the gateway's own and those of clients. The private keys are sealed and
//! bound to the client that they sign for.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{VerifierCertificate, pem_or_der};

use super::db::{Db, Row, sql};
use super::failure::Done;
use super::sql::millis;
use super::types::StoreError;
use crate::cache::Numbered;
use crate::gateway_key::{Certificates, CertifiedKey, GatewayKey, REPLACED_SIGNS_MS};
use crate::registrations;
use crate::seal::{Place, Sealer};
use crate::version_numbers::Numbers;

/// A certificate as operators see it.
#[derive(Clone, Debug)]
pub struct CertificateRecord {
    /// The client that it is for. Empty: the gateway.
    pub client_id: String,
    /// The RFC 7638 thumbprint of its key.
    pub key_id: String,
    /// The parsed certificate chain.
    pub certificate: VerifierCertificate,
    /// When it was imported.
    pub imported_at: UnixMillis,
    /// When another certificate replaced it. `None`: it is in force.
    pub replaced_at: Option<UnixMillis>,
}

impl CertificateRecord {
    /// The certificate that signs for this client: its own if it has one in force, otherwise the
    /// gateway's.
    pub fn signing_for<'r>(records: &'r [Self], client_id: &str) -> Option<&'r Self> {
        let of = |owner: &str| {
            records.iter().find(|one| one.client_id == owner && one.replaced_at.is_none())
        };
        of(client_id).or_else(|| of(""))
    }
}

impl Numbered for Certificates {
    fn number(&self) -> u64 {
        self.version
    }
}

/// The seal's place of a private key.
pub(super) const fn place<'a>(id: &'a str, client_id: &'a str) -> Place<'a> {
    Place { purpose: "certificate_keys", object: id, client: client_id }
}

/// All certificates that may still sign, newest first, in the transaction's snapshot.
pub(super) async fn read(db: &Db<'_>, sealer: &Sealer) -> Done<Certificates> {
    let version = Numbers::read(db).await?.certificates;
    let sql = sql("SELECT c.client_id, c.key_id, k.sealed, c.chain, c.replaced_at \
                   FROM certificates AS c JOIN certificate_keys AS k ON k.id = c.key_id \
                   ORDER BY c.number DESC");
    let rows = db.all(sql, &[], Stored::read).await?;
    let registrations = registrations::read(db).await?;
    Ok(Certificates { version, keys: open(rows, sealer), registrations })
}

/// Opens the keys in these rows. A key that cannot be opened is logged and left out, so that the
/// others keep working.
fn open(rows: Vec<Stored>, sealer: &Sealer) -> Vec<Arc<CertifiedKey>> {
    let keys = rows.into_iter().filter_map(|row| {
        let key_id = row.key_id.clone();
        let opened = row.open(sealer);
        opened
            .inspect_err(
                |error| tracing::error!(%error, key_id, "an unusable certificate is ignored"),
            )
            .ok()
    });
    keys.map(Arc::new).collect()
}

/// A certificate and its key as stored.
struct Stored {
    client_id: String,
    key_id: String,
    sealed: Vec<u8>,
    chain: Vec<u8>,
    replaced_at: Option<UnixMillis>,
}

impl Stored {
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self {
            client_id: row.get(0)?,
            key_id: row.get(1)?,
            sealed: row.get(2)?,
            chain: row.get(3)?,
            replaced_at: row.time_if_any(4)?,
        })
    }

    fn open(self, sealer: &Sealer) -> Result<CertifiedKey, StoreError> {
        let pkcs8 = sealer.open(place(&self.key_id, &self.client_id), &self.sealed)?;
        Ok(CertifiedKey {
            key: GatewayKey::from_pkcs8(&pkcs8)?,
            certificate: certificate(&self.chain)?,
            client_id: self.client_id,
            replaced_at: self.replaced_at,
        })
    }
}

/// The certificates of this client (empty: the gateway) or of all (`None`), newest first.
pub(super) async fn records(db: &Db<'_>, client_id: Option<&str>) -> Done<Vec<CertificateRecord>> {
    let sql = sql("SELECT client_id, key_id, chain, imported_at, replaced_at FROM certificates \
                   WHERE CAST($1 AS text) IS NULL OR client_id = $1 ORDER BY number DESC");
    let read = |row: &Row<'_>| {
        Ok(CertificateRecord {
            client_id: row.get(0)?,
            key_id: row.get(1)?,
            certificate: certificate(&row.get::<Vec<u8>>(2)?)?,
            imported_at: row.time(3)?,
            replaced_at: row.time_if_any(4)?,
        })
    };
    db.all(sql, &[&client_id], read).await
}

/// Parses a stored chain: the certificates follow each other in one column.
fn certificate(chain: &[u8]) -> Result<VerifierCertificate, StoreError> {
    let damaged = |why: String| StoreError::Damaged(format!("a stored certificate: {why}"));
    let chain = pem_or_der(chain, "CERTIFICATE").map_err(|error| damaged(error.0.into_owned()))?;
    VerifierCertificate::from_chain(&PROVIDER, &chain).map_err(|error| damaged(error.to_string()))
}

/// Removes certificates that were replaced so long ago that no session can name them, and erases
/// keys that have no certificates left. Returns how many certificates were removed.
pub(super) async fn forget(db: &Db<'_>, now: UnixMillis) -> Done<usize> {
    let before = millis(now.minus(REPLACED_SIGNS_MS));
    let removed =
        db.run(sql("DELETE FROM certificates WHERE replaced_at < $1"), &[&before]).await?;
    if removed > 0 {
        let sql = sql("DELETE FROM certificate_keys WHERE used \
                       AND id NOT IN (SELECT key_id FROM certificates)");
        db.run(sql, &[]).await?;
        raise_version(db).await?;
    }
    Ok(removed)
}

/// Ends the certificate of a revoked client without replacing it; sessions that were created with
/// it stay valid. Keys that wait for a certificate are removed immediately, and so is what a
/// registrar attests about the client. `false`: there was nothing.
pub(super) async fn end(db: &Db<'_>, client_id: &str, now: UnixMillis) -> Done<bool> {
    let mut ended = replace(db, client_id, now).await?;
    let sql = sql("DELETE FROM certificate_keys WHERE client_id = $1 AND NOT used");
    ended = ended.saturating_add(db.run(sql, &[&client_id]).await?);
    ended = ended.saturating_add(registrations::forget(db, client_id).await?);
    if ended > 0 {
        raise_version(db).await?;
    }
    Ok(ended > 0)
}

/// Marks the certificate in force as replaced: it signs no new sessions.
pub(super) async fn replace(db: &Db<'_>, client_id: &str, now: UnixMillis) -> Done<usize> {
    let sql = sql(
        "UPDATE certificates SET replaced_at = $2 WHERE client_id = $1 AND replaced_at IS NULL",
    );
    db.run(sql, &[&client_id, &millis(now)]).await
}

/// Makes every running gateway read the certificates again.
pub(super) async fn raise_version(db: &Db<'_>) -> Done<()> {
    db.run(sql("UPDATE certificates_version SET version = version + 1"), &[]).await.map(drop)
}
