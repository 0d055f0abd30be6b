//! What operators measure.

use std::sync::Arc;

use idgate_core::time::UnixMillis;

use super::super::interface::{MetricsStore, MetricsSummary, Read};
use super::super::metrics::Measured;
use super::error::{Done, Failure};
use super::pool::Tx;
use super::{PostgresStore, Shared, claims};
use crate::telemetry::{Gauges, Telemetry};

/// Adds a settled session to the sums of its hour, those of this node. When they are out of order, the
/// session is not held up by it.
pub(super) async fn record(_shared: &Shared, _tx: &Tx<'_>, _measured: &Measured) -> Done<()> {
    Ok(())
}

impl MetricsStore for PostgresStore {
    fn metrics_summary(&self, _window_hours: u64, _now: UnixMillis) -> Read<'_, MetricsSummary> {
        self.fault.sum(self.read(|_| async { Err(Failure::failed("to be written")) }))
    }

    fn gauges(&self, now: UnixMillis) -> Read<'_, Gauges> {
        self.read(move |shared| async move {
            let (claims_rows, purge_lag_ms) = claims::stored(&shared, now).await?;
            Ok(Gauges { claims_rows, purge_lag_ms, ..Gauges::default() })
        })
    }

    fn telemetry(&self) -> &Arc<Telemetry> {
        &self.shared.telemetry
    }
}
