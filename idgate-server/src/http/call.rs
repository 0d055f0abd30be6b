//! A request on its way through the checks of its route.

use std::borrow::Cow;
use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::body::{Body as _, Incoming};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use idgate_core::{ErrorCode, Scheme, Session, SessionId};

use super::admission::connections::Slot;
use super::admission::memory::Payer;
use super::admission::rates::{
    PAGE, PAGE_OF_ITS_BROWSER, PAGE_OF_ITS_PHONE, Rates, TenantRate, WalletRate,
};
use super::admission::time_limit::TimeLimit;
use super::admission::turns::{Kind, TooMany, Turn};
use super::auth::{self, AdminAuthorized, Authorized, Scope};
use super::body::{self, BodyError, Bounds, Received};
use super::error::HttpError;
use super::gateway::Gateway;
use super::page;
use super::peer;
use super::query;
use super::traceparent;
use super::ws::Upgrade;
use crate::app::{Admission, App, AppError, Handle, Holder, LinkScheme, StatusStream, holder_of};
use crate::limits::{BODY_AT_HAND_BYTES, BODY_AT_HAND_WAIT, REFUSAL_PAUSE};
use idgate_base::api_key::ApiKey;
use idgate_base::rate_limit::{Excess, Standing};
use idgate_base::spans::{self, Span, Stage, stage_of_each};
use idgate_store::{Caller, PageRecord};

/// A request on its way through the checks of its route.
pub(crate) struct Call<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) head: &'a Parts,
    /// The `{id}` of its path; empty if its template has none.
    pub(crate) id: &'a str,
    pub(crate) trace: &'a mut Trace,
    pub(crate) limit: &'a TimeLimit,
    pub(crate) slot: &'a Slot,
    /// The sender's address, as far as trusted proxies report it.
    pub(super) peer: IpAddr,
    pub(super) body: Incoming,
    /// The connection, if the request asks to switch protocols.
    pub(super) connection: Option<OnUpgrade>,
    /// The named page, once the request passed the limits of pages.
    pub(crate) page: Option<PageRecord>,
    /// On wallet routes: counts the request.
    pub(super) meter: Option<Meter>,
}

/// Counts a wallet's request for the session that it names.
#[derive(Clone)]
pub(crate) struct Meter {
    app: Arc<App>,
    rates: Rates,
    rate: &'static WalletRate,
    /// The session's id, whichever of its offers is named; the text as sent if there is no such
    /// session.
    named: String,
    peer: IpAddr,
}

impl Meter {
    /// Charges a request that proved that it may ask: by a fresh part of the address, or by a
    /// readable answer with the session's `state`.
    async fn admit(&self, session: &SessionId) -> Result<(), AppError> {
        let now = self.app.now();
        self.rates
            .charge_guest(self.rate, &self.named, self.peer, now)
            .map_err(AppError::TooMany)?;
        self.rates.share(self.rate.total, session).await
    }

    /// Charges a request without proof.
    pub(super) fn admit_stranger(&self) -> Result<(), HttpError> {
        let now = self.app.now();
        Ok(self.rates.charge_stranger(self.rate, &self.named, self.peer, now)?)
    }

    /// Charges a refused request to its network only; returns the response.
    pub(super) fn refuse(&self, error: HttpError) -> HttpError {
        if !error.is_of_the_request() {
            return error;
        }
        let now = self.app.now();
        match self.rates.charge_stranger(self.rate, &self.named, self.peer, now) {
            Ok(()) => error,
            Err(excess) => error.beyond(excess),
        }
    }
}

/// A session read with the caller's key, or why it cannot be read; `None` if the caller has no such
/// session.
pub(crate) type FoundSession = Result<Option<Box<Session>>, AppError>;

/// What is known about a request once it is answered, even after a panic.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) route: Option<&'static str>,
    /// Whether the API lists a 429 here.
    pub(crate) lists_429: bool,
    /// Whether it is a wallet route.
    pub(super) is_of_wallets: bool,
    /// Whether it posts a wallet's answer.
    pub(crate) is_answer: bool,
    pub(super) caller: Option<Arc<Caller>>,
    /// A valid admin token was seen.
    pub(crate) is_admin: bool,
    /// The caller's remaining rate, on a limited route.
    pub(super) standing: Option<Standing>,
    /// The caller's place among the concurrent requests, until this one is answered.
    turn: Option<Turn>,
    pub(super) body_read: bool,
    pub(super) upgrade: Option<Upgrade>,
    pub(super) error: Option<ErrorCode>,
    pub(super) cause: Option<String>,
}

