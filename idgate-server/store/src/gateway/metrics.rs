//! Metrics: hourly sums, written together with the sessions that they count.

use std::sync::Arc;

use idgate_core::UnixMillis;

use super::{Engine, Store};
use crate::lanes::LaneKey;
use crate::metrics::{hour_of, summary};
use crate::sql::number;
use crate::types::{MetricsSummary, Read};
use idgate_base::telemetry::{Gauges, Telemetry};

/// Measurements.
impl Store {
    /// Sums up the current hour and the `window_hours` before it, including everything that settled
    /// in the window.
    pub fn metrics_summary(&self, window_hours: u64, now: UnixMillis) -> Read<'_, MetricsSummary> {
        let last = hour_of(now);
        let with = (last.saturating_sub(number(window_hours)), last);
        let sum = self.look(LaneKey::GATEWAY, with, |(first, last), db, _| {
            Box::pin(summary(db, *first, *last))
        });
        self.env.fault.sum(sum)
    }

    /// The gauges of the database now.
    pub fn gauges(&self, now: UnixMillis) -> Read<'_, Gauges> {
        match &self.engine {
            Engine::Sqlite(store) => store.gauges(now),
            Engine::Postgres(store) => store.gauges(now),
        }
    }

    /// The counters of this process.
    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.env.telemetry
    }
}
