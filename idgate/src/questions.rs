//! A verification that needs status sources: of a session, or of one presentation.

use idgate_core::revocation::VerifiedSource;
use idgate_core::verify::Scope;
use idgate_core::{IssuerId, Need, Presentation, Supplied, UnixMillis, Verification};

/// A verification that needs status sources: a [`Verification`] or a [`Presentation`].
pub trait Questions: sealed::Sealed {
    /// Answers from a source that was authenticated before; `false`: it does not apply here.
    fn reuse(&mut self, source: &VerifiedSource) -> bool;

    /// Takes the answer to one need, and returns the authentic sources.
    fn supply(&mut self, need: &Need, what: Supplied<'_>, now: UnixMillis) -> Vec<VerifiedSource>;

    /// The issuers whose credentials have this need.
    fn issuers_of(&self, need: &Need) -> Vec<IssuerId>;

    /// The verifications that may use its sources.
    fn scope(&self) -> Scope;
}

impl sealed::Sealed for Verification<'_> {}

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

    fn scope(&self) -> Scope {
        Verification::scope(self)
    }
}

impl sealed::Sealed for Presentation<'_> {}

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

    fn scope(&self) -> Scope {
        Presentation::scope(self)
    }
}

mod sealed {
    /// Prevents other implementations.
    pub trait Sealed {}
}
