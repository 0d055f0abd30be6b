//! The verifications that an authenticated status source serves.

use alloc::vec;
use alloc::vec::Vec;

use crate::ids::{CredentialFormat, IssuerId};
use crate::session::Session;
use crate::trust::TrustSnapshot;
use crate::trust::snapshot::SameTrust;

/// The verifications that a [`VerifiedSource`](crate::revocation::VerifiedSource) serves: the same trust, the same mode, the
/// same issuers asked for the same formats. A cache keeps its sources under it; each reuse is checked again.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Scope {
    trust: Trusted,
    livemode: bool,
    asked: Vec<(IssuerId, CredentialFormat)>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Trusted {
    /// A shell gives each its own number.
    Version(u64),
    Same(SameTrust),
}

impl Scope {
    /// Of the verifications of `session` under every trust of that number, for a shell that gives no two of them
    /// one number.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn of(session: &Session, trust_version: u64) -> Self {
        Self::of_session(session, Trusted::Version(trust_version))
    }

    pub(crate) fn under(trust: &TrustSnapshot, session: &Session) -> Self {
        Self::of_session(session, Trusted::Same(trust.same()))
    }

    pub(crate) fn of_presentation(
        trust: &TrustSnapshot,
        livemode: bool,
        asked: (IssuerId, CredentialFormat),
    ) -> Self {
        Self { trust: Trusted::Same(trust.same()), livemode, asked: vec![asked] }
    }

    fn of_session(session: &Session, trust: Trusted) -> Self {
        let credentials = session.request().credentials().iter();
        let mut asked: Vec<_> =
            credentials.map(|asked| (asked.issuer_id().clone(), asked.format())).collect();
        asked.sort_unstable();
        asked.dedup();
        Self { trust, livemode: session.livemode(), asked }
    }
}
