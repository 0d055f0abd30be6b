//! It counts nothing, and can be slow about it.

use std::sync::Arc;
use std::time::Duration;

use idgate_core::time::UnixMillis;

use super::{MemoryStore, Mood};
use crate::store::{Gauges, MetricsStore, MetricsSummary, StoreError};
use crate::telemetry::Telemetry;

impl MetricsStore for MemoryStore {
    fn metrics_summary(&self, _: u64, _: UnixMillis) -> Result<MetricsSummary, StoreError> {
        let mood = self.inner.lock().unwrap().mood;
        match mood {
            Mood::Broken => Err(StoreError::Failed("broken".into())),
            Mood::Stuck => {
                std::thread::sleep(Duration::from_millis(500));
                Ok(MetricsSummary::default())
            }
            Mood::Panicking => panic!("on purpose"),
            Mood::Well | Mood::Busy => Ok(MetricsSummary::default()),
        }
    }

    fn gauges(&self, _: UnixMillis) -> Result<Gauges, StoreError> {
        Ok(Gauges::default())
    }

    fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }
}
