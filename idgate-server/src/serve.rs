//! The running gateway: its parts in the order of start and, in reverse, of stop.

use std::net::SocketAddr;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use idgate::Fetcher;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::app::{App, AppError, Observer, WebhookRules};
use crate::config::{Config, DRAFT_ALONE, Environment};
use crate::descriptors;
use crate::failure::Failure;
use crate::http::{AddedRoutes, Gateway, HttpLimits, Tls, listener};
use crate::log;
use crate::service_manager;
use crate::stdio;
use crate::work;
use crate::work::certificate_watch::CertificateWatch;
use crate::work::checkpoints::Checkpoints;
use crate::work::delivery::{Courier, Delivery};
use crate::work::list_refresh::ListRefresh;
use crate::work::spans::SpanExport;
use crate::work::status_renewal::StatusRenewal;
use crate::work::supervisor::Supervisor;
use crate::work::sweeper::Sweeper;
use idgate_base::clock::{Clock, WatchedClock};
use idgate_base::spans::Tracer;
use idgate_base::task::boxed;
use idgate_store::upkeep::Upkeep;
use idgate_store::{Store, StoreError};

/// Time for work in progress after everything else has stopped, for example a sweep or a large
/// answer.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Time for webhooks in progress: one takes 15 s at most, plus its commit.
const LAST_EXCHANGES: Duration = Duration::from_secs(17);

/// Between two attempts of a step while the database is away.
const AGAIN: Duration = Duration::from_millis(500);
/// A longer step of the start is named in the log.
const SLOW_STEP: Duration = Duration::from_secs(5);

/// A serving gateway. Dropping it stops it, too, but without waiting.
pub struct RunningGateway {
    base_url: String,
    local_addr: SocketAddr,
    tls: Option<Arc<Tls>>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    /// Tests wait for requests in progress in it.
    #[cfg(test)]
    pub(crate) gateway: Arc<Gateway>,
}

impl RunningGateway {
    /// The address for wallets and tenants.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The address on which it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Reads certificate and key again, if the listener speaks TLS. Unusable files are logged and
    /// change nothing.
    pub fn reload(&self) {
        match self.tls.as_ref().map(|tls| tls.reload()) {
            Some(Ok(())) => tracing::info!("SIGHUP: certificate and key were reloaded"),
            Some(Err(error)) => tracing::error!(error, "SIGHUP: the old certificate stays in use"),
            None => tracing::info!(
                "SIGHUP: nothing to reload, because the gateway does not terminate TLS"
            ),
        }
    }