impl<'a> Call<'a> {
    /// Proves that the caller's key is valid and has the scope. On a limited route a caller with the
    /// scope is charged; with or without it, the response says how much is left.
    pub(crate) async fn authorize(
        &mut self,
        scope: Scope,
        rate: Option<&TenantRate>,
    ) -> Result<Authorized, HttpError> {
        let key = auth::api_key(&self.head.headers);
        match rate {
            None => self.authorize_key(scope, key.as_ref()).await,
            Some(rate) => Ok(self.authorize_limited(scope, rate, key.as_ref(), None).await?.0),
        }
    }

    /// Like [`Self::authorize`], without a limit, for a key that may come from another header.
    pub(crate) async fn authorize_key(
        &mut self,
        scope: Scope,
        key: Option<&ApiKey>,
    ) -> Result<Authorized, HttpError> {
        Authorized::require(self.authenticate(key, None).await?.0, scope)
    }

    /// Like [`Self::authorize`] on a limited route, with the session that the path names, read
    /// together with the key.
    pub(crate) async fn authorize_for_session(
        &mut self,
        scope: Scope,
        rate: &TenantRate,
    ) -> Result<(Authorized, FoundSession), HttpError> {
        let (key, id) = (auth::api_key(&self.head.headers), self.session_id());
        let (tenant, found) = self.authorize_limited(scope, rate, key.as_ref(), Some(&id)).await?;
        let found = match found {
            Some(found) => found,
            None => self.gateway.app.callers_session(tenant.caller(), &id).await.map(boxed),
        };
        Ok((tenant, found))
    }

    /// The owner of a valid key, once it is its turn, and the session read with the key. `None` for
    /// the session: the caller had to wait, so it may have changed or be gone.
    async fn authenticate(
        &mut self,
        key: Option<&ApiKey>,
        session: Option<&SessionId>,
    ) -> Result<(Arc<Caller>, Option<FoundSession>), HttpError> {
        let span = Span::begin("authenticate", spans::Kind::Internal);
        let found = {
            let looking = pin!(look_up(&self.gateway.app, key, session));
            span.around(stage_of_each(Stage::Authenticate, looking)).await
        };
        drop(span);
        let (caller, session) = found.map_err(|error| self.refuse_authentication(error))?;
        spans::join(|| traceparent::read(&self.head.headers));
        self.trace.caller = Some(caller.clone());
        self.slot.know(Some(&caller.client_id));
        let turn = self.gateway.turns.take(&caller.client_id, Kind::of(&self.head.method)).await;
        let turn = turn.map_err(|refused| self.refuse_too_many(refused))?;
        let session = session.filter(|_| !turn.has_waited());
        self.trace.turn = Some(turn);
        Ok((caller, session))
    }

    /// The refusal when there is no room to wait: a 429, or a 503 where the API lists no 429. The
    /// connection is closed, because opening a new one costs the client more than the gateway.
    fn refuse_too_many(&self, _: TooMany) -> HttpError {
        let error = match self.trace.lists_429 {
            true => HttpError::too_many_waiting(),
            false => HttpError::temporarily_unavailable(),
        };
        error.closing()
    }

    /// The refusal of an excess request. A client that fills all its places with such requests
    /// waits a little, so that refusing them costs others nothing.
    async fn refuse_excess(&self, excess: Excess) -> HttpError {
        if self.trace.turn.as_ref().is_some_and(Turn::was_the_last) {
            tokio::time::sleep(REFUSAL_PAUSE).await;
        }
        excess.into()
    }

    async fn authorize_limited(
        &mut self,
        scope: Scope,
        rate: &TenantRate,
        key: Option<&ApiKey>,
        session: Option<&SessionId>,
    ) -> Result<(Authorized, Option<FoundSession>), HttpError> {
        let found = self.authenticate(key, session).await;
        let (rates, now) = (&self.gateway.rates, self.gateway.app.now());
        if let (Err(_), Some(caller)) = (&found, &self.trace.caller) {
            self.trace.standing = rates.tenant_standing(rate, caller, now);
        }
        let (caller, session) = found?;
        let authorized = Authorized::require(caller.clone(), scope).inspect_err(|_| {
            self.trace.standing = rates.tenant_standing(rate, &caller, now);
        })?;
        match rates.charge_tenant(rate, &caller, now) {
            Ok(standing) => self.trace.standing = standing,
            Err(excess) => return Err(self.refuse_excess(excess).await),
        }
        Ok((authorized, session))
    }

    /// Proves that the request carries a valid admin token.
    pub(crate) async fn authorize_admin(&mut self) -> Result<AdminAuthorized, HttpError> {
        let authorized = AdminAuthorized::require(&self.gateway.app, &self.head.headers)
            .await
            .map_err(|error| self.refuse_authentication(error))?;
        self.know_admin();
        Ok(authorized)
    }

    /// Records that a valid admin token was seen.
    pub(crate) fn know_admin(&mut self) {
        spans::join(|| traceparent::read(&self.head.headers));
        self.trace.is_admin = true;
        self.slot.know(None);
    }

