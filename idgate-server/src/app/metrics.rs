//! Metrics for operators: sums of settled sessions, and the state of this process.

use idgate_core::UnixMillis;
use idgate_core::shell::{PinnedSigner, TrustAnchor, TrustEntry};

use super::{App, AppError};
use crate::descriptors;
use crate::log;
use idgate_base::telemetry::Use;
use idgate_store::MetricsSummary;

impl App {
    /// The live-mode sessions settled in the last `window_hours`.
    ///
    /// # Errors
    /// The metrics cannot be read.
    pub async fn metrics_summary(&self, window_hours: u64) -> Result<MetricsSummary, AppError> {
        Ok(self.store.metrics_summary(window_hours, self.now()).await?)
    }

    /// All counters and gauges in the Prometheus text exposition format.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn exposition(&self) -> Result<String, AppError> {
        let now = self.now();
        let telemetry = self.store.telemetry();
        telemetry.stored(&self.store.gauges(now).await?);
        telemetry.streams(self.streams.count());
        telemetry.log_dropped(log::lost_lines());
        let (fetches, most) = self.fetcher.used();
        telemetry.resource("fetches", Use::of(fetches, most));
        descriptors::used().into_iter().for_each(|of| telemetry.resource("descriptors", of));
        let trust = self.store.trust().await?;
        let entries = || trust.entries();
        telemetry.trusted("issuer_key", entries().map(|entry| entry.keys.len()).sum(), None);
        let certified = |kind, ends: Vec<UnixMillis>| {
            let first = ends.iter().min();
            telemetry.trusted(kind, ends.len(), first.map(|end| seconds_until(*end, now)));
        };
        let ends = |roots: fn(&TrustEntry) -> &Vec<TrustAnchor>| {
            entries().flat_map(roots).map(TrustAnchor::not_after).collect()
        };
        certified("root", ends(|entry| &entry.roots));
        certified("sd_jwt_root", ends(|entry| &entry.sd_jwt_roots));
        let ends = |signers: fn(&TrustEntry) -> &Vec<PinnedSigner>| {
            entries().flat_map(signers).map(PinnedSigner::not_after).collect()
        };
        certified("pinned_signer", ends(|entry| &entry.pinned_signers));
        certified("sd_jwt_signer", ends(|entry| &entry.sd_jwt_signers));
        let certificates = self.store.certificates().await?;
        for (of, is_gateways) in [("gateway", true), ("client", false)] {
            let ends = certificates
                .keys
                .iter()
                .filter(|key| key.replaced_at.is_none() && key.client_id.is_empty() == is_gateways);
            let first = ends.map(|key| key.certificate.valid_until).min();
            telemetry.certified(of, first.map(|end| seconds_until(end, now)));
        }
        let registered = certificates.registrations.iter();
        let first = registered.filter_map(|one| one.certificate.expires_at).min();
        telemetry.certified("registration", first.map(|end| seconds_until(end, now)));
        let lists = self.store.list_sources().await?;
        telemetry.listed(lists.iter().map(|list| {
            let due = seconds_until(list.next_update, now);
            (&*list.url, due, list.sequence, list.listed)
        }));
        telemetry.text().map_err(|error| AppError::Fault(error.to_string()))
    }
}

fn seconds_until(then: UnixMillis, now: UnixMillis) -> i64 {
    let whole = |ms: u64| i64::try_from(ms.checked_div(1000).unwrap_or(0)).unwrap_or(i64::MAX);
    whole(then.since(now)).saturating_sub(whole(now.since(then)))
}
