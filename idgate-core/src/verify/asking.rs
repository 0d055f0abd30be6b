//! Status, the last of all checks, so that nothing is fetched for a credential that fails another
//! check. A verification waits here while the embedder fetches the needed sources.

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

/// The presentations, in the order of the request: three lists of the same length.
pub(super) struct Presented<'s> {
    /// The credential request that each presentation answers. Credentials that the answer leaves
    /// out, as the request allows, are not included.
    pub(super) asked: Vec<&'s CredentialRequest>,
    pub(super) awaiting: Vec<AwaitingStatus>,
    pub(super) inquiries: Vec<Inquiry>,
    /// The origin of the page whose browser delivered the answer.
    pub(super) origin: Option<&'s str>,
}

/// Credentials that passed every check except their status.
pub(super) struct Asking<'s> {
    pub(super) presented: Presented<'s>,
    pub(super) report: Report,
    /// PENDING to VERIFYING, once a source must be fetched.
    hold: Option<Transition>,
    /// Whether the embedder has fetched a source, and so has committed the hold.
    fetched: bool,
    /// All sources that were requested.
    asked: BTreeSet<Need>,
    /// The number of requested sources when the hold was made.
    asked_with_hold: usize,
    /// Authentic CRLs. The signer of a list may have the same CRL as the signer of the credential,
    /// and each source is requested once.
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

    /// Limits the sources that one answer requests, over all rounds.
    pub(super) fn check_count(&mut self) -> Result<(), VerifyError> {
        check_count(&self.presented.inquiries, &mut self.asked)
    }

    /// The transition to commit before the next fetch. After it is committed, a later round returns
    /// one that changes nothing: you may commit it or not.
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
    /// The context for judging the status of `credential`. `None`: its trust entry is gone.
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
    /// Supplies the answer to `need`, which came at `now`, after the hold was committed. An
    /// authentic source is returned for a cache: see [`Verification::reuse`].
    ///
    /// A need that was not requested, or was already answered, changes nothing.
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

    /// The trust entries whose credentials need this source, in the order of the request. An
    /// embedder can limit its fetches for each entry.
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

    /// Answers a need from a source that an earlier verification authenticated, without a fetch. If
    /// all needs are answered like this, no hold is committed: call [`Verification::step`]
    /// directly.
    ///
    /// Returns `false` if the source cannot be used here: it is for another issuer, trust snapshot
    /// or mode, it has expired, or it is not requested.
    pub fn reuse(&mut self, source: &VerifiedSource) -> bool {
        let mut served = false;
        self.each_inquiry(|inquiry, context| served |= inquiry.reuse(source, context));
        if served {
            self.remember(source);
        }
        served
    }

    /// Keeps a CRL for later questions of this verification, and answers those that a status list
    /// has just raised.
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

    /// Requests the missing sources; `None`: none are missing.
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