    /// Reports not ready, continues for the drain delay, then accepts no more connections, lets
    /// requests in progress finish (25 s at most), and stops.
    pub async fn shutdown(self) {
        // If the task has already ended, nobody receives this.
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

/// Starts a gateway in this runtime.
///
/// # Errors
/// The address is in use, or the store cannot be used; the text says what to do.
pub async fn start(
    config: &Config,
    clock: Arc<dyn Clock>,
    store: Arc<Store>,
) -> Result<RunningGateway, String> {
    start_with(config, clock, store, Variations::default()).await
}

/// How a gateway differs from the one that [`start`] starts.
#[derive(Default)]
pub struct Variations {
    /// The limits on peers.
    pub limits: HttpLimits,
    /// Additional routes on its public listener.
    pub routes: Option<Arc<dyn AddedRoutes>>,
    /// Whether admin endpoints and `/metrics` answer 404.
    pub hides_admin: bool,
    /// Observes its sessions.
    pub observer: Option<Arc<dyn Observer>>,
}

/// Starts a gateway like [`start`], with variations.
///
/// # Errors
/// As [`start`].
pub async fn start_with(
    config: &Config,
    clock: Arc<dyn Clock>,
    store: Arc<Store>,
    variations: Variations,
) -> Result<RunningGateway, String> {
    let Variations { limits, routes, hides_admin, observer } = variations;
    let upkeep =
        Upkeep::new(store.clone(), clock.clone()).keeping_audit(config.audit_retention_days);
    // Results that became due while no gateway ran are erased before the first request.
    let wait = Wait { clock: &*clock, most: config.database_wait };
    let purging = wait.out(|| upkeep.purge(), is_away);
    unless_full(step(&*clock, "erasing expired results", purging).await)?;
    // No other process can have started a verification: the store is exclusively this one's.
    let releasing = wait.out(|| upkeep.release(), is_away);
    let what = "releasing interrupted verifications";
    unless_full(step(&*clock, what, releasing).await)?;
    let file = config.audit_checkpoint_file.as_deref();
    let checkpoints = Checkpoints::new(store.clone(), clock.clone(), file)?;
    let certificates = CertificateWatch::new(store.clone(), clock.clone());
    let supervisor = Arc::new(Supervisor::new(store.telemetry().clone()));
    let tls = config.tls.as_ref().map(Tls::load).transpose()?.map(Arc::new);
    let listener = bind(config.listen).await?;
    let local_addr = listener.local_addr().map_err(|error| error.to_string())?;
    let base_url = config.base_url_at(local_addr);
    let egress = work::way_out(config.fetch_allow_cidrs.clone(), config.extra_ca_file.as_deref())?;
    let egress = egress.avoiding(local_addr);
    let to_lists = Arc::new(egress.sibling(config.fetch_allow_cidrs.clone()));
    let (lists, time) = (store.clone(), clock.clone());
    let refresh = |hours| ListRefresh::new(lists, time, to_lists, hours);
    let lists = config.trust_refresh_hours.map(refresh);
    let to_webhooks = Arc::new(egress.sibling(config.webhook_allow_cidrs.clone()));
    let allow_http = config.webhook_allow_http;
    let (outbox, time, way_out) = (store.clone(), clock.clone(), to_webhooks.clone());
    let tracer = config.traces.as_ref().map(|traces| Tracer::new(traces.sampler));
    let extra_ca = config.extra_ca_file.as_deref();
    let export = |(tracer, traces)| SpanExport::new(tracer, traces, extra_ca);
    let spans = tracer.clone().zip(config.traces.as_ref()).map(export).transpose()?;
    let recorder = tracer.clone();
    let delivery = move || {
        let courier = Courier::new(PROVIDER, way_out.clone(), allow_http);
        Delivery::new(outbox.clone(), time.clone(), courier, recorder.clone())
    };
    let fetcher = Arc::new(Fetcher::over(egress));
    let statuses = StatusRenewal::new(store.clone(), clock.clone(), PROVIDER, fetcher.clone());
    let mut app = App::new(store, clock, PROVIDER, &*base_url, fetcher);
    app.request_mode = config.request_mode;
    app.profiles = config.profiles.clone();
    app.any_origin = config.environment == Environment::Development;
    app.pages = config.page.clone();
    app.link_schemes = config.link_schemes.clone();
    app.verification_time = limits.verification_timeout;
    app.observer = observer;
    app.webhook_rules = WebhookRules { allow_http, egress: Some(to_webhooks) };
    let app = Arc::new(app);
    let wait = Wait { clock: &**app.clock(), most: config.database_wait };
    let is_away = |error: &AppError| matches!(error, AppError::Unavailable(_));
    let reading = wait.out(|| app.verifier(), is_away);
    step(wait.clock, "reading trust and keys", reading).await.map_err(explain)?;
    let mut gateway = Gateway::new(app, limits, config.trusted_proxies.clone())
        .with_rate_limits(config.rate_limits)
        .with_body_memory(config.body_memory);
    gateway.wallet_origins = config.wallet_origins.clone();
    gateway.tls = tls.clone();
    gateway.tracer = tracer;
    gateway.added = routes;
    gateway.hides_admin = hides_admin;
    gateway.supervisor = Some(supervisor.clone());
    let gateway = Arc::new(gateway);
    let (stop, stopped) = watch::channel(false);
    let (close, closing) = watch::channel(false);
    tokio::spawn(boxed(leave(gateway.clone(), stopped, config.drain_delay, close)));
    let sweeper = Sweeper::new(upkeep);
    let parts =
        Parts { supervisor, sweeper, checkpoints, certificates, lists, statuses, delivery, spans };
    #[cfg(test)]
    let seen = gateway.clone();
    let task = tokio::spawn(run_parts(gateway, listener, parts, closing));
    Ok(RunningGateway {
        base_url,
        local_addr,
        tls,
        stop,
        task,
        #[cfg(test)]
        gateway: seen,
    })
}

/// Runs the gateway of `idgate serve` until a signal ends it. `open_store` is called once logging
/// works; its error says what to do. `json`: print a JSON object to stdout.
pub fn run(
    config: &Config,
    json: bool,
    open_store: impl FnOnce(&Config, Arc<dyn Clock>) -> Result<Arc<Store>, Failure>,
) -> ExitCode {
    let served = run_until_signal(config, json, open_store);
    log::flush();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

fn run_until_signal(
    config: &Config,
    json: bool,
    open_store: impl FnOnce(&Config, Arc<dyn Clock>) -> Result<Arc<Store>, Failure>,
) -> Result<(), Failure> {
    log::init(config)?;
    descriptors::raise_limit();
    let clock: Arc<dyn Clock> = Arc::new(WatchedClock::new());
    let store = step_apart("opening the store", || open_store(config, clock.clone()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start threads: {error}"))?;
    let served = runtime.block_on(serve_until_signal(config, json, clock, store));
    runtime.shutdown_timeout(LAST_WORDS);
    served.map_err(Failure::from)
}

async fn serve_until_signal(
    config: &Config,
    json: bool,
    clock: Arc<dyn Clock>,
    store: Arc<Store>,
) -> Result<(), String> {
    let cannot = |error| format!("cannot listen for signals: {error}");
    // Before the announcement: its reader may send a signal immediately.
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(cannot)?;
    let running = start(config, clock, store).await?;
    tokio::spawn(boxed(service_manager::stay_alive()));
    let (address, base_url) = (running.local_addr(), running.base_url());
    tracing::info!(base_url, "bound to {address}");
    if !config.profiles.are_newer() {
        tracing::warn!("{DRAFT_ALONE}");
    }
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let announcement = announcement(&format!("{scheme}://{address}"), base_url, json);
    // Not awaited: if nobody reads stdout, signals must still work.
    tokio::task::spawn_blocking(move || {
        // Earlier log lines are written before the announcement can be read.
        log::flush();
        stdio::to_stdout(announcement);
    });
    service_manager::ready();
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => {
                service_manager::reloading();
                running.reload();
                service_manager::ready();
            }
        }
    }
    tracing::info!("stopping");
    service_manager::stopping();
    tokio::select! {
        () = running.shutdown() => {}
        // A second signal ends the wait.
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// The one line on stdout: where the gateway listens and, if different, where wallets reach it.
fn announcement(listening: &str, base_url: &str, json: bool) -> String {
    if json {
        let said = serde_json::json!({ "base_url": base_url, "listening": listening });
        format!("{said}\n")
    } else if listening == base_url {
        format!("listening on {listening}\n")
    } else {
        format!("listening on {listening}, reached at {base_url}\n")
    }
}

/// How long a start waits for an unreachable database.
#[derive(Clone, Copy)]
struct Wait<'c> {
    clock: &'c dyn Clock,
    most: Duration,
}

impl Wait<'_> {
    /// The result of `work`, which is repeated while the database is unreachable.
    async fn out<T, E, F: Future<Output = Result<T, E>>>(
        self,
        work: impl Fn() -> F,
        is_away: impl Fn(&E) -> bool,
    ) -> Result<T, E> {
        let began = self.clock.steady();
        loop {
            let outcome = work().await;
            let waited = self.clock.steady().saturating_sub(began);
            if waited >= self.most || !outcome.as_ref().is_err_and(&is_away) {
                return outcome;
            }
            self.clock.sleep(AGAIN).await;
        }
    }
}

fn is_away(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_))
}

/// Runs a step of the start, and logs its name while it takes long.
async fn step<T>(clock: &dyn Clock, what: &str, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = clock.timeout(SLOW_STEP, work.as_mut()).await {
        return done;
    }
    tell_slow(what);
    let done = work.await;
    tracing::info!("start: {what}: done");
    done
}

/// The same for a step that blocks its thread.
fn step_apart<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(SLOW_STEP) == Err(RecvTimeoutError::Timeout) {
                tell_slow(what);
            }
        });
        let outcome = work();
        drop(done);
        outcome
    })
}

