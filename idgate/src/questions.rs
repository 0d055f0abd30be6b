//! A verification that has questions about status: of a session, or of one presentation.

use idgate_core::revocation::VerifiedSource;
use idgate_core::{IssuerId, Need, Presentation, Supplied, UnixMillis, Verification};

/// It takes answers.
pub(crate) trait Questions {
    /// Answers from a source that was authenticated before.
    fn reuse(&mut self, source: &VerifiedSource) -> bool;

    /// Takes the answer to one need; the sources that are authentic come back.
    fn supply(&mut self, need: &Need, what: Supplied<'_>, now: UnixMillis) -> Vec<VerifiedSource>;

    /// The issuers whose credentials have that need.
    fn issuers_of(&self, need: &Need) -> Vec<IssuerId>;
}

impl Questions for Verification<'_> {
    fn reuse(&mut self, source: &VerifiedSource) -> bool {
        Verification::reuse(self, source)
    }

    fn supply(&mut self, need: &Need, what: Supplied<'_>, now: UnixMillis) -> Vec<VerifiedSource> {
        Verification::supply(self, need, what, now)
    }

    fn issuers_of(&self, need: &Need) -> Vec<IssuerId> {
        Verification::issuers_of(self, need).into_iter().cloned().collect()
    }
}

impl Questions for Presentation<'_> {
    fn reuse(&mut self, source: &VerifiedSource) -> bool {
        Presentation::reuse(self, source)
    }

    fn supply(&mut self, need: &Need, what: Supplied<'_>, now: UnixMillis) -> Vec<VerifiedSource> {
        Presentation::supply(self, need, what, now).into_iter().collect()
    }

    fn issuers_of(&self, _: &Need) -> Vec<IssuerId> {
        vec![IssuerId::new(self.expected().issuer())]
    }
}
