//! Status, last of all checks (decisions 7): a verification waits here while the embedder fetches
//! what it needs.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::check::Report;
use super::proof::AwaitingStatus;
use super::{Step, Verification};
use crate::error::ResponseError;
use crate::request::CredentialRequest;
use crate::session::{Input, Session, Transition};
use crate::status::{Inquiry, Need, StatusContext, Supplied, VerifiedSource, needs_of};
use crate::time::UnixMillis;
use crate::verifier::Verifier;

/// Credentials that are good but for their status.
pub(super) struct Asking {
    pub(super) awaiting: Vec<AwaitingStatus>,
    /// One for each credential.
    pub(super) inquiries: Vec<Inquiry>,
    pub(super) report: Report,
    /// PENDING to VERIFYING, once something has to be fetched.
    hold: Option<Transition>,
    /// Whether the embedder went out, and so has committed the hold.
    fetched: bool,
}

impl Asking {
    pub(super) fn new(
        awaiting: Vec<AwaitingStatus>,
        inquiries: Vec<Inquiry>,
        report: Report,
    ) -> Self {
        Self { awaiting, inquiries, report, hold: None, fetched: false }
    }

    /// The session that the verdict applies to: as it was, or as the hold left it.
    pub(super) fn session<'a>(&'a self, before: &'a Session) -> &'a Session {
        match &self.hold {
            Some(hold) if self.fetched => &hold.session,
            _ => before,
        }
    }
}

impl Verifier {
    /// Against what the status of `credential` is judged. `None`: its trust entry is gone.
    pub(super) fn status_context<'e>(
        &'e self,
        credential: &CredentialRequest,
        livemode: bool,
        now: UnixMillis,
    ) -> Option<StatusContext<'e>> {
        Some(StatusContext {
            provider: &self.provider,
            issuer: self.trust.entry(&credential.issuer_id)?,
            trust_version: self.trust.version(),
            livemode,
            format: credential.format,
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
        authentic
    }

    /// Answers a need from what an earlier verification authenticated, without a fetch. When all
    /// needs are answered so, no hold is committed: call [`Verification::step`] at once.
    ///
    /// `false`: the source does not serve here: it is for another issuer, trust snapshot or mode,
    /// it is over, or nothing asks for it.
    pub fn reuse(&mut self, source: &VerifiedSource) -> bool {
        let mut served = false;
        self.each_inquiry(|inquiry, context| served |= inquiry.reuse(source, context));
        served
    }

    fn each_inquiry(&mut self, mut each: impl FnMut(&mut Inquiry, &StatusContext<'_>)) {
        let Some(asking) = &mut self.asking else { return };
        let (livemode, now) = (self.session.livemode, self.now);
        let asked = &self.session.request.credentials;
        for (credential, inquiry) in asked.iter().zip(&mut asking.inquiries) {
            if let Some(context) = self.verifier.status_context(credential, livemode, now) {
                each(inquiry, &context);
            }
        }
    }

    /// Asks for what is needed; `None`: nothing is, any more.
    pub(super) fn ask(&self, asking: &mut Asking) -> Result<Option<Step>, ResponseError> {
        let needs = needs_of(&asking.inquiries);
        if needs.is_empty() {
            return Ok(None);
        }
        let hold = match &asking.hold {
            Some(hold) => hold,
            None => asking.hold.insert(self.session.apply(Input::Hold, self.now)?),
        };
        Ok(Some(Step::Need { hold: Box::new(hold.clone()), needs }))
    }
}
