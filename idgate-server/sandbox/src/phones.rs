//! Two issuers of samples for phones (OpenID4VCI 1.0) on the gateway's public listener: a plain
//! one, and one that requires attestations. Strangers can redeem offers there, but not create any.

mod attestation;
mod credential;
mod digests;
mod dpop;
mod issued;
mod jwt;
mod metadata;
mod nonces;
mod offers;
mod proofs;
mod refusal;
mod requests;
mod routes;
mod samples;
mod signers;
#[cfg(test)]
mod tests;
mod token;

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_base::clock::Clock;
use idgate_base::rate_limit::{Policy, RateLimiter};
use idgate_core::UnixMillis;
use serde_json::{Value, json};
use url::{Host, Url};

use self::digests::Bounded;
use self::issued::IssuedSamples;
use self::nonces::Nonces;
use self::offers::Offers;
pub(crate) use self::offers::{Made, Progress, Wish};
use self::refusal::Refusal;
pub(crate) use self::routes::PhoneRoutes;
pub(crate) use self::samples::{MEMBERSHIP, Sample};
use self::signers::Signers;
use crate::issuers::Provider;
use crate::limits::{MAX_JTIS, PHONE_REQUESTS_A_MINUTE};

/// All requests to one issuer together: behind a tunnel all wallets share one address.
const RATE: Policy = Policy::new("sandbox_issuer", PHONE_REQUESTS_A_MINUTE, 60);

/// The issuers for phones.
pub(crate) struct Phones {
    plain: Issuer,
    attested: Issuer,
    signers: Signers,
    clock: Arc<dyn Clock>,
    rates: RateLimiter,
    inner: Mutex<Inner>,
}

/// One of the two issuers.
pub(crate) struct Issuer {
    /// The credential issuer identifier.
    id: String,
    attested: bool,
}

/// The state of both issuers.
struct Inner {
    offers: Offers,
    plain_nonces: Nonces,
    attested_nonces: Nonces,
    jtis: Bounded<()>,
    issued: IssuedSamples,
}

/// Facts about a request, for the log and the state of its offer. They contain nothing about the
/// wallet.
#[derive(Default)]
struct Said {
    /// The id of the offer; empty if the request proved none.
    offer: String,
    configuration: Option<&'static str>,
    proof_type: Option<&'static str>,
    progress: Option<Progress>,
    reason: Option<&'static str>,
}

impl Said {
    fn is_about(&mut self, offer: &str, sample: Sample) {
        offer.clone_into(&mut self.offer);
        self.configuration = Some(sample.id());
    }
}

/// An offer, as the console lists it.
#[derive(Clone, Debug)]
pub(crate) struct OfferLine {
    pub(crate) id: String,
    pub(crate) configuration: &'static str,
    pub(crate) attested: bool,
    pub(crate) progress: Progress,
    pub(crate) rule: Option<&'static str>,
    pub(crate) made_at: UnixMillis,
    pub(crate) is_open: bool,
    /// The number of its samples that phones hold, and how many of these are withdrawn.
    pub(crate) issued: usize,
    pub(crate) withdrawn: usize,
}

impl Phones {
    /// The issuers at `base_url`, signing below the root of `provider`. `lists`: where this machine
    /// and phones read their status lists.
    ///
    /// # Errors
    /// The folder cannot be used, or the system has no random bytes.
    pub(crate) fn new(
        provider: &Provider,
        base_url: &str,
        lists: &str,
        folder: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        let inner = Inner {
            offers: Offers::new(),
            plain_nonces: Nonces::new()?,
            attested_nonces: Nonces::new()?,
            jtis: Bounded::new(MAX_JTIS),
            issued: IssuedSamples::of(folder)?,
        };
        Ok(Self {
            plain: Issuer { id: format!("{base_url}/vci"), attested: false },
            attested: Issuer { id: format!("{base_url}/vci-attested"), attested: true },
            signers: Signers::new(provider, base_url, lists, clock.now().0),
            clock,
            rates: RateLimiter::default(),
            inner: Mutex::new(inner),
        })
    }

