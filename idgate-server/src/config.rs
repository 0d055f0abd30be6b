//! The gateway's settings: typed, checked once, secrets wrapped.

mod link_schemes;
mod profiles;
pub(crate) mod rules;
mod secret_file;
mod settings;
mod traces;
mod wallet_origins;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use idgate_core::{DcApi, Verifier};

pub use self::link_schemes::FurtherScheme;
pub use self::profiles::{ClientId, DRAFT_ALONE, OwnName, ResponseMode, SpokenProfiles};
use self::rules::one_of;
pub use self::settings::{Origin, SETTINGS, Setting, Settings, Value, unknown_variables};
pub use self::traces::Traces;
pub use self::wallet_origins::WalletOrigins;
pub use idgate::Cidr;
use idgate_store::seal::InstanceKey;
pub use idgate_store::{Address, Environment, Quotas};
use idgate_store::{SANDBOX_FILE, StoreOptions};

/// How requests reach wallets, and how answers come back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RequestMode {
    /// Unsigned, by value; answers are not encrypted.
    Inline,
    /// Signed Request Objects, fetched by the wallet; answers are encrypted.
    Jar,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// How sessions are shown to people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PageRules {
    /// Whether the QR code of a by-reference request changes.
    pub turning: bool,
    /// The operator.
    pub operator: Operator,
}

/// The operator, as people see it on pages.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Operator {
    /// Its name.
    pub name: Option<String>,
    /// Where pages lead for privacy, unless their client has an address of its own.
    pub privacy_url: Option<String>,
    /// Where they lead for help, likewise.
    pub help_url: Option<String>,
}

/// The files for TLS in the gateway.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TlsFiles {
    /// The certificate chain, leaf first, in PEM.
    pub cert: PathBuf,
    /// The private key of its first certificate, in PEM.
    pub key: PathBuf,
}

/// The settings in force.
#[derive(Clone, Debug)]
pub struct Config {
    /// Databases and instance key.
    pub data_dir: PathBuf,
    /// The database that several gateways share; `None`: those in the data directory.
    pub database: Option<Address>,
    /// How long a start waits for a database that is not available yet.
    pub database_wait: Duration,
    /// Where to listen; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// Where wallets reach the gateway; `None`: see [`Config::base_url_at`].
    pub base_url: Option<String>,
    /// Whether a proxy in front terminates TLS.
    pub behind_tls_proxy: bool,
    /// How long to go on accepting after SIGTERM, while not ready.
    pub drain_delay: Duration,
    /// For bodies in flight, in bytes.
    pub body_memory: usize,
    /// Certificate and key if this listener speaks TLS itself.
    pub tls: Option<TlsFiles>,
    /// The request profile of new sessions.
    pub request_mode: RequestMode,
    /// The profiles of OpenID4VP, and how they are spoken.
    pub profiles: SpokenProfiles,
    /// Pages for people; `None`: there are none.
    pub page: Option<PageRules>,
    /// Wallet schemes of links, in addition to those that every gateway has.
    pub link_schemes: Arc<[FurtherScheme]>,
    /// How strict to be about trust material.
    pub environment: Environment,
    /// The key that seals; `None`: the one in the data directory.
    pub instance_key: Option<InstanceKey>,
    /// `false`: no limits at all.
    pub rate_limits: bool,
    /// Peers whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<Cidr>,
    /// The origins of wallets that are pages in a browser.
    pub wallet_origins: WalletOrigins,
    /// Ranges that webhooks may reach, in addition to public ones.
    pub webhook_allow_cidrs: Vec<Cidr>,
    /// Whether test-mode clients may have http webhooks.
    pub webhook_allow_http: bool,
    /// Ranges that status lists and CRLs may come from, in addition to public ones.
    pub fetch_allow_cidrs: Vec<Cidr>,
    /// Additional roots for outgoing TLS.
    pub extra_ca_file: Option<PathBuf>,
    /// The file to which audit checkpoints are appended.
    pub audit_checkpoint_file: Option<PathBuf>,
    /// Filter of the log.
    pub log: String,
    /// Form of the log.
    pub log_format: LogFormat,
    /// The quotas of a client.
    pub quotas: Quotas,
    /// How long audit entries are kept, in days; 0: permanently.
    pub audit_retention_days: u64,
    /// Hours between two fetches of a trusted list; `None`: the gateway fetches none.
    pub trust_refresh_hours: Option<u64>,
    /// Where spans go; `None`: there are none.
    pub traces: Option<Traces>,
}

