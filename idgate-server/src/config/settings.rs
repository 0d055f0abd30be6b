//! Every setting by name, and where its value comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::secret_file;

/// One setting of the table.
#[derive(Debug)]
pub struct Setting {
    /// Its environment variable.
    pub variable: &'static str,
    /// Its name in the file, and with `-` for `_` as a flag.
    pub key: &'static str,
    /// The value if it is not set.
    pub default: Option<&'static str>,
    /// Whether it is never shown, and also accepted from a file under its name and `_FILE`.
    pub secret: bool,
    /// One line for people.
    pub help: &'static str,
}

impl Setting {
    /// Its flag, with `_` for `-`. A secret has a flag for its file only, because other users can
    /// see arguments.
    pub fn flag_key(&self) -> String {
        if self.secret { format!("{}_file", self.key) } else { self.key.to_owned() }
    }
}

/// A row is the variable, the key, the default or `secret`, and below them the help.
macro_rules! settings {
    ($($variable:literal $key:literal $(= $default:literal)? $($secret:ident)?: $help:literal;)*) => {
        &[$(Setting {
            variable: $variable,
            key: $key,
            default: the_one_of(&[$($default)?]),
            secret: the_one_of(&[$(stringify!($secret))?]).is_some(),
            help: $help,
        }),*]
    };
}

