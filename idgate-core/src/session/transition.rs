//! The only place that changes a phase: one `match` over (phase, input) (decisions 8).

use alloc::vec::Vec;

use crate::error::{Reason, ResponseError, WalletError};
use crate::ids::{Nonce, State};
use crate::limits::VERIFYING_LEASE_MS;
use crate::session::{Delivery, Effect, Phase, Revision, Session, Status, VerifiedResult};
use crate::time::UnixMillis;

/// A session as it shall be, and what follows from it. Commit it where the stored revision still
/// is `from`; a lost race means that another answer settled the session.
///
/// ```
/// #![deny(unused_must_use)]
/// # use idgate_core::{Session, Transition, UnixMillis};
/// fn open(session: &Session, now: UnixMillis, commit: impl FnOnce(Transition)) {
///     session.followed(now).map(commit);
/// }
/// ```
///
/// One that is dropped is a warning, here made an error.
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use idgate_core::{Session, Transition, UnixMillis};
/// fn open(session: &Session, now: UnixMillis, commit: impl FnOnce(Transition)) {
///     session.followed(now);
/// }
/// ```
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use idgate_core::Transition;
/// fn ignore(make: impl FnOnce() -> Transition) {
///     make();
/// }
/// ```
///
/// Nor can a program make one up: only transitions that the rules allow exist.
///
/// ```compile_fail,E0639
/// # use idgate_core::{Revision, Session, Transition};
/// fn settle(session: Session) -> Transition {
///     Transition { from: Revision(1), session, effects: Vec::new() }
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is stored until the transition is committed"]
#[non_exhaustive]
pub struct Transition {
    /// The revision that must be stored for this to apply; 0: insert.
    pub from: Revision,
    /// The session afterwards.
    pub session: Session,
    /// To carry out after the commit, in order.
    pub effects: Vec<Effect>,
}

/// What can happen to a session.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A person followed `/open`, or a wallet fetched the request.
    Followed,
    /// An answer is good so far; its status must be asked for.
    Hold,
    /// The process that verified died.
    LeaseLost,
    /// Whoever verified could not go on, by no fault of the answer.
    Released,
    /// An answer was evaluated and is genuine.
    Verified(VerifiedResult),
    /// An answer was evaluated and refused.
    Failed(Reason),
    /// The wallet presents nothing and says why.
    Declined(WalletError),
    /// Its time is over.
    Expired,
}

impl Session {
    /// Somebody followed the link: CREATED becomes PENDING. `None` when nothing changes.
    #[must_use = "nothing is stored until the transition is committed"]
    pub fn followed(&self, now: UnixMillis) -> Option<Transition> {
        if self.status_at(now) != Status::Created {
            return None;
        }
        self.apply(Input::Followed, now).ok()
    }

    /// Materialises the expiry. `None` while it is not due, or when the session is settled.
    #[must_use = "nothing is stored until the transition is committed"]
    pub fn expired(&self, now: UnixMillis) -> Option<Transition> {
        if self.status_at(now) != Status::Expired {
            return None;
        }
        self.apply(Input::Expired, now).ok()
    }

    /// Gives up a verification whose lease is over: PENDING again, or EXPIRED.
    #[must_use = "nothing is stored until the transition is committed"]
    pub fn lease_lost(&self, now: UnixMillis) -> Option<Transition> {
        match (&self.phase, self.status_at(now)) {
            (Phase::Verifying { .. }, Status::Pending) => self.apply(Input::LeaseLost, now).ok(),
            (Phase::Verifying { .. }, Status::Expired) => self.apply(Input::Expired, now).ok(),
            _ => None,
        }
    }

    /// Gives up a verification before its lease is over: PENDING again, or EXPIRED, so that the same
    /// answer is taken later. For an embedder that cannot go on by a fault of its own (no file
    /// descriptor, a full disk); what the outside caused goes to [`crate::Verification::supply`] as
    /// [`crate::status::Supplied::Unavailable`] instead, and decides. `self` is the session of the
    /// hold that was committed. `None` when nothing is held.
    #[must_use = "nothing is stored until the transition is committed"]
    pub fn released(&self, now: UnixMillis) -> Option<Transition> {
        let Phase::Verifying { .. } = self.phase else { return None };
        let input = if now < self.expires_at { Input::Released } else { Input::Expired };
        self.apply(input, now).ok()
    }