    /// Charges a wallet's request to its peer. Its session is charged later, once the request's
    /// proof was checked.
    pub(crate) async fn limit_wallet(
        &mut self,
        rate: &'static WalletRate,
    ) -> Result<Meter, HttpError> {
        let (app, rates) = (&self.gateway.app, &self.gateway.rates);
        rates.charge_peer(rate.peer, self.peer, app.now())?;
        let session = match self.handle() {
            Handle::Session(session) => Some(session),
            Handle::Offer(offer) => app.session_of(&offer).await?,
        };
        if let Some(session) = &session {
            app.join_trace(session).await;
        }
        let named = session.map_or_else(|| self.id.to_owned(), |it| it.as_str().to_owned());
        let meter = Meter { app: app.clone(), rates: rates.clone(), rate, named, peer: self.peer };
        self.meter = Some(meter.clone());
        Ok(meter)
    }

    /// Admits a wallet to the session that it names, once it has proved that it may ask.
    pub(crate) fn admission(&self) -> impl FnOnce(SessionId) -> Admission + use<> {
        let meter = self.meter.clone();
        |session| {
            Box::pin(async move {
                match meter {
                    Some(meter) => meter.admit(&session).await,
                    None => Ok(()),
                }
            })
        }
    }

    /// Charges a browser's request to its peer and to the named page, and finds the page. The
    /// browser that has the page is counted separately, so that others who know the address do not
    /// use up its allowance.
    pub(crate) async fn limit_page(&mut self) -> Result<(), HttpError> {
        let (app, rates, headers) = (&self.gateway.app, &self.gateway.rates, &self.head.headers);
        rates.charge_peer(PAGE.peer, self.peer, app.now())?;
        self.page = app.find_page(self.id).await?;
        let Some(page) = &self.page else {
            return Ok(rates.charge_stranger(&PAGE, self.id, self.peer, app.now())?);
        };
        let key = page::key_of(headers).ok().flatten();
        let cookies = |name: &str| page::cookie_of(headers, name);
        let own = holder_of(page, cookies, key.as_ref()).map(|holder| match holder {
            Holder::First => &PAGE_OF_ITS_BROWSER,
            Holder::Phone => &PAGE_OF_ITS_PHONE,
        });
        let policy = match own {
            Some(rate) => {
                rates.charge_owner(rate, self.id, app.now())?;
                rate.share
            }
            None => {
                rates.charge_guest(&PAGE, self.id, self.peer, app.now())?;
                PAGE.total
            }
        };
        rates.share(policy, &page.session_id).await?;
        app.join_trace(&page.session_id).await;
        Ok(())
    }

    /// The response to a failed authentication. Beyond the peer's limit it is a 429, or, where the
    /// API lists none, the 401 and the end of the connection.
    pub(crate) fn refuse_authentication(&self, error: HttpError) -> HttpError {
        if !matches!(error.code(), ErrorCode::InvalidApiKey | ErrorCode::InvalidAdminToken) {
            return error;
        }
        match self.gateway.rates.charge_failure(self.peer, self.gateway.app.now()) {
            Ok(()) => error,
            Err(excess) if self.trace.lists_429 => excess.into(),
            Err(_) => error.closing(),
        }
    }

    /// On wallet routes: the session or offer that the path names.
    pub(crate) fn handle(&self) -> Handle {
        Handle::of(self.id)
    }

    /// The session that its path names.
    pub(crate) fn session_id(&self) -> SessionId {
        SessionId::new(self.id)
    }

    /// The changing part of its address, as sent.
    pub(crate) fn part(&self) -> Result<Option<String>, HttpError> {
        let pages = self.gateway.app.shows_pages();
        match query::single(self.head.uri.query(), "part") {
            // Without pages this parameter is unknown, and unknown ones are ignored.
            Err(_) if !pages => Ok(None),
            part => Ok(part?.filter(|_| pages).map(Cow::into_owned)),
        }
    }

    /// The scheme that the query names, as a key of `deep_links`; `openid4vp` by default.
    pub(crate) fn link_scheme(&self) -> Result<LinkScheme, HttpError> {
        match query::single(self.head.uri.query(), "scheme")? {
            None => Ok(LinkScheme::Own(Scheme::OpenId4Vp)),
            Some(key) => self.gateway.app.link_scheme(&key).ok_or_else(HttpError::not_found),
        }
    }

    /// The sender's network, as the limits define networks.
    pub(crate) fn network(&self) -> String {
        peer::limit_key(self.peer).to_string()
    }

    pub(crate) fn has_body(&self) -> bool {
        !self.body.is_end_stream()
    }

