//! Registration certificates: whether they go with the certificates that sign, and how long they last.

use idgate_core::time::UnixMillis;
use rusqlite::Connection;

use super::super::certificates::{CertificateRecord, records, registrations};
use super::super::db::{Db, at_once};
use super::super::types::StoreError;
use super::Finding;
use crate::gateway_key::{RENEW_BEFORE_MS, Registration};

const CHECK: &str = "registrations";

/// Looks at the registration certificates of all clients.
pub(super) fn look(main: &Connection, now: UnixMillis) -> Result<Vec<Finding>, StoreError> {
    let db = Db::sqlite(main);
    Ok(judge(&at_once(records(&db, None))?, &at_once(registrations(&db))?, now))
}

/// What is wrong with them, or will be.
pub(in crate::store) fn judge(
    records: &[CertificateRecord],
    registrations: &[Registration],
    now: UnixMillis,
) -> Vec<Finding> {
    let about = |registration: &Registration| {
        [party(registration, records), end(registration, now)].into_iter().flatten()
    };
    registrations.iter().flat_map(about).collect()
}

fn party(registration: &Registration, records: &[CertificateRecord]) -> Option<Finding> {
    let client_id = &registration.client_id;
    let signing = CertificateRecord::signing_for(records, client_id)?;
    registration.is_of_another(&signing.certificate).then(|| {
        let what = format!(
            "that of {client_id} is of {}, not of the party in the certificate that signs, and is \
             not sent; have one of the two issued anew",
            registration.certificate.subject
        );
        Finding::bad(CHECK, what)
    })
}

fn end(registration: &Registration, now: UnixMillis) -> Option<Finding> {
    let client_id = &registration.client_id;
    let until = registration.certificate.expires_at?;
    if !registration.certificate.is_valid_at(now) {
        let what = format!("that of {client_id} expired at {until} and is not sent; renew it");
        return Some(Finding::bad(CHECK, what));
    }
    (until.since(now) < RENEW_BEFORE_MS).then(|| {
        let what = format!("that of {client_id} ends on {until}; renew it");
        Finding::warning(CHECK, what)
    })
}