    /// The first transition of a session that was just made, in phase CREATED. A request by value
    /// is in the tenant's hands at once, so the session is PENDING in the same commit; one by
    /// reference waits for the wallet that fetches it.
    pub(crate) fn open(mut self) -> Transition {
        let from = self.revision;
        let mut effects = Vec::with_capacity(3);
        effects.push(publish(Status::Created, None, None, self.created_at));
        match self.profile.delivery {
            Delivery::Inline => {
                self.phase = Phase::Pending;
                effects.push(publish(Status::Pending, None, None, self.created_at));
            }
            Delivery::RequestUri => {}
        }
        effects.push(Effect::ExpireAt(self.expires_at));
        self.revision = next(from);
        Transition { from, session: self, effects }
    }

    /// What `input` makes of this session. Expiry is not looked at here: an answer that arrived in
    /// time may finish after it.
    ///
    /// # Errors
    /// [`ResponseError::SessionClosed`]: the phase does not take this input.
    pub(crate) fn apply(&self, input: Input, now: UnixMillis) -> Result<Transition, ResponseError> {
        use Phase::{Created, Expired, Failed, Pending, Verified, Verifying};
        let mut result = None;
        let phase = match (&self.phase, input) {
            (Created, Input::Followed) | (Verifying { .. }, Input::LeaseLost | Input::Released) => {
                Pending
            }
            (Created | Pending, Input::Hold) => hold(now),
            (Verifying { lease_until }, Input::Hold) if now >= *lease_until => hold(now),
            (Created | Pending | Verifying { .. }, Input::Verified(verified)) => {
                result = Some(verified);
                Verified { at: now }
            }
            (Created | Pending | Verifying { .. }, Input::Failed(reason)) => {
                Failed { at: now, reason, wallet_error: None }
            }
            (Created | Pending | Verifying { .. }, Input::Declined(error)) => {
                Failed { at: now, reason: Reason::WalletError, wallet_error: Some(error) }
            }
            (Verifying { lease_until }, Input::Expired) if now < *lease_until => {
                Expired { at: now }
            }
            (Created | Pending | Verifying { .. }, Input::Expired) => Expired { at: self.expiry() },
            (Verified { .. } | Failed { .. } | Expired { .. }, _)
            | (Pending | Verifying { .. }, Input::Followed)
            | (Created | Pending, Input::LeaseLost | Input::Released)
            | (Verifying { .. }, Input::Hold) => return Err(ResponseError::SessionClosed),
        };
        Ok(self.with(phase, result, now))
    }

    fn with(&self, phase: Phase, result: Option<VerifiedResult>, now: UnixMillis) -> Transition {
        let mut session = Self { phase, result, revision: next(self.revision), ..self.clone() };
        if session.settled_at().is_some() {
            // Nothing can be answered any more.
            session.nonce = Nonce::new("");
            session.state = State::new("");
            session.encryption_key = None;
        }
        let effects = session.effects(now);
        Transition { from: self.revision, session, effects }
    }

    /// What follows from the phase that was just entered.
    fn effects(&self, now: UnixMillis) -> Vec<Effect> {
        let (status, reason) = match &self.phase {
            Phase::Created => (Status::Created, None),
            Phase::Pending => (Status::Pending, None),
            Phase::Verifying { .. } => (Status::Verifying, None),
            Phase::Verified { .. } => (Status::Verified, None),
            Phase::Failed { reason, .. } => (Status::Failed, Some(*reason)),
            Phase::Expired { .. } => (Status::Expired, Some(Reason::SessionExpired)),
        };
        let mut effects = Vec::with_capacity(2);
        let occurred_at = self.settled_at().unwrap_or(now);
        effects.push(publish(status, reason, self.wallet_error(), occurred_at));
        effects.extend(self.result.as_ref().map(|r| Effect::RedactClaimsAt(r.redact_at())));
        effects
    }
}

fn hold(now: UnixMillis) -> Phase {
    Phase::Verifying { lease_until: now.plus(VERIFYING_LEASE_MS) }
}

fn next(revision: Revision) -> Revision {
    Revision(revision.0.saturating_add(1))
}