    /// Turns the connection into a status stream once the 101 is sent.
    pub(crate) fn switch_to(self, stream: StatusStream) -> Result<(), HttpError> {
        let message = "this connection cannot be upgraded";
        let connection = self.connection.ok_or_else(|| HttpError::bad_handshake(message))?;
        let times = self.gateway.limits.streams.clone();
        let clock = self.gateway.clock().clone();
        self.trace.upgrade = Some(Upgrade { connection, stream, times, clock });
        Ok(())
    }

    /// The result of `work` that waits for another party. Meanwhile the client's place among the
    /// concurrent requests is released.
    pub(crate) async fn not_held<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, HttpError> {
        let done = self.gateway.turns.not_held(&mut self.trace.turn, work).await;
        done.map_err(|refused| self.refuse_too_many(refused))
    }

    /// Reads the body, after all checks that come before it. If the body was slow, the key is
    /// checked again.
    pub(crate) async fn read_body(self, limit: usize) -> Result<Received, BodyError> {
        let Gateway { app, limits, memory, verifying, .. } = self.gateway;
        let payer = self.payer();
        let (clock, time) = (&**app.clock(), limits.body_timeout);
        let bounds = Bounds { bytes: limit, clock, time, memory, payer, verifying };
        let mut reading = pin!(body::read(self.body, bounds));
        let received = match tokio::time::timeout(BODY_AT_HAND_WAIT, reading.as_mut()).await {
            Ok(received) => received?,
            Err(_slow) => {
                let turn = &mut self.trace.turn;
                let received = self.gateway.turns.not_held(turn, reading).await??;
                if self.trace.caller.is_some() {
                    look_again(app, &self.head.headers).await?;
                }
                received
            }
        };
        self.trace.body_read = true;
        Ok(received)
    }
}

/// The owner of a valid key, and the session read with it.
async fn look_up(
    app: &App,
    key: Option<&ApiKey>,
    session: Option<&SessionId>,
) -> Result<(Arc<Caller>, Option<FoundSession>), HttpError> {
    match session {
        None => Ok((auth::authenticate(app, key).await?, None)),
        Some(id) => {
            let (caller, session) = auth::authenticate_for(app, key, id).await?;
            Ok((caller, Some(session.map(boxed))))
        }
    }
}

/// Boxed, so that the futures of requests without a session stay small.
fn boxed(session: Option<Session>) -> Option<Box<Session>> {
    session.map(Box::new)
}

/// Whether the key is still valid.
async fn look_again(app: &App, headers: &HeaderMap) -> Result<(), BodyError> {
    let found = auth::authenticate(app, auth::api_key(headers).as_ref()).await;
    found.map(drop).map_err(|error| match error.code() {
        ErrorCode::InvalidApiKey => BodyError::KeyGone,
        _ => BodyError::Busy,
    })
}

impl Call<'_> {
    /// Reads the body, unless `check` fails first. A small body that arrived with the head is read
    /// immediately, because the use case makes the same check again.
    pub(crate) async fn read_body_if(
        self,
        check: impl Future<Output = Result<(), AppError>>,
        limit: usize,
    ) -> Result<Result<Received, BodyError>, HttpError> {
        let check = pin!(check);
        let (received, _checked_again) = self.read_body_or_check(check, limit).await?;
        Ok(received)
    }

    /// Like [`Self::read_body_if`], for a check that the use case does not repeat: it is made
    /// exactly once, before or after the body is read.
    pub(crate) async fn read_body_and<E>(
        self,
        check: impl Future<Output = Result<(), E>>,
        limit: usize,
    ) -> Result<Result<Received, BodyError>, HttpError>
    where
        HttpError: From<E>,
    {
        let check = pin!(check);
        let (received, unchecked) = self.read_body_or_check(check, limit).await?;
        if let (Ok(_), Some(check)) = (&received, unchecked) {
            check.await?;
        }
        Ok(received)
    }

    /// The body, and `check` if it has not run yet.
    async fn read_body_or_check<C, E>(
        self,
        check: C,
        limit: usize,
    ) -> Result<(Result<Received, BodyError>, Option<C>), HttpError>
    where
        C: Future<Output = Result<(), E>>,
        HttpError: From<E>,
    {
        let at_hand =
            self.body.size_hint().exact().is_some_and(|length| length <= BODY_AT_HAND_BYTES);
        let mut reading = pin!(self.read_body(limit));
        if at_hand
            && let Ok(received) = tokio::time::timeout(BODY_AT_HAND_WAIT, reading.as_mut()).await
        {
            return Ok((received, Some(check)));
        }
        check.await.map_err(|error| HttpError::from(error).closing())?;
        Ok((reading.await, None))
    }

    /// Who pays for the body's memory.
    fn payer(&self) -> Payer {
        match &self.trace.caller {
            Some(caller) => Payer::Client(caller.client_id.as_str().to_owned()),
            None if peer::is_trusted(self.peer, &self.gateway.trusted_proxies) => Payer::Proxy,
            None => Payer::Stranger(self.peer),
        }
    }
}