const fn the_one_of(given: &[&'static str]) -> Option<&'static str> {
    given.first().copied()
}

/// All settings, in the order in which they are shown.
pub static SETTINGS: &[Setting] = settings! {
    "IDGATE_DATA_DIR" "data_dir" = "./idgate-data":
        "Directory of the databases and the instance key";
    "IDGATE_DATABASE_URL" "database_url" secret:
        "PostgreSQL that several gateways share, for example postgres://user@host/database [default: the data directory]";
    "IDGATE_LISTEN" "listen" = "127.0.0.1:8080":
        "Address and port to listen on; port 0 lets the system choose";
    "IDGATE_BASE_URL" "base_url":
        "URL at which wallets reach the gateway [default: http://<listen address>]";
    "IDGATE_BEHIND_TLS_PROXY" "behind_tls_proxy" = "false":
        "true: a proxy in front terminates TLS";
    "IDGATE_DRAIN_DELAY" "drain_delay":
        "Seconds after SIGTERM to go on accepting while not ready [default: 5 behind a TLS proxy, else 0]";
    "IDGATE_TLS_CERT" "tls_cert":
        "Certificate chain for TLS in the gateway";
    "IDGATE_TLS_KEY" "tls_key":
        "Private key for TLS in the gateway";
    "OID4VP_REQUEST_MODE" "oid4vp_request_mode" = "inline":
        "How requests reach wallets: inline (in the link, unsigned) or jar (fetched, signed)";
    "IDGATE_PROFILES" "profiles" = "draft,1.0":
        "Profiles that sessions may use: draft, 1.0, haip; sessions that name none use the first";
    "IDGATE_CLIENT_ID" "client_id" = "did":
        "Client identifier of signed requests of 1.0: did, x509_san_dns or x509_hash";
    "IDGATE_REQUEST_URI_METHOD" "request_uri_method":
        "post: tell wallets of 1.0 and haip that they may POST for the request";
    "IDGATE_RESPONSE_MODE" "response_mode" = "auto":
        "Answers of 1.0: auto (encrypted if the request is signed), direct_post or direct_post.jwt";
    "IDGATE_DC_API" "dc_api" = "off":
        "Requests through browsers (Digital Credentials API), of 1.0 and haip: off, unsigned, signed or multisigned";
    "IDGATE_LINK_SCHEMES" "link_schemes" = "":
        "Further wallet schemes of links, separated by commas, for example mdoc-openid4vp";
    "IDGATE_DC_API_ISO" "dc_api_iso" = "auto":
        "Version of org-iso-mdoc requests: auto (1.1 with a registration certificate, else 1.0) or 1.0";
    "IDGATE_PAGE" "page" = "off":
        "on: sessions have a page for people";
    "IDGATE_PAGE_TURNING_QR" "page_turning_qr" = "on":
        "off: the QR code of a page stays the same, also for by-reference requests";
    "IDGATE_OPERATOR_NAME" "operator_name":
        "Name of the operator, shown on pages";
    "IDGATE_OPERATOR_PRIVACY_URL" "operator_privacy_url":
        "Privacy link of pages, https, unless their client has its own";
    "IDGATE_OPERATOR_HELP_URL" "operator_help_url":
        "Help link of pages, https, unless their client has its own";
    "IDGATE_ENVIRONMENT" "environment" = "development":
        "development, staging or production";
    "IDGATE_INSTANCE_KEY" "instance_key" secret:
        "Base64 of 32 bytes; seals secrets and claims [default: made in the data directory]";
    "IDGATE_INSTANCE_KEYS" "instance_keys" secret:
        "Several instance keys during a replacement, separated by commas: the first seals, all open";
    "IDGATE_DATABASE_WAIT" "database_wait" = "30":
        "Seconds that a start waits for a database that is not available yet, 0 to 300";
    "IDGATE_RATE_LIMITS" "rate_limits" = "on":
        "off: no rate limits, for load tests";
    "IDGATE_BODY_MEMORY" "body_memory" = "256":
        "MiB for request bodies in flight";
    "IDGATE_TRUSTED_PROXIES" "trusted_proxies" = "":
        "Address ranges of proxies whose X-Forwarded-For is trusted";
    "IDGATE_WALLET_ORIGINS" "wallet_origins" = "":
        "Origins of wallets that run in a browser, separated by commas, or *";
    "IDGATE_WEBHOOK_ALLOW_CIDRS" "webhook_allow_cidrs" = "":
        "Address ranges that webhooks may reach in addition to public ones";
    "IDGATE_WEBHOOK_ALLOW_HTTP" "webhook_allow_http" = "false":
        "true: test-mode clients may have http webhooks";
    "IDGATE_FETCH_ALLOW_CIDRS" "fetch_allow_cidrs" = "":
        "Address ranges that status lists and CRLs may come from, in addition to public ones";
    "IDGATE_EXTRA_CA_FILE" "extra_ca_file":
        "Additional roots for outgoing TLS, PEM";
    "IDGATE_AUDIT_CHECKPOINT_FILE" "audit_checkpoint_file":
        "File to which audit checkpoints are appended";
    "IDGATE_TRUST_REFRESH" "trust_refresh" = "on":
        "off: only `idgate trust refresh` fetches trusted lists";
    "IDGATE_TRUST_REFRESH_HOURS" "trust_refresh_hours" = "6":
        "Hours between two fetches of a trusted list, 1 to 24";
    "IDGATE_AUDIT_RETENTION" "audit_retention" = "0":
        "Days after which audit entries are removed; 0: never";
    "IDGATE_MAX_KEYS" "max_keys" = "100":
        "Live API keys of one client";
    "IDGATE_MAX_OPEN_SESSIONS_TEST" "max_open_sessions_test" = "10000":
        "Open sessions of one test-mode client";
    "IDGATE_MAX_OPEN_SESSIONS_LIVE" "max_open_sessions_live" = "1000000":
        "Open sessions of one live client";
    "IDGATE_LOG" "log" = "info":
        "Log filter, for example info or idgate=debug";
    "IDGATE_LOG_FORMAT" "log_format" = "text":
        "text or json";
    "OTEL_EXPORTER_OTLP_ENDPOINT" "otel_exporter_otlp_endpoint":
        "Collector of traces, for example http://localhost:4318; /v1/traces is appended [default: no traces]";
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" "otel_exporter_otlp_traces_endpoint":
        "The same as a complete URL, with nothing appended";
    "OTEL_EXPORTER_OTLP_PROTOCOL" "otel_exporter_otlp_protocol" = "http/protobuf":
        "http/protobuf";
    "OTEL_EXPORTER_OTLP_HEADERS" "otel_exporter_otlp_headers" secret:
        "Headers for the collector, separated by commas, for example authorization=Bearer%20TOKEN";
    "OTEL_EXPORTER_OTLP_TIMEOUT" "otel_exporter_otlp_timeout" = "10000":
        "Time limit for one request to the collector, in milliseconds";
    "OTEL_SERVICE_NAME" "otel_service_name":
        "The name of the gateway in traces [default: idgate]";
    "OTEL_RESOURCE_ATTRIBUTES" "otel_resource_attributes":
        "Further attributes of the gateway, separated by commas, for example deployment.environment.name=blue";
    "OTEL_TRACES_SAMPLER" "otel_traces_sampler" = "parentbased_always_on":
        "Which traces are recorded: always_on, always_off, traceidratio, or one of them after parentbased_";
    "OTEL_TRACES_SAMPLER_ARG" "otel_traces_sampler_arg":
        "The fraction for traceidratio, 0 to 1 [default: 1]";
    "OTEL_SDK_DISABLED" "otel_sdk_disabled" = "false":
        "true: no traces, whatever else is set";
};

/// Where a value came from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Origin {
    /// A command line flag, by name.
    Flag(String),
    /// An environment variable, by name.
    Environment(String),
    /// The settings file, by path, and the key in it.
    File(String, String),
    /// It is not set.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::File(path, key) => write!(f, "{key} in {path}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and its origin.
#[derive(Clone)]
pub struct Value {
    /// The text.
    pub text: Zeroizing<String>,
    /// Its origin.
    pub origin: Origin,
}

/// The operator's settings, before they are checked.
#[derive(Default)]
pub struct Settings {
    values: BTreeMap<&'static str, Value>,
    file: Option<PathBuf>,
    exposed: Vec<String>,
}

impl Settings {
    /// Collects from flags (by key), environment and file; the first of these that has a setting
    /// decides.
    ///
    /// # Errors
    /// An unknown name, an unreadable file, or a secret that is given twice; the text says which.
    pub fn collect(
        flags: &BTreeMap<String, String>,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&Path>,
    ) -> Result<Self, String> {
        let mut settings = Self { file: file.map(Path::to_owned), ..Self::default() };
        if let Some(path) = file {
            let given = from_file(path)?;
            let holds_secret = |given: &Given| given.setting.secret && !given.names_a_file;
            if given.iter().any(holds_secret) {
                settings.exposed.extend(secret_file::exposure(path));
            }
            settings.take(given)?;
        }
        settings.take(from_environment(environment).0)?;
        settings.take(from_flags(flags))?;
        if let Some(key) = settings.values.get("tls_key") {
            settings.exposed.extend(secret_file::exposure(Path::new(key.text.as_str())));
        }
        Ok(settings)
    }

    /// The files with secrets that other users may use, each in words with the remedy.
    pub fn exposed(&self) -> &[String] {
        &self.exposed
    }

    /// The value of the setting called `key`, or its default.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.values.get(key).cloned().or_else(|| {
            let setting = SETTINGS.iter().find(|setting| setting.key == key)?;
            let text = Zeroizing::new(setting.default?.to_owned());
            Some(Value { text, origin: Origin::Default })
        })
    }

    /// Whether the setting called `key` was set.
    pub fn names(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// The settings file, if one was given.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Takes the values of one source, which wins over weaker sources.
    fn take(&mut self, source: Vec<Given>) -> Result<(), String> {
        let mut taken: Vec<&'static str> = Vec::new();
        for Given { setting, text, origin, names_a_file } in source {
            if setting.secret && text.is_empty() {
                // A template leaves this for an unset variable.
                continue;
            }
            if taken.contains(&setting.key) {
                return Err(format!(
                    "{origin}: {} is also given directly; remove one of the two",
                    setting.variable
                ));
            }
            let text = if names_a_file { self.read_secret(&text, &origin)? } else { text };
            taken.push(setting.key);
            self.values.insert(setting.key, Value { text, origin });
        }
        Ok(())
    }

    fn read_secret(&mut self, path: &str, origin: &Origin) -> Result<Zeroizing<String>, String> {
        let (text, exposure) = secret_file::read(Path::new(path))
            .map_err(|error| format!("{origin}: the file {path} cannot be read: {error}"))?;
        self.exposed.extend(exposure);
        Ok(Zeroizing::new(text.trim().to_owned()))
    }
}

