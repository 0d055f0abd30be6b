//! Which requests are rate-limited, and how (decisions 15). Where the specification or decisions 25
//! list 429, an excess request gets it; elsewhere it gets its 401 and the connection is closed.
//! Every response to a tenant on a limited route says how much is left.

use std::net::IpAddr;
use std::sync::Arc;

use idgate_core::{SessionId, UnixMillis};

use crate::app::AppError;
use crate::http::peer::{self, Network};
use idgate_base::rate_limit::{Excess, Policy, RateLimiter, Standing};
use idgate_store::{Caller, SessionRate, Store};

/// Limits of a tenant's requests, per client.
pub(crate) struct TenantRate {
    live: Policy,
    test: Policy,
}

/// Limits for requests that name a session or a page, whose id a stranger may know. A stranger is
/// charged to its own network only, so the person's wallet and browser keep their own allowance.
pub(crate) struct WalletRate {
    /// For one network with one session or page. Strangers and clients with proof are counted
    /// separately. The owner (client or browser) has such an allowance, too.
    pub(crate) share: Policy,
    /// For all networks together with one session or page; several times as many.
    pub(crate) total: Policy,
    /// For one network with all sessions and pages.
    pub(crate) peer: Policy,
}

pub(crate) const CREATE: TenantRate =
    TenantRate { live: policy("create", 100, 4), test: policy("create", 25, 5) };
pub(crate) const READ: TenantRate =
    TenantRate { live: policy("read", 200, 2), test: policy("read", 50, 2) };
pub(crate) const DELETE: TenantRate =
    TenantRate { live: policy("delete", 100, 4), test: policy("delete", 100, 4) };
pub(crate) const REQUEST_OBJECT: WalletRate = WalletRate {
    share: policy("request-session", 10, 60),
    total: policy("request-session-total", 60, 60),
    peer: policy("request-peer", 100, 5),
};
pub(crate) const RESPONSE: WalletRate = WalletRate {
    share: policy("response-session", 6, 60),
    total: policy("response-session-total", 30, 60),
    peer: policy("response-peer", 100, 5),
};
pub(crate) const PAGE: WalletRate = WalletRate {
    share: policy("page-token", 60, 60),
    total: policy("page-token-total", 300, 60),
    peer: policy("page-peer", 100, 5),
};
/// The same for the browser that has the page.
pub(crate) const PAGE_OF_ITS_BROWSER: WalletRate =
    WalletRate { share: policy("page-browser", 60, 60), ..PAGE };
/// The same for the phone that took the page over, so that the two browsers do not use up each
/// other's allowance.
pub(crate) const PAGE_OF_ITS_PHONE: WalletRate =
    WalletRate { share: policy("page-phone", 60, 60), ..PAGE };
pub(crate) const DC_API: TenantRate = both(policy("dc-api", 100, 4));
/// Keys are created by people and at deployments, never many per second.
pub(crate) const API_KEYS: TenantRate = both(policy("api-keys", 20, 4));
pub(crate) const WEBHOOK_ENDPOINT: TenantRate = both(policy("webhook-endpoint", 20, 4));
/// Each test is an exchange with another server.
pub(crate) const WEBHOOK_TEST: TenantRate = both(policy("webhook-test", 1, 1));
const FAILED_AUTHENTICATION: Policy = policy("failed-authentication", 30, 30);

const fn policy(name: &'static str, burst: u64, window_secs: u64) -> Policy {
    Policy::new(name, burst, window_secs)
}

/// The same policy in both modes.
const fn both(policy: Policy) -> TenantRate {
    TenantRate { live: policy, test: policy }
}