fn tell_slow(what: &str) {
    tracing::warn!("start: {what} takes more than {} s", SLOW_STEP.as_secs());
}

/// Once `stopped`: not ready any more, so that load balancers send no new clients. Clients that
/// come anyway are answered, and each connection is closed after its response. After `delay` the
/// listener is told to close.
async fn leave(
    gateway: Arc<Gateway>,
    mut stopped: watch::Receiver<bool>,
    delay: Duration,
    close: watch::Sender<bool>,
) {
    work::stop::stopped(&mut stopped).await;
    gateway.start_draining();
    gateway.clock().sleep(delay).await;
    // If everything has already ended, nobody receives this.
    let _ = close.send(true);
}

/// The background tasks.
struct Parts<D> {
    supervisor: Arc<Supervisor>,
    sweeper: Sweeper,
    checkpoints: Checkpoints,
    certificates: CertificateWatch,
    lists: Option<ListRefresh>,
    statuses: StatusRenewal,
    /// Creates the webhook deliverer.
    delivery: D,
    /// `None` if nothing is traced.
    spans: Option<SpanExport>,
}

/// Serves until stopped. The sweeper ends last, so that results are erased on time during the
/// drain.
async fn run_parts(
    gateway: Arc<Gateway>,
    listener: TcpListener,
    parts: Parts<impl Fn() -> Delivery + Send + 'static>,
    stopped: watch::Receiver<bool>,
) {
    let Parts { supervisor, sweeper, checkpoints, certificates, lists, statuses, delivery, spans } =
        parts;
    let (stop_sweeper, sweeper_stopped) = watch::channel(false);
    let sign = move |stop| checkpoints.clone().run(stop);
    let signing = supervisor.clone().keep("checkpoints", sweeper_stopped.clone(), sign);
    let signing = tokio::spawn(boxed(signing));
    let look = move |stop| certificates.clone().run(stop);
    tokio::spawn(boxed(supervisor.clone().keep("certificates", stopped.clone(), look)));
    if let Some(lists) = lists {
        let renew = move |stop| lists.clone().run(stop);
        tokio::spawn(boxed(supervisor.clone().keep("trusted_lists", stopped.clone(), renew)));
    }
    let renew = move |stop| statuses.clone().run(stop);
    tokio::spawn(boxed(supervisor.clone().keep("status_lists", stopped.clone(), renew)));
    let (stop_spans, spans_stopped) = watch::channel(false);
    let exporting = spans.map(|spans| tokio::spawn(boxed(spans.run(spans_stopped))));
    let sweeping = tokio::spawn(boxed(sweeper.run(supervisor.clone(), sweeper_stopped)));
    // Starts nothing new once the drain begins, so that it ends before the drain does.
    let deliver = move |stop| delivery().run(stop);
    let delivering = tokio::spawn(boxed(supervisor.keep("delivery", stopped.clone(), deliver)));
    let telling = tokio::spawn({
        let gateway = gateway.clone();
        async move { gateway.summarise_noise().await }
    });
    listener::serve(gateway.clone(), listener, stopped).await;
    telling.abort();
    gateway.tell_noise();
    let _ = tokio::time::timeout(LAST_EXCHANGES, delivering).await;
    drop(stop_sweeper);
    // A store that no longer answers must not keep the process alive.
    let _ = tokio::time::timeout(LAST_WORDS, async { tokio::join!(sweeping, signing) }).await;
    drop(stop_spans);
    if let Some(exporting) = exporting {
        // Bounded by its own time limit.
        let _ = exporting.await;
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).await.map_err(|error| {
        format!(
            "IDGATE_LISTEN: cannot listen on {address}: {error}; choose another address or port"
        )
    })
}

fn explain(error: AppError) -> String {
    match error {
        AppError::Fault(cause) | AppError::Unavailable(cause) => cause,
        other => format!("the gateway cannot start: {other:?}"),
    }
}

/// The gateway starts even on a full disk: it reports not ready, serves what it has, and erases.
fn unless_full(outcome: Result<usize, StoreError>) -> Result<(), String> {
    match outcome {
        Ok(_) | Err(StoreError::Full) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
