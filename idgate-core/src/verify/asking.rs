//! Status, last of all checks (decisions 7): a verification waits here while the embedder fetches
//! what it needs.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::proof::AwaitingStatus;
use super::report::Report;
use super::{Basis, Step, Verification};
use crate::error::{NotAnAnswer, VerifyError};
use crate::ids::IssuerId;
use crate::request::CredentialRequest;
use crate::revocation::{
    Inquiry, Need, StatusContext, Supplied, VerifiedSource, check_count, needs_of,
};
use crate::session::{Input, Session, Transition};
use crate::time::UnixMillis;

/// What was presented, in the order of the request: three lists of one length.
pub(super) struct Presented<'s> {
    /// What each was asked for as. Credentials that were left out, as the request allows, are not here.
    pub(super) asked: Vec<&'s CredentialRequest>,
    pub(super) awaiting: Vec<AwaitingStatus>,
    pub(super) inquiries: Vec<Inquiry>,
    /// The origin of the page whose browser brought the answer.
    pub(super) origin: Option<&'s str>,
}

/// Credentials that are good but for their status.
pub(super) struct Asking<'s> {
    pub(super) presented: Presented<'s>,
    pub(super) report: Report,
    /// PENDING to VERIFYING, once something has to be fetched.
    hold: Option<Transition>,
    /// Whether the embedder went out, and so has committed the hold.
    fetched: bool,
    /// Every source that was asked for.
    asked: BTreeSet<Need>,
    /// How many they were when the hold was made.
    asked_with_hold: usize,
    /// What turned out authentic: who signed a list may have the same CRL as who signed the
    /// credential, and a source is asked once.
    crls: Vec<VerifiedSource>,
}

impl<'s> Asking<'s> {
    pub(super) fn new(presented: Presented<'s>, report: Report) -> Self {
        let (asked, crls) = (BTreeSet::new(), Vec::new());
        let (hold, fetched, asked_with_hold) = (None, false, 0);
        Self { presented, report, hold, fetched, asked, asked_with_hold, crls }
    }

    /// The session that the verdict applies to: as it was, or as the hold left it.
    pub(super) fn session<'a>(&'a self, before: &'a Session) -> &'a Session {
        match &self.hold {
            Some(hold) if self.fetched => &hold.session,
            _ => before,
        }
    }

    /// Bounds what one answer asks for, over all rounds.
    pub(super) fn check_count(&mut self) -> Result<(), VerifyError> {
        check_count(&self.presented.inquiries, &mut self.asked)
    }

    /// The transition to commit before the next fetch. Once it is committed, sources that came up
    /// since bring one that changes nothing: committing it does no harm, and neither does leaving it
    /// out.
    fn next_hold(&self, hold: &Transition) -> Transition {
        let mut next = hold.clone();
        if self.fetched && self.asked.len() > self.asked_with_hold {
            next.from = next.session.revision();
            next.effects.clear();
        }
        next
    }
}

impl<'v> Basis<'v> {
    /// Against what the status of `credential` is judged. `None`: its trust entry is gone.
    pub(super) fn status_context(
        self,
        credential: &CredentialRequest,
        session: &Session,
        now: UnixMillis,
    ) -> Option<StatusContext<'v>> {
        Some(StatusContext {
            provider: self.provider,
            issuer: self.trust.entry(&credential.issuer_id)?,
            trust: Some(self.trust),
            livemode: session.livemode,
            on_unknown: session.request.on_unknown_revocation,
            now,
        })
    }
}

impl Verification<'_> {
    /// Gives back what came of `need`, at `now`, after the hold was committed. What turns out
    /// authentic comes back, for a cache: see [`Verification::reuse`].
    ///
    /// A need that was not asked, or was answered, changes nothing.
    pub fn supply(
        &mut self,
        need: &Need,
        what: Supplied<'_>,
        now: UnixMillis,
    ) -> Vec<VerifiedSource> {
        self.now = self.now.max(now);
        if let Some(asking) = &mut self.asking {
            asking.fetched |= asking.hold.is_some();
        }
        let mut authentic: Vec<VerifiedSource> = Vec::new();
        self.each_inquiry(|inquiry, context| {
            if authentic.iter().any(|source| inquiry.reuse(source, context)) {
                return;
            }
            authentic.extend(inquiry.supply(need, what, context));
        });
        authentic.iter().for_each(|source| self.remember(source));
        authentic
    }

    /// The trust entries whose credentials ask for `need`, in the order of the request: whoever
    /// bounds what it fetches can do so for each of them.
    pub fn issuers_of(&self, need: &Need) -> Vec<&IssuerId> {
        let presented = self.asking.iter().map(|asking| &asking.presented);
        let asked =
            presented.flat_map(|presented| presented.asked.iter().zip(&presented.inquiries));
        let mut issuers: Vec<_> = asked
            .filter(|(_, inquiry)| inquiry.needs().any(|other| other == *need))
            .map(|(credential, _)| &credential.issuer_id)
            .collect();
        issuers.dedup();
        issuers
    }

    /// Answers a need from what an earlier verification authenticated, without a fetch. When all
    /// needs are answered so, no hold is committed: call [`Verification::step`] at once.
    ///
    /// `false`: the source does not serve here: it is for another issuer, trust snapshot or mode,
    /// it is over, or nothing asks for it.
    pub fn reuse(&mut self, source: &VerifiedSource) -> bool {
        let mut served = false;
        self.each_inquiry(|inquiry, context| served |= inquiry.reuse(source, context));
        if served {
            self.remember(source);
        }
        served
    }

    /// Keeps a CRL for questions that come up later in this verification, and answers those that a
    /// status list has just raised.
    fn remember(&mut self, source: &VerifiedSource) {
        let Some(asking) = &mut self.asking else { return };
        match source {
            VerifiedSource::Crl { .. } => asking.crls.push(source.clone()),
            VerifiedSource::StatusList(_) => {
                let crls = core::mem::take(&mut asking.crls);
                for crl in &crls {
                    self.each_inquiry(|inquiry, context| {
                        inquiry.reuse(crl, context);
                    });
                }
                if let Some(asking) = &mut self.asking {
                    asking.crls = crls;
                }
            }
        }
    }

    fn each_inquiry(&mut self, mut each: impl FnMut(&mut Inquiry, &StatusContext<'_>)) {
        let Some(asking) = &mut self.asking else { return };
        let (session, now) = (self.session, self.now);
        let Presented { asked, inquiries, .. } = &mut asking.presented;
        for (credential, inquiry) in asked.iter().zip(inquiries) {
            if let Some(context) = self.basis.status_context(credential, session, now) {
                each(inquiry, &context);
            }
        }
    }

    /// Asks for what is needed; `None`: nothing is, any more.
    pub(super) fn ask(&self, asking: &mut Asking<'_>) -> Result<Option<Step>, NotAnAnswer> {
        let needs = needs_of(&asking.presented.inquiries);
        if needs.is_empty() {
            return Ok(None);
        }
        let hold = match &asking.hold {
            Some(hold) => hold,
            None => {
                asking.asked_with_hold = asking.asked.len();
                asking.hold.insert(self.session.apply(Input::Hold, self.now)?)
            }
        };
        let hold = hold.clone();
        Ok(Some(Step::Need { hold: Box::new(asking.next_hold(&hold)), needs }))
    }
}
