//! Metrics of trust material, its expiry, and trusted lists.

use prometheus::{Error, IntCounterVec, IntGaugeVec, Registry};

use super::register::{counters, gauges};
use super::{Telemetry, signed};

/// The metrics of this module.
pub(super) struct OfTrust {
    anchors: IntGaugeVec,
    expiry: IntGaugeVec,
    list_next_update: IntGaugeVec,
    list_sequence: IntGaugeVec,
    list_providers: IntGaugeVec,
    list_refreshes: IntCounterVec,
    certificate_expiry: IntGaugeVec,
}

impl OfTrust {
    pub(super) fn new(r: &Registry) -> Result<Self, Error> {
        Ok(Self {
            anchors: gauges(r, "idgate_trust_anchors", "Trusted keys and certificates", &["kind"])?,
            expiry: gauges(
                r,
                "idgate_trust_expiry_seconds",
                "Time until the first certificate of its kind expires; negative once it has",
                &["kind"],
            )?,
            list_next_update: gauges(
                r,
                "idgate_trusted_list_next_update_seconds",
                "Time until the next issue of a trusted list is due; negative once it is overdue",
                &["source"],
            )?,
            list_sequence: gauges(
                r,
                "idgate_trusted_list_sequence",
                "The number of the trusted list in force",
                &["source"],
            )?,
            list_providers: gauges(
                r,
                "idgate_trusted_list_providers",
                "The providers of the trusted list in force",
                &["source"],
            )?,
            list_refreshes: counters(
                r,
                "idgate_trusted_list_refresh_total",
                "Fetches of trusted lists, by outcome",
                &["outcome"],
            )?,
            certificate_expiry: gauges(
                r,
                "idgate_certificate_expiry_seconds",
                "Time until the gateway's certificate expires, or the first one of a client, or \
                 the first registration certificate; negative once it has",
                &["of"],
            )?,
        })
    }
}

impl Telemetry {
    /// Sets the number of trusted items of a kind, and the seconds until the first of them expires.
    pub fn trusted(&self, kind: &'static str, count: usize, expires_in: Option<i64>) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.trust.anchors.with_label_values(&[kind]).set(count);
        match expires_in {
            Some(seconds) => self.trust.expiry.with_label_values(&[kind]).set(seconds),
            // None is left, or there never was one.
            None => drop(self.trust.expiry.remove_label_values(&[kind])),
        }
    }

    /// Counts a fetch of a trusted list; `outcome`: `new`, `same`, `fetch_failed`, `refused` or
    /// `rollback`.
    pub fn list_refreshed(&self, outcome: &'static str) {
        self.trust.list_refreshes.with_label_values(&[outcome]).inc();
    }

    /// Sets the values of the fetched trusted lists: URL, seconds until the next issue is due,
    /// number, providers.
    pub fn listed<'u>(&self, lists: impl Iterator<Item = (&'u str, i64, u64, u64)>) {
        for gauge in
            [&self.trust.list_next_update, &self.trust.list_sequence, &self.trust.list_providers]
        {
            gauge.reset();
        }
        for (url, next_update, sequence, providers) in lists {
            self.trust.list_next_update.with_label_values(&[url]).set(next_update);
            self.trust.list_sequence.with_label_values(&[url]).set(signed(sequence));
            self.trust.list_providers.with_label_values(&[url]).set(signed(providers));
        }
    }

    /// Sets the seconds until a certificate expires: the gateway's own (`gateway`), the first of
    /// its clients' (`client`), or the first of their registration certificates (`registration`).
    pub fn certified(&self, of: &'static str, expires_in: Option<i64>) {
        match expires_in {
            Some(seconds) => self.trust.certificate_expiry.with_label_values(&[of]).set(seconds),
            None => drop(self.trust.certificate_expiry.remove_label_values(&[of])),
        }
    }
}
