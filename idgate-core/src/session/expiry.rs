//! Expiry is decided by the clock at every read and write; storing it is only bookkeeping.

use crate::error::{Reason, WalletError};
use crate::session::{Phase, Session, Status, VerifiedResult};
use crate::time::UnixMillis;

impl Session {
    /// The status at `now`: an open session whose time is over reads EXPIRED, a verification whose
    /// lease is over reads PENDING.
    pub fn status_at(&self, now: UnixMillis) -> Status {
        match &self.phase {
            Phase::Verified { .. } => Status::Verified,
            Phase::Failed { .. } => Status::Failed,
            Phase::Expired { .. } => Status::Expired,
            Phase::Verifying { lease_until } if now < *lease_until => Status::Verifying,
            Phase::Created | Phase::Pending | Phase::Verifying { .. } if now >= self.expires_at => {
                Status::Expired
            }
            Phase::Created => Status::Created,
            Phase::Pending | Phase::Verifying { .. } => Status::Pending,
        }
    }

    /// Why it ended, when FAILED or EXPIRED at `now`.
    pub fn reason_at(&self, now: UnixMillis) -> Option<Reason> {
        match (&self.phase, self.status_at(now)) {
            (Phase::Failed { reason, .. }, _) => Some(*reason),
            (_, Status::Expired) => Some(Reason::SessionExpired),
            _ => None,
        }
    }

    /// What the wallet said instead of presenting something: there when the session is FAILED with
    /// [`Reason::WalletError`], and then only (OpenID4VP 8.5).
    pub fn wallet_error(&self) -> Option<WalletError> {
        match &self.phase {
            Phase::Failed { reason: Reason::WalletError, wallet_error, .. } => {
                Some(wallet_error.unwrap_or(WalletError::Other))
            }
            _ => None,
        }
    }

    /// Whether a wallet's answer can still be taken at `now`.
    pub fn accepts_response(&self, now: UnixMillis) -> bool {
        matches!(self.status_at(now), Status::Created | Status::Pending)
    }

    /// When it settled. A session that expired settled when its time was over, however late that
    /// was stored.
    pub fn settled_at(&self) -> Option<UnixMillis> {
        match &self.phase {
            Phase::Verified { at } | Phase::Failed { at, .. } | Phase::Expired { at } => Some(*at),
            Phase::Created | Phase::Pending | Phase::Verifying { .. } => None,
        }
    }

    /// Milliseconds from creation to settlement.
    pub fn latency_ms(&self) -> Option<u64> {
        Some(self.settled_at()?.since(self.created_at))
    }

    /// The result while it may be read: VERIFIED less than 30 seconds ago.
    pub fn result_at(&self, now: UnixMillis) -> Option<&VerifiedResult> {
        self.result.as_ref().filter(|result| {
            matches!(self.phase, Phase::Verified { .. }) && now < result.redact_at()
        })
    }

    /// Takes the result out, for an embedder that keeps it apart from the session.
    pub fn take_result(&mut self) -> Option<VerifiedResult> {
        self.result.take()
    }

    /// Puts back the result that the embedder kept apart. Only a VERIFIED session takes it.
    pub fn restore_result(&mut self, result: VerifiedResult) {
        if matches!(self.phase, Phase::Verified { .. }) {
            self.result = Some(result);
        }
    }

    /// The instant at which an open session expires when nothing happens before.
    pub(super) fn expiry(&self) -> UnixMillis {
        match &self.phase {
            Phase::Verifying { lease_until } => self.expires_at.max(*lease_until),
            _ => self.expires_at,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::request::fixtures::{self, NOW};

    const END: UnixMillis = UnixMillis(NOW.0 + 300_000);

    fn session(phase: Phase) -> Session {
        let mut session = fixtures::session(fixtures::one_credential());
        session.phase = phase;
        session
    }

    #[test]
    fn open_sessions_read_expired_from_expires_at_on() {
        for (phase, before) in
            [(Phase::Created, Status::Created), (Phase::Pending, Status::Pending)]
        {
            let session = session(phase);
            assert_eq!(session.expires_at(), END);
            assert_eq!(session.status_at(END.minus(1)), before);
            assert_eq!(session.reason_at(END.minus(1)), None);
            assert!(session.accepts_response(END.minus(1)));
            assert_eq!(session.status_at(END), Status::Expired);
            assert_eq!(session.reason_at(END), Some(Reason::SessionExpired));
            assert!(!session.accepts_response(END));
        }
    }

    #[test]
    fn a_verification_within_its_lease_outlives_expires_at() {
        let lease_until = END.plus(10);
        let session = session(Phase::Verifying { lease_until });
        for now in [END.minus(1), END, END.plus(9)] {
            assert_eq!(session.status_at(now), Status::Verifying);
            assert!(!session.accepts_response(now));
        }
        assert_eq!(session.status_at(lease_until), Status::Expired);
    }

    #[test]
    fn a_lost_lease_reads_pending() {
        let lease_until = NOW.plus(20_000);
        let session = session(Phase::Verifying { lease_until });
        assert_eq!(session.status_at(lease_until), Status::Pending);
        assert!(session.accepts_response(lease_until));
        assert_eq!(session.status_at(END), Status::Expired);
    }

    #[test]
    fn settled_sessions_never_expire() {
        let at = NOW.plus(5);
        let reason = Reason::NonceMismatch;
        for (phase, status, why) in [
            (Phase::Verified { at }, Status::Verified, None),
            (Phase::Failed { at, reason, wallet_error: None }, Status::Failed, Some(reason)),
            (Phase::Expired { at }, Status::Expired, Some(Reason::SessionExpired)),
        ] {
            let session = session(phase);
            for now in [at, END, END.plus(1_000_000)] {
                assert_eq!((session.status_at(now), session.reason_at(now)), (status, why));
                assert!(!session.accepts_response(now));
            }
            assert_eq!((session.settled_at(), session.latency_ms()), (Some(at), Some(5)));
        }
        assert_eq!(fixtures::session(fixtures::one_credential()).settled_at(), None);
    }

    #[test]
    fn the_result_is_readable_for_30_seconds() {
        let mut verified = session(Phase::Verified { at: NOW });
        verified.restore_result(VerifiedResult::new("{}".into(), "{}".into(), NOW));
        assert!(verified.result_at(NOW.plus(29_999)).is_some());
        assert!(verified.result_at(NOW.plus(30_000)).is_none());
        assert_eq!(verified.take_result().unwrap().claims(), "{}");
        assert!(verified.result_at(NOW).is_none());
    }

    #[test]
    fn only_a_verified_session_takes_a_result() {
        let mut pending = session(Phase::Pending);
        pending.restore_result(VerifiedResult::new("{}".into(), "{}".into(), NOW));
        assert!(pending.take_result().is_none());
    }
}
