//! What operators read: sums of settled sessions, and the state of this process.

use idgate_core::time::UnixMillis;

use super::{App, AppError};
use crate::descriptors;
use crate::log;
use idgate_base::telemetry::Use;
use idgate_store::MetricsSummary;

impl App {
    /// The live-mode sessions that settled in the last `window_hours`.
    ///
    /// # Errors
    /// The metrics cannot be read.
    pub async fn metrics_summary(&self, window_hours: u64) -> Result<MetricsSummary, AppError> {
        Ok(self.store.metrics_summary(window_hours, self.now()).await?)
    }

    /// All counters and gauges in the text exposition format of Prometheus.
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
        for Trusted { kind, count, expiry } in self.trusted().await? {
            telemetry.trusted(kind, count, expiry.map(|expiry| seconds_until(expiry, now)));
        }
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

    async fn trusted(&self) -> Result<[Trusted; 5], AppError> {
        let snapshot = self.store.trust().await?;
        let entries = || snapshot.entries();
        let roots = || entries().flat_map(|entry| &entry.roots);
        let signers = || entries().flat_map(|entry| &entry.pinned_signers);
        let sd_jwt_roots = || entries().flat_map(|entry| &entry.sd_jwt_roots);
        let sd_jwt_signers = || entries().flat_map(|entry| &entry.sd_jwt_signers);
        Ok([
            Trusted {
                kind: "issuer_key",
                count: entries().map(|entry| entry.keys.len()).sum(),
                expiry: None,
            },
            Trusted {
                kind: "root",
                count: roots().count(),
                expiry: roots().map(|root| root.not_after()).min(),
            },
            Trusted {
                kind: "pinned_signer",
                count: signers().count(),
                expiry: signers().map(|signer| signer.not_after()).min(),
            },
            Trusted {
                kind: "sd_jwt_root",
                count: sd_jwt_roots().count(),
                expiry: sd_jwt_roots().map(|root| root.not_after()).min(),
            },
            Trusted {
                kind: "sd_jwt_signer",
                count: sd_jwt_signers().count(),
                expiry: sd_jwt_signers().map(|signer| signer.not_after()).min(),
            },
        ])
    }
}

struct Trusted {
    kind: &'static str,
    count: usize,
    /// Of the first that expires.
    expiry: Option<UnixMillis>,
}

fn seconds_until(then: UnixMillis, now: UnixMillis) -> i64 {
    let whole = |ms: u64| i64::try_from(ms.checked_div(1000).unwrap_or(0)).unwrap_or(i64::MAX);
    whole(then.since(now)).saturating_sub(whole(now.since(then)))
}