    /// Creates an offer.
    ///
    /// # Errors
    /// The maximum of open offers is reached, or the system has no random bytes.
    pub(crate) fn offer(&self, wish: Wish) -> Result<Made, String> {
        let issuer = self.issuer(wish.attested);
        let made = self.inner().offers.make(wish, &issuer.id, self.now_ms())?;
        tracing::info!(offer = made.id, configuration = made.configuration, "offer: offered");
        Ok(made)
    }

    /// All remembered offers, newest first.
    pub(crate) fn offers(&self) -> Vec<OfferLine> {
        let (inner, now_ms) = (self.inner(), self.now_ms());
        let line = |offer: &offers::Offer| {
            let (issued, withdrawn) = inner.issued.of_offer(&offer.id);
            OfferLine {
                id: offer.id.clone(),
                configuration: offer.sample.id(),
                attested: offer.attested,
                progress: offer.progress,
                rule: offer.rule,
                made_at: UnixMillis(offer.made_at),
                is_open: offer.is_open(now_ms),
                issued,
                withdrawn,
            }
        };
        inner.offers.iter().rev().map(line).collect()
    }

    /// Withdraws the samples of an offer; returns how many there are, or `None` if there is no such
    /// offer.
    ///
    /// # Errors
    /// The change cannot be stored.
    pub(crate) fn withdraw(&self, offer: &str) -> Result<Option<usize>, String> {
        let mut inner = self.inner();
        // Samples outlive the offers of this run.
        let is_known = inner.offers.get_mut(offer).is_some() || inner.issued.of_offer(offer).0 > 0;
        is_known.then(|| inner.issued.withdraw(offer)).transpose()
    }

    /// A status list or the CRL: media type and content.
    pub(crate) fn published(&self, what: &str) -> Option<(&'static str, Vec<u8>)> {
        let (now_ms, inner) = (self.now_ms(), self.inner());
        let withdrawn = inner.issued.withdrawn();
        match what {
            "status.jwt" => {
                let token = self.signers.status_jwt(withdrawn, now_ms);
                Some(("application/statuslist+jwt", token.into_bytes()))
            }
            "status.cwt" => {
                Some(("application/statuslist+cwt", self.signers.status_cwt(withdrawn, now_ms)))
            }
            "crl" => Some(("application/pkix-crl", self.signers.crl(now_ms))),
            _ => None,
        }
    }

    fn issuer(&self, attested: bool) -> &Issuer {
        if attested { &self.attested } else { &self.plain }
    }

    fn now_ms(&self) -> u64 {
        self.clock.now().0
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere cannot leave partial data: an offer is redeemed or not.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// The issuer's rate limit is reached.
    fn charge(&self, issuer: &Issuer) -> Result<(), Refusal> {
        let charged = self.rates.charge(&[(RATE, issuer.attested)], self.clock.now());
        charged.map_err(|excess| Refusal::too_many(excess.wait_ms))
    }
}

impl Inner {
    fn nonces(&self, issuer: &Issuer) -> &Nonces {
        if issuer.attested { &self.attested_nonces } else { &self.plain_nonces }
    }

    fn nonces_mut(&mut self, issuer: &Issuer) -> &mut Nonces {
        if issuer.attested { &mut self.attested_nonces } else { &mut self.plain_nonces }
    }
}

impl OfferLine {
    /// The offer as JSON, for programs.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "configuration": self.configuration,
            "attested": self.attested,
            "state": self.progress,
            "rule": self.rule,
            "made_at": self.made_at.to_string(),
            "open": self.is_open,
            "issued": self.issued,
            "withdrawn": self.withdrawn,
        })
    }
}

/// Whether `base_url` can be reached from other machines: its host is not loopback.
pub(crate) fn is_public(base_url: &str) -> bool {
    let url = Url::parse(base_url).ok();
    match url.as_ref().and_then(Url::host) {
        Some(Host::Ipv4(address)) => !IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => !IpAddr::V6(address).to_canonical().is_loopback(),
        Some(Host::Domain(name)) => name != "localhost" && !name.ends_with(".localhost"),
        None => true,
    }
}
