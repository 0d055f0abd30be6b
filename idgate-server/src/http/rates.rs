//! Which requests are limited, and how (decisions 15). Where the specification lists 429, the excess
//! gets it; elsewhere it gets its 401 and the connection is closed.

use std::net::IpAddr;

use idgate_core::ids::SessionId;
use idgate_core::time::UnixMillis;

use super::peer;
use crate::rate_limit::{Excess, Policy, RateLimiter};
use crate::store::Caller;

/// Limits of a tenant's requests, per client.
pub(crate) struct TenantRate {
    live: Policy,
    test: Policy,
}

/// Limits of a wallet's requests, per session and per peer.
pub(crate) struct WalletRate {
    session: Policy,
    peer: Policy,
}

pub(crate) const CREATE: TenantRate =
    TenantRate { live: policy("create", 100, 4), test: policy("create", 25, 5) };
pub(crate) const READ: TenantRate =
    TenantRate { live: policy("read", 200, 2), test: policy("read", 50, 2) };
pub(crate) const DELETE: TenantRate =
    TenantRate { live: policy("delete", 100, 4), test: policy("delete", 100, 4) };
pub(crate) const REQUEST_OBJECT: WalletRate =
    WalletRate { session: policy("request-session", 10, 60), peer: policy("request-peer", 100, 5) };
pub(crate) const RESPONSE: WalletRate = WalletRate {
    session: policy("response-session", 6, 60),
    peer: policy("response-peer", 100, 5),
};
const FAILED_AUTHENTICATION: Policy = policy("failed-authentication", 30, 30);

const fn policy(name: &'static str, burst: u64, window_secs: u64) -> Policy {
    Policy { name, burst, window_secs }
}

/// Who is limited.
#[derive(Hash)]
enum Party<'a> {
    Client(&'a str),
    Session(&'a str),
    Peer(IpAddr),
}

impl Party<'_> {
    fn peer(address: IpAddr) -> Self {
        Self::Peer(peer::limit_key(address))
    }
}

/// The limits of one gateway.
pub(crate) struct Rates {
    /// `None`: they are off.
    limiter: Option<RateLimiter>,
}

impl Rates {
    pub(crate) fn new(on: bool) -> Self {
        Self { limiter: on.then(RateLimiter::new) }
    }

    /// Charges a request of a tenant.
    pub(crate) fn charge_tenant(
        &self,
        rate: &TenantRate,
        caller: &Caller,
        now: UnixMillis,
    ) -> Result<(), Excess> {
        let policy = if caller.livemode { rate.live } else { rate.test };
        self.charge(&[(policy, Party::Client(caller.client_id.as_str()))], now)
    }

    /// Charges a request of a wallet: to both, or, when it is one too many for either, to none. So
    /// a peer that hammers one session does not use up what others behind its address need, and a
    /// stranger that is held back cannot use up what a session's wallet needs.
    pub(crate) fn charge_wallet(
        &self,
        rate: &WalletRate,
        id: &SessionId,
        peer: IpAddr,
        now: UnixMillis,
    ) -> Result<(), Excess> {
        let session = (rate.session, Party::Session(id.as_str()));
        self.charge(&[(rate.peer, Party::peer(peer)), session], now)
    }

    /// Charges a failed authentication.
    pub(crate) fn charge_failure(&self, peer: IpAddr, now: UnixMillis) -> Result<(), Excess> {
        self.charge(&[(FAILED_AUTHENTICATION, Party::peer(peer))], now)
    }

    fn charge(&self, charges: &[(Policy, Party<'_>)], now: UnixMillis) -> Result<(), Excess> {
        self.limiter.as_ref().map_or(Ok(()), |limiter| limiter.charge(charges, now))
    }
}
