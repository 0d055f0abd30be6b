//! Judged lists, and later copies of them.

use super::super::context::StatusContext;
use super::{ListSigner, VerifiedStatusList};
use crate::error::VerifyError;
use crate::ids::IssuerId;

/// An authentic list that was fully checked.
#[derive(Debug)]
pub(in crate::revocation) enum Judged {
    /// It is in force.
    Current(VerifiedStatusList),
    /// It has expired, for this reason.
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

    /// Judges a later copy of it for the same credentials. `None`: the copy cannot be used at the
    /// time of `context`, or is older than this one.
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
