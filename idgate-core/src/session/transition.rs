//! The rules for a session's phase: how a session reads as time passes, and, in one `match` over
//! (phase, input), how it changes.

use alloc::vec::Vec;

use crate::error::{NotAnAnswer, Reason, WalletError};
use crate::limits::VERIFYING_LEASE_MS;
use crate::session::{
    Delivery, Effect, Offer, Phase, Revision, Session, SessionResult, Settlement, Status,
};
use crate::time::UnixMillis;

/// A new state of a session and its effects. Commit it only if the stored revision is still `from`;
/// a lost race means that another answer settled the session.
///
/// ```
/// #![deny(unused_must_use)]
/// # use idgate_core::{Session, Transition, UnixMillis};
/// fn open(session: &Session, now: UnixMillis, commit: impl FnOnce(Transition)) {
///     session.released(now).map(commit);
/// }
/// ```
///
/// A dropped transition causes a warning, which is an error here.
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// # use idgate_core::{Session, Transition, UnixMillis};
/// fn open(session: &Session, now: UnixMillis, commit: impl FnOnce(Transition)) {
///     session.released(now);
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
/// A program cannot construct one: only transitions that the rules allow exist.
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
    /// The session after the transition.
    pub session: Session,
    /// The actions to carry out after the commit, in order.
    pub effects: Vec<Effect>,
}

/// The events that change a session.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A person followed `/open`, or a wallet fetched the request.
    Followed,
    /// An answer has passed all checks so far, and its status must be fetched.
    Hold,
    /// The process that was verifying has died.
    LeaseLost,
    /// The verifying process could not go on, through no fault of the answer.
    Released,
    /// An answer was evaluated and is genuine.
    Verified(SessionResult),
    /// An answer was evaluated and refused.
    Failed(Reason),
    /// The wallet presents nothing and reports an error.
    Declined(WalletError),
    /// The session's lifetime is over.
    Expired,
    /// The client that asked is revoked.
    Revoked,
    /// The person cancelled.
    Cancelled,
}

impl Phase {
    /// Returns the stored status; [`Session::status_at`] also takes the time into account.
    pub const fn status(&self) -> Status {
        match self {
            Self::Created => Status::Created,
            Self::Pending => Status::Pending,
            Self::Verifying { .. } => Status::Verifying,
            Self::Verified { .. } => Status::Verified,
            Self::Failed { .. } => Status::Failed,
            Self::Expired { .. } => Status::Expired,
        }
    }

    /// The time when the verifying process loses its lease; `None` unless VERIFYING.
    pub const fn lease_until(&self) -> Option<UnixMillis> {
        match self {
            Self::Verifying { lease_until } => Some(*lease_until),
            _ => None,
        }
    }
}

/// Reading the phase.
impl Session {
    /// Returns the status at `now`: an open session reads EXPIRED after its lifetime, and a
    /// verification reads PENDING after its lease.
    pub fn status_at(&self, now: UnixMillis) -> Status {
        match &self.phase {
            Phase::Created | Phase::Pending | Phase::Verifying { .. } if now >= self.expiry() => {
                Status::Expired
            }
            Phase::Verifying { lease_until } if now >= *lease_until => Status::Pending,
            phase => phase.status(),
        }
    }

    /// The reason for the end, if FAILED or EXPIRED at `now`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn reason_at(&self, now: UnixMillis) -> Option<Reason> {
        match (&self.phase, self.status_at(now)) {
            (Phase::Failed { reason, .. }, _) => Some(*reason),
            (_, Status::Expired) => Some(Reason::SessionExpired),
            _ => None,
        }
    }

    /// The wallet's error: present only if the session is FAILED with [`Reason::WalletError`]
    /// (OpenID4VP 8.5).
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn wallet_error(&self) -> Option<WalletError> {
        match &self.phase {
            Phase::Failed { reason: Reason::WalletError, wallet_error, .. } => {
                Some(wallet_error.unwrap_or(WalletError::Other))
            }
            _ => None,
        }
    }

    /// Whether the session takes a wallet's answer at `now`.
    pub fn accepts_response(&self, now: UnixMillis) -> bool {
        matches!(self.status_at(now), Status::Created | Status::Pending)
    }

    /// The time of the settlement. A session that expired was settled when its lifetime ended,
    /// however late that was stored.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn settled_at(&self) -> Option<UnixMillis> {
        match &self.phase {
            Phase::Verified { at } | Phase::Failed { at, .. } | Phase::Expired { at } => Some(*at),
            Phase::Created | Phase::Pending | Phase::Verifying { .. } => None,
        }
    }

    /// The end of the session; `None` while it is open.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn settlement(&self) -> Option<Settlement<'_>> {
        let at = self.settled_at()?;
        Some(Settlement {
            session: self,
            status: self.phase.status(),
            at,
            reason: self.reason_at(at),
            wallet_error: self.wallet_error(),
        })
    }

    /// The time at which an open session expires if nothing happens before.
    fn expiry(&self) -> UnixMillis {
        self.phase.lease_until().map_or(self.expires_at, |lease| self.expires_at.max(lease))
    }
}

/// Changing the phase.
impl Session {
    /// A person or a wallet followed the link: CREATED becomes PENDING. `None` if nothing changes.
    #[must_use = "nothing is stored until the transition is committed"]
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn followed(&self, now: UnixMillis) -> Option<Transition> {
        if self.status_at(now) != Status::Created {
            return None;
        }
        self.apply(Input::Followed, now).ok()
    }