/// The settings of an operator command, which does not need those of the server.
#[derive(Clone, Debug)]
pub struct DataDir {
    /// Databases and instance key.
    pub path: PathBuf,
    /// The database that replaces it; then there is an instance key.
    pub database: Option<Address>,
    /// The key that seals; `None`: the one in the data directory.
    pub instance_key: Option<InstanceKey>,
}

impl DataDir {
    /// Checks these three of `settings`.
    ///
    /// # Errors
    /// The text says what is wrong, where it is set and what to do.
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let dir = Self {
            path: required(settings, "data_dir", non_empty)?.into(),
            database: optional(settings, "database_url", Address::parse)?,
            instance_key: optional(settings, "instance_key", instance_key)?,
        };
        let several = optional(settings, "instance_keys", instance_keys)?;
        if dir.instance_key.is_some() && several.is_some() {
            return Err(
                "IDGATE_INSTANCE_KEYS: is set, and IDGATE_INSTANCE_KEY as well; remove one of \
                        the two: of several keys, the first seals and all of them open"
                    .into(),
            );
        }
        let dir = Self { instance_key: dir.instance_key.or(several), ..dir };
        if dir.database.is_some() && dir.instance_key.is_none() {
            return Err("IDGATE_INSTANCE_KEY: is not set, nor is IDGATE_INSTANCE_KEYS, but \
                        IDGATE_DATABASE_URL is: all nodes of a database need the same key, and none \
                        of them makes it; make one with `openssl rand -base64 32` and keep a copy of \
                        it; for a copy of a data directory, set IDGATE_INSTANCE_KEY_FILE to its \
                        instance.key"
                .into());
        }
        Ok(dir)
    }
}

impl Config {
    /// Reads flags (by key), this process's environment and the settings file.
    ///
    /// # Errors
    /// The text says what is wrong, where it is set and what to do.
    pub fn load(flags: &BTreeMap<String, String>, file: Option<&Path>) -> Result<Self, String> {
        Self::new(&Settings::collect(flags, environment(), file)?)
    }

