//! The rows of the route table: the request, who is admitted, the rate limit, and the handler.

use std::future::Future;
use std::pin::Pin;

use super::admission::rates::{TenantRate, WalletRate};
use super::auth::{Authorized, Scope};
use super::call::{Call, FoundSession};
use super::error::Answered;
use crate::app::App;

/// One method of one path.
pub(crate) struct Route {
    /// A GET row also answers HEAD, unless it makes a stream.
    pub(crate) method: &'static str,
    /// The path; `{id}` is one segment.
    pub(crate) template: &'static str,
    pub(crate) door: Door,
}

/// Who is admitted, at which rate, and the handler.
pub(crate) enum Door {
    /// A tenant whose key has the scope; unlimited without a rate.
    Tenant(Scope, Option<&'static TenantRate>, ForTenant),
    /// The same, and the session that `{id}` names is read together with the key.
    OfSession(Scope, &'static TenantRate, ForSession),
    /// The same, where pages ask through their browser. Elsewhere the path does not exist, except
    /// for older sessions.
    Relay(Scope, &'static TenantRate, ForTenant),
    /// The same for a stream. Its key may come as a subprotocol, so the handler reads it.
    Stream(Scope, fn(Call<'_>, Scope) -> Answer<'_>),
    /// A wallet; `{id}` is its session.
    Wallet(&'static WalletRate, Handler),
    /// A person's browser, where sessions have pages; `{id}` is the page's token.
    Page(Handler),
    /// Resources that all pages share.
    OfPages(Handler),
    /// An operator with an admin token. The handler checks it, because a failure there may need a
    /// response of its own.
    Admin(Handler),
    /// Anyone.
    Public(Handler),
    /// Monitoring: admitted even when there is no room for strangers.
    Probe(Handler),
}

/// The future of a handler.
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = Answered> + Send + 'a>>;
pub(crate) type Handler = fn(Call<'_>) -> Answer<'_>;
pub(crate) type ForTenant = fn(Call<'_>, Authorized) -> Answer<'_>;
pub(crate) type ForSession = fn(Call<'_>, Authorized, FoundSession) -> Answer<'_>;

impl Route {
    /// Whether the API lists a 429 for it (specification 4, decisions 25).
    pub(crate) const fn lists_429(&self) -> bool {
        matches!(
            self.door,
            Door::Tenant(_, Some(_), _)
                | Door::OfSession(..)
                | Door::Relay(..)
                | Door::Wallet(..)
                | Door::Page(_)
        )
    }

    /// The rate limit for wallets; `None` if it is not a wallet route.
    pub(crate) const fn wallets_rate(&self) -> Option<&'static WalletRate> {
        match self.door {
            Door::Wallet(rate, _) => Some(rate),
            _ => None,
        }
    }

    /// Whether callers without a key, for example wallets, may use it.
    pub(crate) const fn is_for_strangers(&self) -> bool {
        matches!(self.door, Door::Public(_) | Door::Wallet(..) | Door::Page(_) | Door::OfPages(_))
    }

    /// Whether it needs an admin token.
    pub(crate) const fn is_for_operators(&self) -> bool {
        matches!(self.door, Door::Admin(_))
    }

    /// Whether this gateway has the route, whichever session it is about.
    pub(crate) fn is_there(&self, app: &App) -> bool {
        match self.door {
            Door::Relay(..) => app.asks_browsers(),
            Door::Page(_) | Door::OfPages(_) => app.shows_pages(),
            _ => true,
        }
    }

    pub(crate) fn takes(&self, method: &str) -> bool {
        self.method == method || method == "HEAD" && self.takes_head()
    }

    /// Its methods, for `Allow`.
    pub(crate) fn allow(&self) -> &'static str {
        if self.takes_head() { "GET, HEAD" } else { self.method }
    }

    fn takes_head(&self) -> bool {
        self.method == "GET" && !matches!(self.door, Door::Stream(..))
    }

    /// Checks the caller, then calls the handler.
    pub(crate) async fn answer(&self, mut call: Call<'_>) -> Answered {
        match self.door {
            Door::Tenant(scope, rate, handler) => {
                let tenant = call.authorize(scope, rate).await?;
                handler(call, tenant).await
            }
            Door::OfSession(scope, rate, handler) => {
                let (tenant, session) = call.authorize_for_session(scope, rate).await?;
                handler(call, tenant, session).await
            }
            Door::Relay(scope, rate, handler) => {
                let tenant = call.authorize(scope, Some(rate)).await?;
                handler(call, tenant).await
            }
            Door::Stream(scope, handler) => handler(call, scope).await,
            Door::Wallet(rate, handler) => {
                let meter = call.limit_wallet(rate).await?;
                handler(call).await.map_err(|error| meter.refuse(error))
            }
            Door::Page(handler) => {
                call.limit_page().await?;
                handler(call).await
            }
            Door::OfPages(handler)
            | Door::Admin(handler)
            | Door::Public(handler)
            | Door::Probe(handler) => handler(call).await,
        }
    }
}