fn publish(
    status: Status,
    reason: Option<Reason>,
    wallet_error: Option<WalletError>,
    occurred_at: UnixMillis,
) -> Effect {
    Effect::PublishStatus { status, reason, wallet_error, occurred_at }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::request::fixtures::{self, NOW};

    const LATER: UnixMillis = UnixMillis(NOW.0 + 1000);
    const END: UnixMillis = UnixMillis(NOW.0 + 300_000);

    fn session(phase: Phase) -> Session {
        let mut session = fixtures::session(fixtures::one_credential());
        session.phase = phase;
        session
    }

    fn verified(at: UnixMillis) -> Input {
        Input::Verified(VerifiedResult::new("{}".into(), "{}".into(), at))
    }

    fn settled() -> [Phase; 3] {
        let at = NOW;
        let reason = Reason::NonceMismatch;
        let failed = Phase::Failed { at, reason, wallet_error: None };
        [Phase::Verified { at }, failed, Phase::Expired { at }]
    }

    #[test]
    fn an_inline_session_is_created_and_pending_in_one_commit() {
        let transition = fixtures::creation(fixtures::one_credential());
        assert_eq!(transition.from, Revision(0));
        assert_eq!(transition.session.revision(), Revision(1));
        assert_eq!(transition.session.phase(), &Phase::Pending);
        let expected = [
            publish(Status::Created, None, None, NOW),
            publish(Status::Pending, None, None, NOW),
            Effect::ExpireAt(END),
        ];
        assert_eq!(transition.effects, expected);
    }

    #[cfg(feature = "rustcrypto")]
    #[test]
    fn a_session_by_reference_is_created_and_waits_for_a_wallet() {
        let (tenant, mut entropy) = (crate::ids::TenantId::new("cli_1"), Default::default());
        let verifier = fixtures::jar_verifier();
        let request = fixtures::one_credential();
        let made = verifier.create_session(
            request,
            tenant,
            true,
            &mut entropy as &mut fixtures::CountingEntropy,
            NOW,
        );
        let transition = made.unwrap();
        assert_eq!(transition.session.phase(), &Phase::Created);
        let expected = [publish(Status::Created, None, None, NOW), Effect::ExpireAt(END)];
        assert_eq!(transition.effects, expected);
    }

    #[test]
    fn a_good_answer_settles_and_is_redacted_30_seconds_later() {
        let transition = session(Phase::Pending).apply(verified(LATER), LATER).unwrap();
        assert_eq!((transition.from, transition.session.revision), (Revision(1), Revision(2)));
        assert_eq!(transition.session.phase, Phase::Verified { at: LATER });
        assert!(transition.session.result_at(LATER).is_some());
        let expected = [
            publish(Status::Verified, None, None, LATER),
            Effect::RedactClaimsAt(LATER.plus(30_000)),
        ];
        assert_eq!(transition.effects, expected);
    }

    #[test]
    fn a_refused_answer_settles_with_its_reason() {
        let reason = Reason::SdHashMismatch;
        let transition = session(Phase::Pending).apply(Input::Failed(reason), LATER).unwrap();
        assert_eq!(
            transition.session.phase,
            Phase::Failed { at: LATER, reason, wallet_error: None }
        );
        assert_eq!(transition.effects, [publish(Status::Failed, Some(reason), None, LATER)]);
    }

    #[test]
    fn what_the_wallet_said_stays_with_the_session() {
        let reason = Some(Reason::WalletError);
        for error in WalletError::ALL {
            let transition = session(Phase::Pending).apply(Input::Declined(*error), LATER).unwrap();
            let expected = publish(Status::Failed, reason, Some(*error), LATER);
            assert_eq!(transition.effects, [expected]);
            let again = Session::from_snapshot(&transition.session.to_snapshot()).unwrap();
            assert_eq!((again.reason_at(LATER), again.wallet_error()), (reason, Some(*error)));
        }
        for input in [Input::Failed(Reason::NonceMismatch), Input::Expired, verified(LATER)] {
            let settled = session(Phase::Pending).apply(input, LATER).unwrap().session;
            assert_eq!(settled.wallet_error(), None);
        }
    }

    /// What versions stored that did not keep it.
    #[test]
    fn a_wallet_error_without_its_name_is_another_one() {
        let phase = Phase::Failed { at: NOW, reason: Reason::WalletError, wallet_error: None };
        let stored = session(phase).to_snapshot();
        assert!(!String::from_utf8(stored.to_vec()).unwrap().contains("wallet_error\":"));
        let again = Session::from_snapshot(&stored).unwrap();
        assert_eq!(again.wallet_error(), Some(WalletError::Other));
    }

    #[test]
    fn an_answer_that_arrived_in_time_may_finish_after_expiry() {
        let phases = [Phase::Pending, Phase::Verifying { lease_until: END.plus(9) }];
        for phase in phases {
            let transition = session(phase).apply(verified(END), END.plus(5)).unwrap();
            assert_eq!(transition.session.status_at(END.plus(5)), Status::Verified);
        }
    }

    #[test]
    fn a_settled_session_takes_nothing() {
        for phase in settled() {
            let session = session(phase);
            let inputs = [
                Input::Followed,
                Input::Hold,
                Input::LeaseLost,
                Input::Released,
                verified(NOW),
                Input::Declined(WalletError::AccessDenied),
                Input::Expired,
            ];
            for input in inputs {
                let error = session.apply(input, LATER).unwrap_err();
                assert_eq!(error, ResponseError::SessionClosed);
            }
            assert!(session.followed(LATER).is_none());
            assert!(session.expired(END).is_none());
            assert!(session.lease_lost(END).is_none());
            assert!(session.released(LATER).is_none());
        }
    }

    #[test]
    fn hold_takes_a_lease_of_20_seconds() {
        let transition = session(Phase::Pending).apply(Input::Hold, LATER).unwrap();
        let lease_until = LATER.plus(20_000);
        assert_eq!(transition.session.phase, Phase::Verifying { lease_until });
        assert_eq!(transition.effects, [publish(Status::Verifying, None, None, LATER)]);
        assert!(!transition.session.nonce.expose().is_empty());
    }

    #[test]
    fn a_verification_cannot_be_held_twice_within_its_lease() {
        let session = session(Phase::Verifying { lease_until: LATER });
        let error = session.apply(Input::Hold, LATER.minus(1)).unwrap_err();
        assert_eq!(error, ResponseError::SessionClosed);
        assert!(session.apply(Input::Hold, LATER).is_ok());
    }

    #[test]
    fn a_lost_lease_is_pending_or_expired() {
        let session = session(Phase::Verifying { lease_until: LATER });
        assert!(session.lease_lost(LATER.minus(1)).is_none());
        let pending = session.lease_lost(LATER).unwrap();
        assert_eq!(pending.session.phase, Phase::Pending);
        assert_eq!(pending.effects, [publish(Status::Pending, None, None, LATER)]);
        let expired = session.lease_lost(END).unwrap();
        assert_eq!(expired.session.phase, Phase::Expired { at: END });
        assert!(fixtures::session(fixtures::one_credential()).lease_lost(END).is_none());
    }

    #[test]
    fn a_released_verification_is_pending_again_or_expired() {
        let held = session(Phase::Verifying { lease_until: END.plus(10_000) });
        let pending = held.released(LATER).unwrap();
        assert_eq!((pending.from, &pending.session.phase), (Revision(1), &Phase::Pending));
        assert_eq!(pending.effects, [publish(Status::Pending, None, None, LATER)]);
        assert!(pending.session.accepts_response(LATER));
        let expired = held.released(END.plus(5)).unwrap();
        assert_eq!(expired.session.phase, Phase::Expired { at: END.plus(5) });
        for phase in [Phase::Created, Phase::Pending] {
            assert!(session(phase).released(LATER).is_none());
        }
    }

    #[test]
    fn expiry_settles_at_expires_at_however_late_it_is_stored() {
        let session = session(Phase::Pending);
        assert!(session.expired(END.minus(1)).is_none());
        let transition = session.expired(END.plus(77)).unwrap();
        assert_eq!(transition.session.phase, Phase::Expired { at: END });
        let expected = publish(Status::Expired, Some(Reason::SessionExpired), None, END);
        assert_eq!(transition.effects, [expected]);
    }

    #[test]
    fn a_verification_within_its_lease_does_not_expire() {
        let lease_until = END.plus(10);
        let session = session(Phase::Verifying { lease_until });
        assert!(session.expired(END.plus(9)).is_none());
        let transition = session.expired(END.plus(10)).unwrap();
        assert_eq!(transition.session.phase, Phase::Expired { at: lease_until });
    }

    #[test]
    fn following_the_link_makes_a_created_session_pending() {
        let transition = session(Phase::Created).followed(LATER).unwrap();
        assert_eq!(transition.session.phase, Phase::Pending);
        assert_eq!(transition.effects, [publish(Status::Pending, None, None, LATER)]);
        assert!(session(Phase::Created).followed(END).is_none());
        assert!(session(Phase::Pending).followed(LATER).is_none());
        assert!(session(Phase::Verifying { lease_until: END }).followed(LATER).is_none());
    }

    #[test]
    fn nonce_and_state_die_with_the_settlement() {
        let pending = session(Phase::Pending);
        for input in [verified(LATER), Input::Declined(WalletError::AccessDenied), Input::Expired] {
            let settled = pending.apply(input, LATER).unwrap().session;
            assert_eq!((settled.nonce.expose(), settled.state.expose()), ("", ""));
        }
    }
}