    /// Checks `settings`.
    ///
    /// # Errors
    /// The text says what is wrong, where it is set and what to do.
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let DataDir { path: data_dir, database, instance_key } = DataDir::new(settings)?;
        let behind_tls_proxy = required(settings, "behind_tls_proxy", rules::yes_no)?;
        let config = Self {
            data_dir,
            database,
            database_wait: required(settings, "database_wait", rules::seconds)?,
            listen: required(settings, "listen", rules::listen)?,
            base_url: optional(settings, "base_url", rules::base_url)?,
            behind_tls_proxy,
            drain_delay: drain_delay(settings, behind_tls_proxy)?,
            body_memory: required(settings, "body_memory", rules::body_memory)?,
            tls: tls_files(settings)?,
            request_mode: required(settings, "oid4vp_request_mode", one_of(REQUEST_MODES))?,
            profiles: SpokenProfiles {
                enabled: required(settings, "profiles", profiles::profiles)?,
                client_id: required(settings, "client_id", profiles::client_id)?,
                announces_post: optional(settings, "request_uri_method", profiles::method)?
                    .is_some(),
                response_mode: required(settings, "response_mode", profiles::response_mode)?,
                dc_api: required(settings, "dc_api", profiles::dc_api)?,
                device_requests: required(settings, "dc_api_iso", profiles::device_requests)?,
            },
            page: page(settings)?,
            link_schemes: required(settings, "link_schemes", link_schemes::parse)?,
            environment: required(settings, "environment", one_of(ENVIRONMENTS))?,
            instance_key,
            rate_limits: required(settings, "rate_limits", rules::on_off)?,
            trusted_proxies: required(settings, "trusted_proxies", rules::cidrs)?,
            wallet_origins: required(settings, "wallet_origins", WalletOrigins::parse)?,
            webhook_allow_cidrs: required(settings, "webhook_allow_cidrs", rules::cidrs)?,
            webhook_allow_http: required(settings, "webhook_allow_http", rules::yes_no)?,
            fetch_allow_cidrs: required(settings, "fetch_allow_cidrs", rules::cidrs)?,
            extra_ca_file: optional(settings, "extra_ca_file", readable_file)?,
            audit_checkpoint_file: audit_checkpoint_file(settings)?,
            log: required(settings, "log", log_filter)?,
            log_format: required(settings, "log_format", one_of(LOG_FORMATS))?,
            quotas: Quotas {
                keys: required(settings, "max_keys", rules::count)?,
                open_sessions_test: required(settings, "max_open_sessions_test", rules::count)?,
                open_sessions_live: required(settings, "max_open_sessions_live", rules::count)?,
            },
            audit_retention_days: required(settings, "audit_retention", rules::days)?,
            trust_refresh_hours: trust_refresh_hours(settings)?,
            traces: Traces::new(settings)?,
        };
        config.check_folder()?;
        config.check_listener()?;
        config.check_base_url()?;
        config.check_identity()?;
        config.check_browsers()?;
        Ok(config)
    }

    /// The options of a store in the data directory.
    pub fn store_options(&self) -> StoreOptions<'_> {
        StoreOptions {
            instance_key: self.instance_key.as_ref(),
            environment: self.environment,
            quotas: self.quotas,
        }
    }

    /// The base URL of a gateway that listens at `bound`.
    pub fn base_url_at(&self, bound: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.base_url.clone().unwrap_or_else(|| format!("{scheme}://{bound}"))
    }

    /// A sandbox trusts sample issuers, whose keys are in its folder.
    fn check_folder(&self) -> Result<(), String> {
        let is_development = self.environment == Environment::Development;
        if is_development || self.database.is_some() || !self.data_dir.join(SANDBOX_FILE).exists() {
            return Ok(());
        }
        Err(format!(
            "IDGATE_ENVIRONMENT: {}, and {} is the folder of a sandbox, which is for development only; \
             set IDGATE_DATA_DIR to another",
            self.environment.name(),
            self.data_dir.display()
        ))
    }

    /// The base URL in force, including one made of the listen address. With an http URL, a wallet
    /// would not reach a listener that speaks TLS.
    fn check_base_url(&self) -> Result<(), String> {
        let url = self.base_url_at(self.listen);
        rules::base_url(&url).map_err(|why| format!("IDGATE_BASE_URL: {url} {why}"))?;
        if self.tls.is_some() && url.starts_with("http://") {
            return Err(format!(
                "IDGATE_BASE_URL: {url} is http, and this listener speaks TLS; write https://, or \
                 unset IDGATE_TLS_CERT and IDGATE_TLS_KEY"
            ));
        }
        Ok(())
    }

    /// Wallets find the keys of a signed request by a did:web, which needs a host name.
    fn check_identity(&self) -> Result<(), String> {
        let base_url = self.base_url_at(self.listen);
        let is_development = self.environment == Environment::Development;
        if self.request_mode == RequestMode::Inline
            || is_development
            || Verifier::host_name(&base_url).is_some()
        {
            return Ok(());
        }
        Err(format!(
            "IDGATE_BASE_URL: {base_url} has an IP address as its host, and a did:web needs a name; \
             set it to a URL such as https://gateway.example, or set OID4VP_REQUEST_MODE=inline"
        ))
    }

    fn check_browsers(&self) -> Result<(), String> {
        if self.profiles.dc_api == DcApi::Off || self.profiles.are_newer() {
            return Ok(());
        }
        Err("IDGATE_DC_API: requests through browsers exist in 1.0 and haip only; enable one of \
             them in IDGATE_PROFILES, or unset it"
            .into())
    }

    fn check_listener(&self) -> Result<(), String> {
        let listen = self.listen;
        if listen.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        if !self.behind_tls_proxy && self.tls.is_none() {
            return Err(format!(
                "IDGATE_LISTEN: {listen} is reachable from outside and this listener is plain HTTP; \
                 listen on 127.0.0.1, set IDGATE_TLS_CERT and IDGATE_TLS_KEY, or put a TLS proxy in \
                 front and set IDGATE_BEHIND_TLS_PROXY=true"
            ));
        }
        if self.base_url.is_none() {
            return Err(format!(
                "IDGATE_BASE_URL: not set, and {listen} is not an address that wallets can use; \
                 set it to the URL that they use, for example https://gateway.example"
            ));
        }
        Ok(())
    }
}

const REQUEST_MODES: [(&str, RequestMode); 2] =
    [("inline", RequestMode::Inline), ("jar", RequestMode::Jar)];