    /// Expires the session. `None` if the expiry is not due, or if the session is settled.
    #[must_use = "nothing is stored until the transition is committed"]
    pub fn expired(&self, now: UnixMillis) -> Option<Transition> {
        if self.status_at(now) != Status::Expired {
            return None;
        }
        self.apply(Input::Expired, now).ok()
    }

    /// Ends an open session whose client is revoked: FAILED with [`Reason::ClientRevoked`], or
    /// EXPIRED if its lifetime is over. `None` if it is settled.
    #[must_use = "nothing is stored until the transition is committed"]
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn client_revoked(&self, now: UnixMillis) -> Option<Transition> {
        self.expired(now).or_else(|| self.apply(Input::Revoked, now).ok())
    }

    /// Ends a session that is waiting for an answer because the person cancelled: FAILED with
    /// [`Reason::Cancelled`]. `None` while an answer is being verified, and if the session is
    /// settled.
    #[must_use = "nothing is stored until the transition is committed"]
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn cancelled(&self, now: UnixMillis) -> Option<Transition> {
        if !self.accepts_response(now) {
            return None;
        }
        self.apply(Input::Cancelled, now).ok()
    }

    /// Ends a verification whose lease is over: PENDING again, or EXPIRED.
    #[must_use = "nothing is stored until the transition is committed"]
    pub fn lease_lost(&self, now: UnixMillis) -> Option<Transition> {
        match (&self.phase, self.status_at(now)) {
            (Phase::Verifying { .. }, Status::Pending) => self.apply(Input::LeaseLost, now).ok(),
            (Phase::Verifying { .. }, Status::Expired) => self.apply(Input::Expired, now).ok(),
            _ => None,
        }
    }

    /// Ends a verification before its lease is over: PENDING again, so that the same answer is
    /// accepted later, or EXPIRED. `self` is the session of the committed hold, the transition to
    /// VERIFYING. `None` if there is no hold.
    ///
    /// Use it when you cannot continue because of a fault of your own machine, for example if it
    /// has no file descriptor left or its disk is full. Report external faults to
    /// [`crate::Verification::supply`] as [`crate::revocation::Supplied::Unavailable`] instead;
    /// they count in the decision.
    #[must_use = "nothing is stored until the transition is committed"]
    pub fn released(&self, now: UnixMillis) -> Option<Transition> {
        let Phase::Verifying { .. } = self.phase else { return None };
        let input = if now < self.expires_at { Input::Released } else { Input::Expired };
        self.apply(input, now).ok()
    }

    /// The first transition of a new session in phase CREATED. The tenant already has a request by
    /// value or to a browser, so the session is PENDING in the same commit. A session whose
    /// requests all go by reference waits for the wallet that fetches one.
    pub(crate) fn open(mut self) -> Transition {
        let from = self.revision;
        let mut effects = Vec::with_capacity(3);
        effects.push(publish(Status::Created, None, None, self.created_at));
        let handed_over = self.request.dc_api.as_ref().is_some_and(|pages| pages.handed_over);
        let is_out = |offer: &Offer| match offer.shape.delivery {
            Delivery::Inline => true,
            Delivery::RequestUri => false,
            Delivery::Browser => handed_over,
        };
        if self.offers.iter().any(is_out) {
            self.phase = Phase::Pending;
            effects.push(publish(Status::Pending, None, None, self.created_at));
        }
        effects.push(Effect::ExpireAt(self.expires_at));
        self.revision = next(from);
        Transition { from, session: self, effects }
    }

    /// Applies `input` to this session. Expiry is not checked here: an answer that arrived in time
    /// may finish after it.
    ///
    /// # Errors
    /// [`NotAnAnswer::SessionClosed`]: the phase does not allow this input.
    pub(crate) fn apply(&self, input: Input, now: UnixMillis) -> Result<Transition, NotAnAnswer> {
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
            (Created | Pending | Verifying { .. }, Input::Revoked) => {
                Failed { at: now, reason: Reason::ClientRevoked, wallet_error: None }
            }
            (Created | Pending, Input::Cancelled) => cancelled(now),
            (Verifying { lease_until }, Input::Cancelled) if now >= *lease_until => cancelled(now),
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
            | (Verifying { .. }, Input::Hold | Input::Cancelled) => {
                return Err(NotAnAnswer::SessionClosed);
            }
        };
        Ok(self.with(phase, result, now))
    }

    fn with(&self, phase: Phase, result: Option<SessionResult>, now: UnixMillis) -> Transition {
        let mut session = Self { phase, result, revision: next(self.revision), ..self.clone() };
        if session.settled_at().is_some() {
            session.offers.iter_mut().for_each(Offer::close);
        }
        let effects = session.effects(now);
        Transition { from: self.revision, session, effects }
    }

    /// The effects of the phase that was just entered.
    fn effects(&self, now: UnixMillis) -> Vec<Effect> {
        let mut effects = Vec::with_capacity(2);
        match self.settlement() {
            Some(ended) => {
                effects.push(publish(ended.status, ended.reason, ended.wallet_error, ended.at));
            }
            None => effects.push(publish(self.phase.status(), None, None, now)),
        }
        effects.extend(self.result.as_ref().map(|r| Effect::RedactClaimsAt(r.redact_at())));
        effects
    }
}

fn hold(now: UnixMillis) -> Phase {
    Phase::Verifying { lease_until: now.plus(VERIFYING_LEASE_MS) }
}

fn cancelled(now: UnixMillis) -> Phase {
    Phase::Failed { at: now, reason: Reason::Cancelled, wallet_error: None }
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
mod tests;
