//! The stored registration certificates of clients. The default of each client is in
//! `registrations`, where older programs that know only one per client read it. The others are in
//! `further_registrations`.

use idgate_core::{RegistrationCertificate, UnixMillis};

use crate::db::{Db, Row, sql};
use crate::failure::Done;
use crate::gateway_key::{Registration, UNNAMED_USE};
use crate::sql::millis;

/// The registrations of all clients, each client's default first. One that cannot be parsed is
/// logged and left out.
pub(super) async fn read(db: &Db<'_>) -> Done<Vec<Registration>> {
    let sql = sql("SELECT client_id, intended_use, jwt, strict, false AS further, added_at \
                   FROM registrations UNION ALL \
                   SELECT client_id, intended_use, jwt, strict, true AS further, added_at \
                   FROM further_registrations \
                   ORDER BY client_id, further, added_at, intended_use");
    let rows = db.all(sql, &[], Stored::read).await?;
    Ok(rows.into_iter().filter_map(Stored::open).collect())
}

struct Stored {
    client_id: String,
    intended_use: String,
    jwt: String,
    strict: bool,
    is_default: bool,
}

impl Stored {
    fn read(row: &Row<'_>) -> Done<Self> {
        Ok(Self {
            client_id: row.get(0)?,
            intended_use: row.get(1)?,
            jwt: row.get(2)?,
            strict: row.get(3)?,
            is_default: !row.get::<bool>(4)?,
        })
    }

    fn open(self) -> Option<Registration> {
        let Self { client_id, intended_use, jwt, strict, is_default } = self;
        let certificate = RegistrationCertificate::parse(&jwt);
        let certificate = certificate.inspect_err(
            |error| tracing::error!(%error, client_id, intended_use, "an unusable registration certificate is ignored"),
        );
        let certificate = certificate.ok()?;
        Some(Registration { client_id, intended_use, is_default, certificate, strict })
    }
}

/// The name of a client's default.
pub(super) async fn default_name(db: &Db<'_>, client_id: &str) -> Done<Option<String>> {
    let sql = sql("SELECT intended_use FROM registrations WHERE client_id = $1");
    db.one(sql, &[&client_id], |row| row.get(0)).await
}

/// The names of a client's other registrations.
pub(super) async fn further_names(db: &Db<'_>, client_id: &str) -> Done<Vec<String>> {
    let sql = sql("SELECT intended_use FROM further_registrations WHERE client_id = $1 \
                   ORDER BY added_at, intended_use");
    db.all(sql, &[&client_id], |row| row.get(0)).await
}

/// A registration to store.
pub(super) struct Kept<'k> {
    pub(super) client_id: &'k str,
    pub(super) intended_use: &'k str,
    pub(super) certificate: &'k RegistrationCertificate,
    pub(super) strict: bool,
    pub(super) now: UnixMillis,
}

impl Kept<'_> {
    /// Stores it as the client's default and replaces one of the same name. The previous default
    /// stays as one of the others.
    pub(super) async fn as_default(&self, db: &Db<'_>) -> Done<()> {
        let Self { client_id, intended_use, certificate, strict, now } = self;
        let drop =
            sql("DELETE FROM further_registrations WHERE client_id = $1 AND intended_use = $2");
        db.run(drop, &[client_id, intended_use]).await?;
        let step_back = sql(
            "INSERT INTO further_registrations (client_id, intended_use, jwt, strict, added_at) \
             SELECT client_id, intended_use, jwt, strict, added_at FROM registrations \
             WHERE client_id = $1 AND intended_use <> $2 ON CONFLICT DO NOTHING",
        );
        db.run(step_back, &[client_id, intended_use]).await?;
        let keep =
            sql("INSERT INTO registrations (client_id, intended_use, jwt, strict, added_at) \
                        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (client_id) DO UPDATE \
                        SET intended_use = excluded.intended_use, jwt = excluded.jwt, \
                        strict = excluded.strict, added_at = excluded.added_at");
        let added_at = millis(*now);
        db.run(keep, &[client_id, intended_use, &certificate.text, strict, &added_at]).await?;
        Ok(())
    }

    /// Stores it as one of the client's others and replaces one of the same name.
    pub(super) async fn as_further(&self, db: &Db<'_>) -> Done<()> {
        let Self { client_id, intended_use, certificate, strict, now } = self;
        let keep = sql(
            "INSERT INTO further_registrations (client_id, intended_use, jwt, strict, added_at) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (client_id, intended_use) DO UPDATE \
             SET jwt = excluded.jwt, strict = excluded.strict, added_at = excluded.added_at",
        );
        let added_at = millis(*now);
        db.run(keep, &[client_id, intended_use, &certificate.text, strict, &added_at]).await?;
        Ok(())
    }
}

/// Removes one of a client's other registrations.
pub(super) async fn remove_further(db: &Db<'_>, client_id: &str, name: &str) -> Done<()> {
    let sql = sql("DELETE FROM further_registrations WHERE client_id = $1 AND intended_use = $2");
    db.run(sql, &[&client_id, &name]).await.map(drop)
}

/// Removes all registrations of a client. Returns how many there were.
pub(super) async fn forget(db: &Db<'_>, client_id: &str) -> Done<usize> {
    let mut removed = 0_usize;
    for sql in [
        sql("DELETE FROM registrations WHERE client_id = $1"),
        sql("DELETE FROM further_registrations WHERE client_id = $1"),
    ] {
        removed = removed.saturating_add(db.run(sql, &[&client_id]).await?);
    }
    Ok(removed)
}

/// The name for a new registration: the given one, otherwise that of the default, if there is one.
pub(super) fn name_of<'n>(given: Option<&'n str>, default: Option<&'n str>) -> &'n str {
    given.or(default).unwrap_or(UNNAMED_USE)
}
