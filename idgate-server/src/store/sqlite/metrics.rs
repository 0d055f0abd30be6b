//! What operators measure.

use std::sync::Arc;

use idgate_core::time::UnixMillis;

use super::super::interface::{MetricsStore, MetricsSummary, Read};
use super::super::lanes::Whose;
use super::super::metrics::{gauges, hour_of, summary};
use super::super::readers::Reader;
use super::super::sql::number;
use super::SqliteStore;
use crate::telemetry::{Gauges, Telemetry};

impl MetricsStore for SqliteStore {
    fn metrics_summary(&self, window_hours: u64, now: UnixMillis) -> Read<'_, MetricsSummary> {
        let last = hour_of(now);
        let first = last.saturating_sub(number(window_hours));
        let read = move |reader: &Reader| summary(&reader.main, first, last);
        self.fault.sum(self.readers.read_long(Whose::GATEWAY, read))
    }

    fn gauges(&self, now: UnixMillis) -> Read<'_, Gauges> {
        let disk = self.disk.clone();
        let (writes, reads) = (Some(self.writer.waiting()), Some(self.readers.waiting()));
        self.readers.read_long(Whose::GATEWAY, move |reader| {
            let (disk_full, disk) = (disk.is_full(), disk.bytes());
            Ok(Gauges { disk_full, disk, writes, reads, ..gauges::read(reader, now)? })
        })
    }

    fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }
}