/// Environment variables with our prefix that are not settings. A misspelt one would silently leave
/// the default in force.
pub fn unknown_variables(
    environment: impl IntoIterator<Item = (String, String)>,
) -> impl Iterator<Item = String> {
    let names = from_environment(environment).1.into_iter();
    names.map(|name| format!("{name} is set, but there is no such setting"))
}

/// One value of a source.
struct Given {
    setting: &'static Setting,
    text: Zeroizing<String>,
    origin: Origin,
    names_a_file: bool,
}

/// The setting with the `name` in the spelling of `spell`, and whether the value is the path of a
/// file with the secret.
fn find(name: &str, suffix: &str, spell: fn(&Setting) -> &str) -> Option<(&'static Setting, bool)> {
    let whole = SETTINGS.iter().find(|setting| spell(setting) == name).map(|found| (found, false));
    whole.or_else(|| {
        let stem = name.strip_suffix(suffix)?;
        let found = SETTINGS.iter().find(|setting| setting.secret && spell(setting) == stem)?;
        Some((found, true))
    })
}

fn from_flags(flags: &BTreeMap<String, String>) -> Vec<Given> {
    let given = flags.iter().filter_map(|(key, text)| {
        let (setting, names_a_file) = find(key, "_file", |setting| setting.key)?;
        let origin = Origin::Flag(format!("--{}", key.replace('_', "-")));
        Some(Given { setting, text: Zeroizing::new(text.clone()), origin, names_a_file })
    });
    given.collect()
}

