//! The amounts that settled sessions add to the sums of their hours, for either database.

use std::collections::BTreeMap;

use idgate_core::shell::Settlement;
use idgate_core::{Session, Status};

use super::super::types::Outcomes;
use super::hour_of;
use crate::sketch::Sketch;

/// A session with the values that are counted.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) livemode: bool,
    pub(crate) status: Status,
    /// The requested format, or `mixed`.
    pub(crate) format: &'static str,
    pub(crate) error_code: Option<&'static str>,
    pub(crate) processing_us: Option<u64>,
    pub(crate) hour: i64,
    pub(crate) latency_ms: Option<u64>,
    pub(crate) types: Vec<String>,
}

impl Measured {
    /// A session that was just created.
    pub(crate) fn created(session: &Session) -> Self {
        let mut formats = session.request().credentials().iter().map(|c| c.format().name());
        let first = formats.next().unwrap_or("mixed");
        let format = if formats.all(|format| format == first) { first } else { "mixed" };
        let mut types = session.request().credential_types();
        types.sort_unstable();
        types.dedup();
        Self {
            livemode: session.livemode(),
            status: Status::Created,
            format,
            error_code: None,
            processing_us: None,
            hour: 0,
            latency_ms: None,
            types,
        }
    }

    /// A session that has settled.
    pub(crate) fn settled(ended: &Settlement<'_>, processing_us: Option<u64>) -> Self {
        Self {
            status: ended.status,
            error_code: ended.reason.map(|reason| reason.as_str()),
            processing_us,
            hour: hour_of(ended.at),
            latency_ms: ended.answered_after_ms(),
            ..Self::created(ended.session)
        }
    }

    fn outcome(&self) -> Outcomes {
        let one = |status| u64::from(self.status == status);
        Outcomes {
            verified: one(Status::Verified),
            failed: one(Status::Failed),
            expired: one(Status::Expired),
        }
    }
}

/// The amounts to add to one hour.
#[derive(Default)]
pub(crate) struct Gain<'m> {
    pub(crate) outcomes: Outcomes,
    pub(crate) latency: Sketch,
    pub(crate) processing: Sketch,
    pub(crate) types: BTreeMap<&'m str, Outcomes>,
    pub(crate) errors: BTreeMap<&'m str, u64>,
}

/// The amounts that settled live sessions add to each hour.
pub(crate) fn gains(measured: &[Measured]) -> BTreeMap<i64, Gain<'_>> {
    let mut gains: BTreeMap<i64, Gain<'_>> = BTreeMap::new();
    for session in measured.iter().filter(|m| m.livemode && m.status.is_settled()) {
        let gain = gains.entry(session.hour).or_default();
        let outcome = session.outcome();
        gain.outcomes.add(&outcome);
        session.latency_ms.into_iter().for_each(|ms| gain.latency.add(ms));
        session.processing_us.into_iter().for_each(|us| gain.processing.add(us));
        session.types.iter().for_each(|name| gain.types.entry(name).or_default().add(&outcome));
        if let Some(code) = session.error_code {
            let count = gain.errors.entry(code).or_default();
            *count = count.saturating_add(1);
        }
    }
    gains
}
