//! It counts nothing, and can be slow about it.

use std::sync::Arc;
use std::time::Duration;

use idgate_core::time::UnixMillis;

use super::{MemoryStore, Mood};
use crate::store::{Gauges, MetricsStore, MetricsSummary, Read, StoreError};
use crate::telemetry::Telemetry;

impl MetricsStore for MemoryStore {
    fn metrics_summary(&self, _: u64, _: UnixMillis) -> Read<'_, MetricsSummary> {
        let mood = self.inner.lock().unwrap().mood;
        Box::pin(async move {
            match mood {
                Mood::Broken => Err(StoreError::Failed("broken".into())),
                Mood::Stuck => {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    Ok(MetricsSummary::default())
                }
                Mood::Panicking => panic!("on purpose"),
                Mood::Well | Mood::Busy | Mood::Startled => Ok(MetricsSummary::default()),
            }
        })
    }

    fn gauges(&self, _: UnixMillis) -> Read<'_, Gauges> {
        Box::pin(async { Ok(Gauges::default()) })
    }

    fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }
}
