//! The status of credentials: how it was had, and whether it was accepted unknown.

use prometheus::{Error, IntCounter, IntCounterVec, Registry};

use super::Telemetry;
use super::register::{add, counters};

/// The metrics about it.
pub(super) struct OfStatus {
    unknown_accepted: IntCounter,
    presentations: IntCounterVec,
    renewals: IntCounterVec,
}

impl OfStatus {
    pub(super) fn new(r: &Registry) -> Result<Self, Error> {
        Ok(Self {
            unknown_accepted: add(
                r,
                IntCounter::new(
                    "idgate_revocation_unknown_accepted_total",
                    "Credentials that were accepted although their status could not be had",
                )?,
            )?,
            presentations: counters(
                r,
                "idgate_status_presentations_total",
                "Answers whose status was asked for, by whether they waited for a fetch",
                &["waited"],
            )?,
            renewals: counters(
                r,
                "idgate_status_renewals_total",
                "Status lists and CRLs that were fetched ahead, by what came of it",
                &["outcome"],
            )?,
        })
    }
}

impl Telemetry {
    /// So many credentials of an answer were accepted although their status could not be had.
    pub fn unknown_accepted(&self, credentials: u64) {
        self.status.unknown_accepted.inc_by(credentials);
    }

    /// An answer whose status was asked for was decided. `waited`: a source had to be fetched for it.
    pub fn status_asked(&self, waited: bool) {
        let waited = if waited { "true" } else { "false" };
        self.status.presentations.with_label_values(&[waited]).inc();
    }

    /// So many sources were fetched ahead of their end, or failed to come, or came and were refused.
    pub fn renewed(&self, renewed: u64, failed: u64, refused: u64) {
        for (outcome, count) in [("renewed", renewed), ("failed", failed), ("refused", refused)] {
            self.status.renewals.with_label_values(&[outcome]).inc_by(count);
        }
    }
}
