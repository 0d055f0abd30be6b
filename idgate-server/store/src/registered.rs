//! Checks registration certificates: whether they match the signing certificates, and when they
//! expire.

use idgate_core::UnixMillis;

use crate::certificates::{CertificateRecord, records};
use crate::db::Db;
use crate::failure::Done;
use crate::finding::Finding;
use crate::gateway_key::{RENEW_BEFORE_MS, Registration};
use crate::registrations;

const CHECK: &str = "registrations";

/// Checks the registration certificates of all clients.
pub(super) async fn look(db: &Db<'_>, now: UnixMillis) -> Done<Vec<Finding>> {
    Ok(judge(&records(db, None).await?, &registrations::read(db).await?, now))
}

/// Finds present and upcoming problems with them.
fn judge(
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
    let signing = CertificateRecord::signing_for(records, &registration.client_id)?;
    registration.is_of_another(&signing.certificate).then(|| {
        let what = format!(
            "that of {} is for {}, not for the party and service in the certificate that signs, \
             and is not sent; have one of the two reissued",
            registration.whose(),
            registration.certificate.subject
        );
        Finding::bad(CHECK, what)
    })
}

fn end(registration: &Registration, now: UnixMillis) -> Option<Finding> {
    let whose = registration.whose();
    let until = registration.certificate.expires_at?;
    if !registration.certificate.is_valid_at(now) {
        let what = format!("that of {whose} expired at {until} and is not sent; renew it");
        return Some(Finding::bad(CHECK, what));
    }
    (until.since(now) < RENEW_BEFORE_MS).then(|| {
        let what = format!("that of {whose} ends on {until}; renew it");
        Finding::warning(CHECK, what)
    })
}