/// The party that is charged.
#[derive(Hash)]
enum Party<'a> {
    Client(&'a str),
    /// The client or browser that owns what the request names.
    Owner(&'a str),
    /// All networks together, for the named session or page.
    All(&'a str),
    /// One network, for the named session or page; the flag says whether it has proof.
    Share(&'a str, Network, bool),
    Network(Network),
}

/// The charges of a peer's request: to every network that it is in, each with its multiple of the
/// policy.
fn charges_of<'a>(
    policy: Policy,
    address: IpAddr,
    party: impl Fn(Network) -> Party<'a>,
) -> Vec<(Policy, Party<'a>)> {
    let charge = |(network, times)| {
        let times = u64::try_from(times).unwrap_or(u64::MAX);
        (policy.times(times), party(network))
    };
    peer::networks(address).map(charge).collect()
}

/// The limits of one gateway. Gateways that share a store each grant a part of what clients and
/// peers may do at all of them together.
#[derive(Clone)]
pub(crate) struct Rates {
    /// `None` if rate limits are off.
    limiter: Option<Arc<RateLimiter>>,
    store: Arc<Store>,
}

impl Rates {
    pub(crate) fn new(on: bool, store: Arc<Store>) -> Self {
        Self { limiter: on.then(|| Arc::new(RateLimiter::default())), store }
    }

    /// Charges a tenant's request; returns how much is left, or `None` if there are no limits.
    pub(crate) fn charge_tenant(
        &self,
        rate: &TenantRate,
        caller: &Caller,
        now: UnixMillis,
    ) -> Result<Option<Standing>, Excess> {
        let Some(limiter) = &self.limiter else { return Ok(None) };
        let (policy, party) = self.of_tenant(rate, caller);
        limiter.charge(&[(policy, &party)], now)?;
        Ok(Some(limiter.standing(policy, &party, now)))
    }

    /// How much a tenant has left, without a charge.
    pub(crate) fn tenant_standing(
        &self,
        rate: &TenantRate,
        caller: &Caller,
        now: UnixMillis,
    ) -> Option<Standing> {
        let (policy, party) = self.of_tenant(rate, caller);
        self.limiter.as_ref().map(|limiter| limiter.standing(policy, &party, now))
    }

    /// Charges only the peer, not what its request names.
    pub(crate) fn charge_peer(
        &self,
        policy: Policy,
        peer: IpAddr,
        now: UnixMillis,
    ) -> Result<(), Excess> {
        self.charge(&charges_of(self.part(policy), peer, Party::Network), now)
    }

    /// Charges a request without proof to its own network.
    pub(crate) fn charge_stranger(
        &self,
        rate: &WalletRate,
        named: &str,
        peer: IpAddr,
        now: UnixMillis,
    ) -> Result<(), Excess> {
        self.charge(&charges_of(rate.share, peer, |at| Party::Share(named, at, false)), now)
    }

    /// Charges a request with proof to its network's share and to the share of all networks. If
    /// either is exceeded, charges neither.
    pub(crate) fn charge_guest(
        &self,
        rate: &WalletRate,
        named: &str,
        peer: IpAddr,
        now: UnixMillis,
    ) -> Result<(), Excess> {
        let mut charges = charges_of(rate.share, peer, |at| Party::Share(named, at, true));
        charges.push((rate.total, Party::All(named)));
        self.charge(&charges, now)
    }

    /// Charges a request of the client or browser that owns what it names.
    pub(crate) fn charge_owner(
        &self,
        rate: &WalletRate,
        named: &str,
        now: UnixMillis,
    ) -> Result<(), Excess> {
        self.charge(&[(rate.share, Party::Owner(named))], now)
    }

    /// Charges the share of all networks, or of the owner, for an existing session, where all
    /// gateways that share the store count it.
    pub(crate) async fn share(&self, policy: Policy, session: &SessionId) -> Result<(), AppError> {
        if self.limiter.is_none() {
            return Ok(());
        }
        let Policy { name, burst, window_secs, .. } = policy;
        let window_ms = window_secs.saturating_mul(1000);
        let charged = self.store.charge_session(session, SessionRate { name, burst, window_ms });
        match charged.await? {
            None => Ok(()),
            Some(wait_ms) => Err(AppError::TooMany(Excess { policy, wait_ms })),
        }
    }

    /// Charges an answer that the session's owner relays.
    pub(crate) async fn charge_answer(
        &self,
        session: &SessionId,
        now: UnixMillis,
    ) -> Result<(), AppError> {
        self.charge_owner(&RESPONSE, session.as_str(), now).map_err(AppError::TooMany)?;
        self.share(RESPONSE.share, session).await
    }

    /// Charges a failed authentication.
    pub(crate) fn charge_failure(&self, peer: IpAddr, now: UnixMillis) -> Result<(), Excess> {
        self.charge_peer(FAILED_AUTHENTICATION, peer, now)
    }

    fn charge(&self, charges: &[(Policy, Party<'_>)], now: UnixMillis) -> Result<(), Excess> {
        self.limiter.as_ref().map_or(Ok(()), |limiter| limiter.charge(charges, now))
    }

    fn of_tenant<'a>(&self, rate: &TenantRate, caller: &'a Caller) -> (Policy, Party<'a>) {
        let policy = if caller.livemode { rate.live } else { rate.test };
        (self.part(policy), Party::Client(caller.client_id.as_str()))
    }

    /// This gateway's part of a policy.
    fn part(&self, policy: Policy) -> Policy {
        policy.among(self.store.nodes(), self.store.joined())
    }
}

/// The `RateLimit` field of draft-ietf-httpapi-ratelimit-headers.
pub(crate) fn remaining(policy: Policy, left: u64, seconds: u64) -> String {
    format!("\"{}\";r={left};t={seconds}", policy.name)
}

/// The `RateLimit-Policy` field of draft-ietf-httpapi-ratelimit-headers.
pub(crate) fn policy_field(policy: Policy) -> String {
    let Policy { name, burst, window_secs, .. } = policy;
    format!("\"{name}\";q={burst};w={window_secs}")
}
