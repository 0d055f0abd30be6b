//! Finds registered clients whose stored sessions ask for more than is registered.

use idgate_core::shell::ClientIdForm;

use crate::db::{Db, sql};
use crate::failure::Done;
use crate::finding::Finding;
use crate::gateway_key::Registration;
use crate::seal::Sealer;
use crate::stored_session::Stored;

const CHECK: &str = "registrations";
/// How many of a client's newest sessions are checked.
const LOOKED_AT: i64 = 1000;

/// Checks the sessions of a client with a registration certificate.
pub(super) async fn look(
    db: &Db<'_>,
    sealer: &Sealer,
    registration: &Registration,
) -> Done<Finding> {
    let newest = newest(db, &registration.client_id).await?;
    Ok(judge(sealer, registration, &newest))
}

/// The newest sessions of a client.
async fn newest(db: &Db<'_>, client_id: &str) -> Done<Vec<Stored>> {
    let sql = sql("SELECT id, client_id, livemode, record FROM sessions WHERE client_id = $1 \
                   ORDER BY created_at DESC LIMIT $2");
    db.all(sql, &[&client_id, &LOOKED_AT], Stored::read).await
}

/// Compares the requests of a client with its registration.
fn judge(sealer: &Sealer, registration: &Registration, sessions: &[Stored]) -> Finding {
    let whose = registration.whose();
    let mut seen = 0_u64;
    for stored in sessions {
        // Other checks report sessions that cannot be opened.
        let Ok(session) = stored.open(sealer) else { continue };
        // Wallets see the registration if the session has an offer with client id `x509_hash`, or
        // is signed with reader authentication.
        let is_seen = session.offers().any(|offer| offer.goes_by(ClientIdForm::X509Hash))
            || session.is_registered();
        if !is_seen || !registration.goes_with(session.request().intended_use()) {
            continue;
        }
        seen = seen.saturating_add(1);
        let beyond = registration.certificate.exceeded_by(session.request());
        if !beyond.is_empty() {
            let what = format!(
                "{whose} asks for more than is registered, and wallets warn or refuse: {}; have \
                 it registered, or have the client ask for less",
                beyond.join(", ")
            );
            return Finding::warning(CHECK, what);
        }
    }
    let good = format!("{whose} asked for no more than is registered ({seen} sessions)");
    Finding::good(CHECK, good)
}
