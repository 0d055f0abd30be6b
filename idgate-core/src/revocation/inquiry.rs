//! The open questions about one credential's status, and the results of the answers. A question
//! without an answer makes the status unknown.

#[cfg(feature = "internals")]
mod internals;
mod list;
mod signer;
#[cfg(all(test, feature = "aws-lc-rs"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

#[cfg(feature = "internals")]
pub use self::internals::{is_good_by_crls, is_good_by_identifier_list, is_good_by_status_list};
use self::list::ListQuestion;
use self::signer::SignerQuestion;
use super::context::{SignerStatus, StatusContext, unknown};
use super::outcome::RevocationDetails;
use super::published::{Published, PublishedStatus};
use super::source::{Need, Supplied, VerifiedSource};
use crate::error::{Check, Reason, VerifyError};
use crate::limits::MAX_STATUS_URIS;
use crate::trust::RevocationPolicy;

/// The questions about one credential.
#[derive(Clone, Debug)]
pub(crate) struct Inquiry {
    /// The outcome if every question has a good answer.
    outcome: RevocationDetails,
    list: Option<ListQuestion>,
    signer: Option<SignerQuestion>,
    /// The status of the credential's signer: a list by the same signer raises no question of its
    /// own.
    signer_status: Option<SignerStatus>,
}

impl Inquiry {
    /// Opens the questions that a trust entry requires. Refusals that no source can change are made
    /// here, before anything is fetched. `required` is about the credential: a good certificate of
    /// its signer is not enough.
    pub(crate) fn open(
        published: Published,
        context: &StatusContext<'_>,
    ) -> Result<Self, VerifyError> {
        let policy = context.issuer.revocation;
        if policy == RevocationPolicy::Off {
            let outcome = RevocationDetails::off(published.signer.is_some());
            return Ok(Self { outcome, list: None, signer: None, signer_status: None });
        }
        let signer_status = match published.status {
            PublishedStatus::List(_) => published.signer.clone(),
            PublishedStatus::None | PublishedStatus::Unknown => None,
        };
        let signer = match published.signer {
            Some(status) => SignerQuestion::open(status, context)?,
            None => None,
        };
        let list = match published.status {
            PublishedStatus::None if policy == RevocationPolicy::Required => {
                return Err(unknown("the credential publishes no status, and one is required"));
            }
            PublishedStatus::None => None,
            PublishedStatus::List(reference) => {
                let accepts = context.issuer.accepts_unknown_revocation(context.on_unknown);
                Some(ListQuestion::new(reference, published.voucher, accepts))
            }
            PublishedStatus::Unknown => {
                return Err(unknown("status names no supported mechanism"));
            }
        };
        let outcome = RevocationDetails::asked(list.is_some(), signer.is_some());
        Ok(Self { outcome, list, signer, signer_status })
    }

    /// The sources that were not requested yet. The signer of a list is known only after the list
    /// is fetched.
    pub(crate) fn needs(&self) -> impl Iterator<Item = Need> {
        let list = self.list.iter().filter_map(ListQuestion::need);
        let points = self.signer.iter().flat_map(SignerQuestion::open_points);
        let of_list = self.list.iter().flat_map(ListQuestion::open_points);
        list.chain(points.chain(of_list).map(|uri| Need::Crl { uri: uri.clone() }))
    }

    /// Judges the answer to `need`, if this credential requests it. An authentic source is returned
    /// for later verifications.
    pub(crate) fn supply(
        &mut self,
        need: &Need,
        what: Supplied<'_>,
        context: &StatusContext<'_>,
    ) -> Option<VerifiedSource> {
        let (list, signer) = (&mut self.list, &mut self.signer);
        match need {
            Need::StatusList { .. } | Need::IdentifierList { .. } => list
                .as_mut()?
                .supply(need, what, self.signer_status.as_ref(), context)
                .map(VerifiedSource::StatusList),
            Need::Crl { uri } => {
                let own = signer.as_mut().and_then(|signer| signer.supply(uri, what, context));
                let of_list = list.as_mut().and_then(|list| match &own {
                    Some(crl) if list.reuse_crl(uri, crl, context) => None,
                    _ => list.supply_crl(uri, what, context),
                });
                own.or(of_list).map(|crl| VerifiedSource::Crl { uri: uri.clone(), crl })
            }
        }
    }

    /// Answers from a source that was authenticated before. `false`: it cannot be used here, and
    /// its question stays open.
    pub(crate) fn reuse(&mut self, source: &VerifiedSource, context: &StatusContext<'_>) -> bool {
        let (list, signer) = (&mut self.list, &mut self.signer);
        match source {
            VerifiedSource::StatusList(known) => list
                .as_mut()
                .is_some_and(|list| list.reuse(known, self.signer_status.as_ref(), context)),
            VerifiedSource::Crl { uri, crl } => {
                let own = signer.as_mut().is_some_and(|signer| signer.reuse(uri, crl, context));
                let of_list = list.as_mut().is_some_and(|list| list.reuse_crl(uri, crl, context));
                own || of_list
            }
        }
    }

    /// The outcome; a refusal has the reason.
    pub(crate) fn settle(&self) -> Result<RevocationDetails, VerifyError> {
        if let Some(signer) = &self.signer {
            signer.settle()?;
        }
        let mut outcome = self.outcome;
        if let Some(list) = &self.list {
            outcome.credential = list.settle()?;
        }
        Ok(outcome)
    }

    /// Whether a certificate's revocation was checked.
    pub(crate) fn covers_signer(&self) -> bool {
        self.signer.is_some()
    }
}

/// The sources that were not requested yet, without duplicates.
pub(crate) fn needs_of(inquiries: &[Inquiry]) -> Vec<Need> {
    let mut needs: Vec<Need> = inquiries.iter().flat_map(Inquiry::needs).collect();
    needs.sort_unstable();
    needs.dedup();
    needs
}

/// Limits the sources that one answer may request, whatever is cached and however many rounds it
/// takes; `asked` collects them.
pub(crate) fn check_count(
    inquiries: &[Inquiry],
    asked: &mut BTreeSet<Need>,
) -> Result<(), VerifyError> {
    asked.extend(inquiries.iter().flat_map(Inquiry::needs));
    if asked.len() > MAX_STATUS_URIS {
        let detail = "the answer needs more than 20 status sources";
        return Err(VerifyError::new(Reason::LimitExceeded, Check::Limits, detail));
    }
    Ok(())
}
