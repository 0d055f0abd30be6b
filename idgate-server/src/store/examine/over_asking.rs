//! Which registered clients ask for more than is registered, as their stored sessions show.

use idgate_core::session::ClientIdForm;
use rusqlite::Connection;

use super::super::certificates::registrations;
use super::super::db::{Db, Row, at_once, sql};
use super::super::failure::Done;
use super::super::prepared::Stored;
use super::super::types::StoreError;
use super::Finding;
use crate::gateway_key::Registration;
use crate::seal::Sealer;

const CHECK: &str = "registrations";
/// Newest sessions of a client that are looked at.
const LOOKED_AT: i64 = 1000;

/// Looks at the sessions of clients with a registration certificate.
pub(super) fn look(main: &Connection, sealer: &Sealer) -> Result<Vec<Finding>, StoreError> {
    let registered = at_once(registrations(&Db::sqlite(main)))?;
    registered.iter().map(|registration| about(main, sealer, registration)).collect()
}

fn about(
    main: &Connection,
    sealer: &Sealer,
    registration: &Registration,
) -> Result<Finding, StoreError> {
    let newest = at_once(newest(&Db::sqlite(main), &registration.client_id))?;
    judge(sealer, registration, newest.into_iter().map(Ok))
}

/// The newest sessions of a client.
pub(in crate::store) async fn newest(db: &Db<'_>, client_id: &str) -> Done<Vec<Stored>> {
    let sql = sql("SELECT id, client_id, livemode, record FROM sessions WHERE client_id = $1 \
                   ORDER BY created_at DESC LIMIT $2");
    let read = |row: &Row<'_>| {
        Ok(Stored {
            id: row.get(0)?,
            client_id: row.get(1)?,
            livemode: row.get(2)?,
            record: row.get(3)?,
        })
    };
    db.all(sql, &[&client_id, &LOOKED_AT], read).await
}

/// Compares what a client asked for with what is registered of it.
///
/// # Errors
/// The first of reading its sessions.
pub(in crate::store) fn judge(
    sealer: &Sealer,
    registration: &Registration,
    sessions: impl Iterator<Item = Result<Stored, StoreError>>,
) -> Result<Finding, StoreError> {
    let client_id = &registration.client_id;
    let mut seen = 0_u64;
    for stored in sessions {
        // What does not open is found elsewhere.
        let Ok(session) = stored?.open(sealer) else { continue };
        // Wallets see what is registered where the certificate's hash names the client.
        if !session.offers().any(|offer| offer.goes_by(ClientIdForm::X509Hash)) {
            continue;
        }
        seen = seen.saturating_add(1);
        let beyond = registration.certificate.exceeded_by(session.request());
        if !beyond.is_empty() {
            let what = format!(
                "{client_id} asks for more than is registered, and wallets warn or refuse: {}; have \
                 it registered, or have the client ask for less",
                beyond.join(", ")
            );
            return Ok(Finding::warning(CHECK, what));
        }
    }
    Ok(Finding::good(
        CHECK,
        format!("{client_id} asked for no more than is registered ({seen} sessions)"),
    ))
}
