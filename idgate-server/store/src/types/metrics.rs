//! Metrics for operators: hourly sums, written with the sessions that they count.

use std::collections::BTreeMap;

use crate::sketch::Sketch;

/// Settled sessions by how they ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Outcomes {
    /// VERIFIED
    pub verified: u64,
    /// FAILED
    pub failed: u64,
    /// EXPIRED
    pub expired: u64,
}

impl Outcomes {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.verified.saturating_add(self.failed).saturating_add(self.expired)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.verified = self.verified.saturating_add(other.verified);
        self.failed = self.failed.saturating_add(other.failed);
        self.expired = self.expired.saturating_add(other.expired);
    }
}

/// The live sessions that settled in a window of hours.
#[derive(Clone, Debug, Default)]
pub struct MetricsSummary {
    /// How they ended.
    pub outcomes: Outcomes,
    /// Milliseconds from creation to the verdict, without expired sessions.
    pub latency: Sketch,
    /// Microseconds that verifications took.
    pub processing: Sketch,
    /// Each session counts once per type.
    pub by_credential_type: BTreeMap<String, Outcomes>,
    /// Sessions by the reason for their end.
    pub by_error_code: BTreeMap<String, u64>,
}
