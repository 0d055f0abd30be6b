//! The end of a session as a value. Audit entry, notification, counters, stored columns and
//! erasures all derive from it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Reason, WalletError};
use crate::limits::CLAIMS_RETENTION_MS;
use crate::session::{Session, Status};
use crate::time::UnixMillis;
use crate::webhook::notification::Notification;

/// The end of a session, made by [`Session::settlement`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settlement<'a> {
    /// The session.
    pub session: &'a Session,
    /// VERIFIED, FAILED or EXPIRED.
    pub status: Status,
    /// The time of the settlement. A session that expired was settled when its lifetime ended.
    pub at: UnixMillis,
    /// The reason, unless VERIFIED.
    pub reason: Option<Reason>,
    /// The wallet's error, if that is the reason.
    pub wallet_error: Option<WalletError>,
}

impl<'a> Settlement<'a> {
    /// Milliseconds from creation to settlement.
    pub fn latency_ms(&self) -> u64 {
        self.at.since(self.session.created_at)
    }

    /// Milliseconds until the verdict on an answer; `None` if there was no answer.
    pub fn answered_after_ms(&self) -> Option<u64> {
        (self.status != Status::Expired).then(|| self.latency_ms())
    }

    /// The type of each requested credential.
    pub fn credential_types(&self) -> Vec<String> {
        self.session.request.credential_types()
    }

    /// The trust entry of each requested credential.
    pub fn issuer_ids(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.session.request.credentials.iter().map(|credential| credential.issuer_id.as_str())
    }

    /// When claims and verification details must be erased everywhere, if there are any.
    pub fn redact_at(&self) -> Option<UnixMillis> {
        (self.status == Status::Verified).then(|| self.at.plus(CLAIMS_RETENTION_MS))
    }

    /// Whether there is an encryption key that is no longer needed and must be erased.
    pub fn spends_key(&self) -> bool {
        self.session.takes_encrypted_answers()
    }

    /// The notification for the tenant.
    pub fn notification(&self) -> Notification<'a> {
        Notification {
            session_id: self.session.id.as_str(),
            client_id: self.session.tenant.as_str(),
            status: self.status.as_str(),
            latency_ms: self.latency_ms(),
            issuer_id: self.issuer_ids().next().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::request::fixtures::{self, NOW};
    use crate::session::Phase;

    const AT: UnixMillis = UnixMillis(NOW.0 + 5);

    fn session(phase: Phase) -> Session {
        let mut session = fixtures::session(fixtures::one_credential());
        session.phase = phase;
        session
    }

    #[test]
    fn an_open_session_has_no_settlement() {
        for phase in [Phase::Created, Phase::Pending, Phase::Verifying { lease_until: AT }] {
            assert!(session(phase).settlement().is_none());
        }
    }

    #[test]
    fn it_says_how_the_session_ended() {
        let (reason, wallet_error) = (Reason::NonceMismatch, None);
        let (late, in_time) = (Some(Reason::SessionExpired), Some(5));
        for (phase, status, why, answered, redact_at) in [
            (Phase::Verified { at: AT }, Status::Verified, None, in_time, Some(AT.plus(30_000))),
            (
                Phase::Failed { at: AT, reason, wallet_error },
                Status::Failed,
                Some(reason),
                in_time,
                None,
            ),
            (Phase::Expired { at: AT }, Status::Expired, late, None, None),
        ] {
            let session = session(phase);
            let ended = session.settlement().unwrap();
            assert_eq!((ended.status, ended.at, ended.reason), (status, AT, why));
            assert_eq!((ended.latency_ms(), ended.answered_after_ms()), (5, answered));
            assert_eq!((ended.redact_at(), ended.wallet_error), (redact_at, None));
            assert_eq!(ended.credential_types(), ["vc+sd-jwt"]);
            assert_eq!(ended.notification().status, status.as_str());
            let issuers: Vec<_> = ended.issuer_ids().collect();
            assert_eq!(issuers, [ended.notification().issuer_id]);
        }
    }

    #[test]
    fn the_wallets_error_is_part_of_it() {
        let wallet_error = Some(WalletError::AccessDenied);
        let declined = Phase::Failed { at: AT, reason: Reason::WalletError, wallet_error };
        let session = session(declined);
        let ended = session.settlement().unwrap();
        assert_eq!((ended.reason, ended.wallet_error), (Some(Reason::WalletError), wallet_error));
    }

    #[test]
    fn only_encrypted_offers_leave_a_key_to_erase() {
        let mut session = session(Phase::Expired { at: AT });
        assert!(!session.settlement().unwrap().spends_key());
        for offer in session.offers.iter_mut() {
            offer.shape = crate::session::RequestShape::jar();
        }
        assert!(session.settlement().unwrap().spends_key());
    }
}