const LOG_FORMATS: [(&str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];
const ENVIRONMENTS: [(&str, Environment); 3] = [
    (Environment::Development.name(), Environment::Development),
    (Environment::Staging.name(), Environment::Staging),
    (Environment::Production.name(), Environment::Production),
];

/// The pages of sessions; `None`: there are none.
fn page(settings: &Settings) -> Result<Option<PageRules>, String> {
    let turning = required(settings, "page_turning_qr", rules::on_off)?;
    let on = required(settings, "page", rules::on_off)?;
    let operator = Operator {
        name: optional(settings, "operator_name", rules::shown_name)?,
        privacy_url: optional(settings, "operator_privacy_url", rules::page_link)?,
        help_url: optional(settings, "operator_help_url", rules::page_link)?,
    };
    Ok(on.then_some(PageRules { turning, operator }))
}

/// The variables of this process that are text; others cannot be settings.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    })
}

/// The file for audit checkpoints outside the data directory; commands read it too.
///
/// # Errors
/// It cannot be read as a path.
pub fn audit_checkpoint_file(settings: &Settings) -> Result<Option<PathBuf>, String> {
    optional(settings, "audit_checkpoint_file", non_empty).map(|path| path.map(PathBuf::from))
}

/// Both files or neither.
fn tls_files(settings: &Settings) -> Result<Option<TlsFiles>, String> {
    let cert = optional(settings, "tls_cert", readable_file)?;
    let key = optional(settings, "tls_key", readable_file)?;
    match (cert, key) {
        (Some(cert), Some(key)) => Ok(Some(TlsFiles { cert, key })),
        (None, None) => Ok(None),
        (Some(_), None) => {
            Err("IDGATE_TLS_KEY: is not set, but IDGATE_TLS_CERT is; set both".into())
        }
        (None, Some(_)) => {
            Err("IDGATE_TLS_CERT: is not set, but IDGATE_TLS_KEY is; set both".into())
        }
    }
}

fn trust_refresh_hours(settings: &Settings) -> Result<Option<u64>, String> {
    let hours = required(settings, "trust_refresh_hours", rules::hours)?;
    Ok(required(settings, "trust_refresh", rules::on_off)?.then_some(hours))
}

/// A proxy checks readiness every few seconds; without a proxy, no delay is needed.
fn drain_delay(settings: &Settings, behind_tls_proxy: bool) -> Result<Duration, String> {
    let delay = optional(settings, "drain_delay", rules::seconds)?;
    Ok(delay.unwrap_or(Duration::from_secs(if behind_tls_proxy { 5 } else { 0 })))
}

/// The checked value of a setting that may be absent; an empty one counts as absent.
fn optional<T>(
    settings: &Settings,
    key: &str,
    check: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let Some(value) = settings.get(key).filter(|value| !value.text.is_empty()) else {
        return Ok(None);
    };
    check(&value.text).map(Some).map_err(|why| located(key, &value.origin, &why))
}

/// The checked value of a setting that has a default.
fn required<T>(
    settings: &Settings,
    key: &str,
    check: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, String> {
    let value = settings.get(key).ok_or_else(|| format!("{key}: is not set"))?;
    check(&value.text).map_err(|why| located(key, &value.origin, &why))
}

fn located(key: &str, origin: &Origin, why: &str) -> String {
    let variable = SETTINGS.iter().find(|setting| setting.key == key).map_or(key, |s| s.variable);
    match origin {
        Origin::Environment(name) if name == variable => format!("{variable}: {why}"),
        _ => format!("{variable} ({origin}): {why}"),
    }
}

fn non_empty(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("must not be empty".into()) } else { Ok(text.to_owned()) }
}

fn instance_key(text: &str) -> Result<InstanceKey, String> {
    InstanceKey::parse(text)
        .ok_or_else(|| "must be base64 of 32 bytes; make it with `openssl rand -base64 32`".into())
}

fn instance_keys(text: &str) -> Result<InstanceKey, String> {
    InstanceKey::parse_several(text).ok_or_else(|| {
        "must be keys made with `openssl rand -base64 32`, with commas between them; the first \
         seals"
            .into()
    })
}

fn readable_file(text: &str) -> Result<PathBuf, String> {
    std::fs::read(text).map_err(|error| format!("the file {text} cannot be read: {error}"))?;
    Ok(text.into())
}

fn log_filter(text: &str) -> Result<String, String> {
    tracing_subscriber::EnvFilter::try_new(text)
        .map(|_| text.to_owned())
        .map_err(|_| "is not a log filter; write for example info, or idgate=debug,info".into())
}

#[cfg(test)]
mod tests;
