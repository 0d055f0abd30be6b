//! Creates and registers metrics by name.

use prometheus::core::Collector;
use prometheus::{Error, HistogramOpts, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

/// Upper bounds in seconds: from a verification to the request timeout.
const SECONDS: [f64; 13] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0];

pub(super) fn add<C: Collector + Clone + 'static>(
    registry: &Registry,
    metric: C,
) -> Result<C, Error> {
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

pub(super) fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, Error> {
    add(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
}

pub(super) fn gauges(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntGaugeVec, Error> {
    add(registry, IntGaugeVec::new(Opts::new(name, help), labels)?)
}

pub(super) fn gauge(registry: &Registry, name: &str, help: &str) -> Result<IntGauge, Error> {
    add(registry, IntGauge::new(name, help)?)
}

pub(super) fn seconds(name: &str, help: &str) -> HistogramOpts {
    HistogramOpts::new(name, help).buckets(SECONDS.to_vec())
}
