//! Lists that were judged, and later copies of them.

use super::super::context::StatusContext;
use super::{ListSigner, VerifiedStatusList};
use crate::error::VerifyError;
use crate::ids::IssuerId;

/// An authentic list in which everything was checked.
#[derive(Debug)]
pub(in crate::revocation) enum Judged {
    /// It says something now.
    Current(VerifiedStatusList),
    /// Its time is over, for that reason.
    Over(VerifiedStatusList, VerifyError),
}

impl VerifiedStatusList {
    /// The trust entry that it was judged by.
    pub(in crate::revocation) fn issuer_id(&self) -> &IssuerId {
        &self.binding.issuer_id
    }

    /// Whether it is for live sessions.
    pub(in crate::revocation) fn livemode(&self) -> bool {
        self.binding.livemode
    }

    /// A later copy of it, judged for the same credentials. `None`: that cannot be used at the time of
    /// `context`, or is older than this one.
    pub(in crate::revocation) fn renewed(
        &self,
        token: &[u8],
        context: &StatusContext<'_>,
    ) -> Option<Self> {
        let signer = self.voucher.as_ref().map_or(ListSigner::IssuerKey, ListSigner::Certificate);
        match Self::verify_kind(self.kind(), token, &self.uri, signer, context).ok()? {
            Judged::Current(list) => (list.issued_at >= self.issued_at).then_some(list),
            Judged::Over(..) => None,
        }
    }
}
