//! The verifications that can use an authenticated status source.

use alloc::vec;
use alloc::vec::Vec;

use crate::ids::{CredentialFormat, IssuerId};
use crate::session::Session;
use crate::trust::snapshot::SameTrust;
use crate::trust::{Trust, TrustSnapshot};

/// The verifications that can use a [`VerifiedSource`](crate::revocation::VerifiedSource): the same
/// trust, the same mode, and the same issuers and formats. A cache stores its sources under it;
/// each reuse is checked again.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Scope {
    trust: SameTrust,
    livemode: bool,
    asked: Vec<(IssuerId, CredentialFormat)>,
}

impl Scope {
    pub(crate) fn of_session(trust: &TrustSnapshot, session: &Session) -> Self {
        let credentials = session.request().credentials().iter();
        let mut asked: Vec<_> =
            credentials.map(|asked| (asked.issuer_id().clone(), asked.format())).collect();
        asked.sort_unstable();
        asked.dedup();
        Self { trust: trust.same(), livemode: session.livemode(), asked }
    }

    /// The same scope under another trust: the same mode, issuers and formats, even if the trust
    /// entries have changed since.
    #[must_use]
    pub fn under(&self, trust: &Trust) -> Self {
        Self { trust: trust.snapshot().same(), ..self.clone() }
    }

    /// Whether `trust` still has one of the requested issuers.
    pub fn is_trusted(&self, trust: &Trust) -> bool {
        self.issuers().any(|issuer| trust.snapshot().entry(issuer).is_some())
    }

    /// The requested issuers.
    pub fn issuers(&self) -> impl Iterator<Item = &IssuerId> {
        self.asked.iter().map(|(issuer, _)| issuer)
    }

    pub(crate) fn of_presentation(
        trust: &TrustSnapshot,
        livemode: bool,
        asked: (IssuerId, CredentialFormat),
    ) -> Self {
        Self { trust: trust.same(), livemode, asked: vec![asked] }
    }
}
