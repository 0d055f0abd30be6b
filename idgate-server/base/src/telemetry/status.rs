//! Metrics of credential status: whether it was cached, fetched ahead, or accepted as unknown.

use prometheus::{Error, IntCounter, IntCounterVec, Registry};

use super::Telemetry;
use super::register::{add, counters};

/// The metrics of this module.
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
                    "Credentials that were accepted although their status is unknown",
                )?,
            )?,
            presentations: counters(
                r,
                "idgate_status_presentations_total",
                "Answers whose status was checked, by whether they waited for a fetch",
                &["waited"],
            )?,
            renewals: counters(
                r,
                "idgate_status_renewals_total",
                "Status lists and CRLs that were fetched ahead, by outcome",
                &["outcome"],
            )?,
        })
    }
}

impl Telemetry {
    /// Counts credentials of an answer that were accepted although their status is unknown.
    pub fn unknown_accepted(&self, credentials: u64) {
        self.status.unknown_accepted.inc_by(credentials);
    }

    /// Counts an answer whose status was checked. `waited`: a source had to be fetched for it.
    pub fn status_asked(&self, waited: bool) {
        let waited = if waited { "true" } else { "false" };
        self.status.presentations.with_label_values(&[waited]).inc();
    }

    /// Counts sources fetched ahead of their expiry: renewed, not reachable, and refused.
    pub fn renewed(&self, renewed: u64, failed: u64, refused: u64) {
        for (outcome, count) in [("renewed", renewed), ("failed", failed), ("refused", refused)] {
            self.status.renewals.with_label_values(&[outcome]).inc_by(count);
        }
    }
}
