//! What a row of the table of routes says: which request it is for, who is let in, how its rate is
//! limited, and what answers it.

use std::future::Future;
use std::pin::Pin;

use super::admission::rates::{TenantRate, WalletRate};
use super::auth::{Authorized, Scope};
use super::call::{Call, FoundSession};
use super::error::Answered;
use crate::app::App;

/// One method of one path.
pub(crate) struct Route {
    /// A row for GET answers HEAD too, unless it makes a stream.
    pub(crate) method: &'static str,
    /// The path; `{id}` stands for one segment.
    pub(crate) template: &'static str,
    pub(crate) door: Door,
}

/// Who is let in, at which rate, and what answers them.
pub(crate) enum Door {
    /// A tenant whose key has the scope. Without a rate it is not limited.
    Tenant(Scope, Option<&'static TenantRate>, ForTenant),
    /// The same where the session that `{id}` names is read with the key.
    OfSession(Scope, &'static TenantRate, ForSession),
    /// The same where pages ask through their browser; elsewhere there is no such path, but for sessions
    /// from before.
    Relay(Scope, &'static TenantRate, ForTenant),
    /// The same for a stream: its key may come as a subprotocol, so the handler asks for it.
    Stream(Scope, fn(Call<'_>, Scope) -> Answer<'_>),
    /// A wallet. `{id}` is its session.
    Wallet(&'static WalletRate, Handler),
    /// A person's browser, where sessions have pages. `{id}` is the token of one.
    Page(Handler),
    /// What all pages share.
    OfPages(Handler),
    /// Whoever has an admin token. The handler asks for it: what fails before its answer may be an
    /// answer of its own.
    Admin(Handler),
    /// Whoever comes.
    Public(Handler),
    /// Whoever watches over the gateway: let in even when it has no room for strangers.
    Probe(Handler),
}

/// What a handler makes.
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = Answered> + Send + 'a>>;
pub(crate) type Handler = fn(Call<'_>) -> Answer<'_>;
pub(crate) type ForTenant = fn(Call<'_>, Authorized) -> Answer<'_>;
pub(crate) type ForSession = fn(Call<'_>, Authorized, FoundSession) -> Answer<'_>;

impl Route {
    /// Whether the interface has a 429 for it (specification 4, decisions 25).
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

    /// How wallets are limited here; `None`: it is not for them.
    pub(crate) const fn wallets_rate(&self) -> Option<&'static WalletRate> {
        match self.door {
            Door::Wallet(rate, _) => Some(rate),
            _ => None,
        }
    }

    /// Whether it is for wallets and whoever else has no key.
    pub(crate) const fn is_for_strangers(&self) -> bool {
        matches!(self.door, Door::Public(_) | Door::Wallet(..) | Door::Page(_) | Door::OfPages(_))
    }

    /// Whether it needs an admin token.
    pub(crate) const fn is_for_operators(&self) -> bool {
        matches!(self.door, Door::Admin(_))
    }

    /// Whether this gateway has it, whichever session it is about.
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

    /// Its methods as `Allow` names them.
    pub(crate) fn allow(&self) -> &'static str {
        if self.takes_head() { "GET, HEAD" } else { self.method }
    }

    fn takes_head(&self) -> bool {
        self.method == "GET" && !matches!(self.door, Door::Stream(..))
    }

    /// Answers a call that found its way here, once it passed the door.
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
