//! Which requests are limited, and how (decisions 15). Where the specification
//! or decisions 25 list 429, the excess gets it; elsewhere it gets its 401 and the connection is
//! closed. Every answer to a tenant on a limited row says what is left.

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

/// Limits of requests that name a session or a page, which strangers may know. A stranger is counted with its
/// own network only, so it leaves the person's wallet and browser all that they need.
pub(crate) struct WalletRate {
    /// Of one network with one session or page: of its strangers, and apart from them of those that proved to be
    /// more. Of the client or the browser that owns it, too.
    pub(crate) share: Policy,
    /// Of all networks together with one session or page, several times as many.
    pub(crate) total: Policy,
    /// Of one network with all sessions and pages.
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
/// The same for the phone that took it over, so that neither uses up what the other needs.
pub(crate) const PAGE_OF_ITS_PHONE: WalletRate =
    WalletRate { share: policy("page-phone", 60, 60), ..PAGE };
pub(crate) const DC_API: TenantRate = both(policy("dc-api", 100, 4));
/// Keys are made by people and at deployments: nobody needs many a second.
pub(crate) const API_KEYS: TenantRate = both(policy("api-keys", 20, 4));
pub(crate) const WEBHOOK_ENDPOINT: TenantRate = both(policy("webhook-endpoint", 20, 4));
/// Each is an exchange with somebody else.
pub(crate) const WEBHOOK_TEST: TenantRate = both(policy("webhook-test", 1, 1));
const FAILED_AUTHENTICATION: Policy = policy("failed-authentication", 30, 30);

const fn policy(name: &'static str, burst: u64, window_secs: u64) -> Policy {
    Policy::new(name, burst, window_secs)
}

/// The same in both modes.
const fn both(policy: Policy) -> TenantRate {
    TenantRate { live: policy, test: policy }
}

/// Who is limited.
#[derive(Hash)]
enum Party<'a> {
    Client(&'a str),
    /// The client or the browser that owns what the request names.
    Owner(&'a str),
    /// All networks, for the session or page that the request names.
    All(&'a str),
    /// One network, for the session or page that the request names; whether it proved to be more than a stranger.
    Share(&'a str, Network, bool),
    Network(Network),
}

/// What a request of a peer is charged to: every network that it is in, each under its multiple of
/// the policy.
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

/// The limits of one gateway. Where several share a store, each grants its part of what clients and
/// peers may do at all of them together.
#[derive(Clone)]
pub(crate) struct Rates {
    /// `None`: they are off.
    limiter: Option<Arc<RateLimiter>>,
    store: Arc<Store>,
}

impl Rates {
    pub(crate) fn new(on: bool, store: Arc<Store>) -> Self {
        Self { limiter: on.then(|| Arc::new(RateLimiter::default())), store }
    }

    /// Charges a request of a tenant, and says what is left to it; `None`: there are no limits.
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

    /// What is left to a tenant, without a charge.
    pub(crate) fn tenant_standing(
        &self,
        rate: &TenantRate,
        caller: &Caller,
        now: UnixMillis,
    ) -> Option<Standing> {
        let (policy, party) = self.of_tenant(rate, caller);
        self.limiter.as_ref().map(|limiter| limiter.standing(policy, &party, now))
    }

    /// Charges a peer, and nothing that its request names.
    pub(crate) fn charge_peer(
        &self,
        policy: Policy,
        peer: IpAddr,
        now: UnixMillis,
    ) -> Result<(), Excess> {
        self.charge(&charges_of(self.part(policy), peer, Party::Network), now)
    }

    /// Charges a request whose sender proved nothing to its own network.
    pub(crate) fn charge_stranger(
        &self,
        rate: &WalletRate,
        named: &str,
        peer: IpAddr,
        now: UnixMillis,
    ) -> Result<(), Excess> {
        self.charge(&charges_of(rate.share, peer, |at| Party::Share(named, at, false)), now)
    }

    /// Charges a request whose sender proved to be more than a stranger to its network's share, and to what all
    /// networks have together; or, when it is one too many for either, to neither.
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

    /// Charges what all networks, or the owner, have with a session that there is, where all gateways count that
    /// share the store.
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

    /// Charges an answer that comes through a session's owner.
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

    /// What this gateway grants of it.
    fn part(&self, policy: Policy) -> Policy {
        policy.among(self.store.nodes(), self.store.joined())
    }
}

/// The field `RateLimit` of draft-ietf-httpapi-ratelimit-headers.
pub(crate) fn remaining(policy: Policy, left: u64, seconds: u64) -> String {
    format!("\"{}\";r={left};t={seconds}", policy.name)
}

/// The field `RateLimit-Policy` of the same.
pub(crate) fn policy_field(policy: Policy) -> String {
    let Policy { name, burst, window_secs, .. } = policy;
    format!("\"{name}\";q={burst};w={window_secs}")
}