/// The settings in the environment, and unknown names with our prefix. Other programs share the
/// environment, so these are reported and not refused.
fn from_environment(
    environment: impl IntoIterator<Item = (String, String)>,
) -> (Vec<Given>, Vec<String>) {
    let (mut given, mut unknown) = (Vec::new(), Vec::new());
    for (name, text) in environment {
        let text = Zeroizing::new(text);
        if let Some((setting, names_a_file)) = find(&name, "_FILE", |setting| setting.variable) {
            given.push(Given { setting, text, origin: Origin::Environment(name), names_a_file });
        } else if name.starts_with("IDGATE_") {
            unknown.push(name);
        }
    }
    (given, unknown)
}

fn from_file(path: &Path) -> Result<Vec<Given>, String> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map(Zeroizing::new)
        .map_err(|error| format!("settings file {shown} cannot be read: {error}"))?;
    // The parser's own message quotes the line, which may hold a secret.
    let table = text.parse::<toml::Table>().map_err(|error| {
        let line = error.span().map_or(0, |span| line_of(&text, span.start));
        format!("settings file {shown} is not TOML: {} (line {line})", error.message())
    })?;
    let mut given = Vec::new();
    for (key, value) in table {
        let (setting, names_a_file) =
            find(&key, "_file", |setting| setting.key).ok_or_else(|| {
                format!("{key} in {shown}: there is no such setting; correct its name or remove it")
            })?;
        let text = text_of(&value).ok_or_else(|| {
            format!("{key} in {shown}: give a string, true, false, or an array of strings")
        })?;
        let origin = Origin::File(shown.clone(), key);
        given.push(Given { setting, text: Zeroizing::new(text), origin, names_a_file });
    }
    Ok(given)
}

/// The line of byte `at`, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count().saturating_add(1)
}

/// A TOML value in the form of an environment variable.
fn text_of(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Boolean(on) => Some(on.to_string()),
        toml::Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(toml::Value::as_str).collect();
            Some(items?.join(","))
        }
        _ => None,
    }
}
