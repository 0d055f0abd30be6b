//! Logs go to stderr. A request is one line of named, allowed fields: never claims, tokens, nonces,
//! keys, headers, query strings or raw paths, so that nothing has to be filtered out.

use std::fmt;
use std::io;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// Sends logs to stderr in the configured form, and reduces panic messages to where they happened:
/// what they say may be somebody's data.
///
/// # Errors
/// The filter cannot be read, or logging is set up already.
pub fn init(config: &Config) -> Result<(), String> {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| format!("IDGATE_LOG: {error}"))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let set = match config.log_format {
        LogFormat::Text => subscriber.with_ansi(false).try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
    set.map_err(|error| format!("cannot set up logging: {error}"))?;
    std::panic::set_hook(Box::new(|panic| {
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(at, "panic");
    }));
    Ok(())
}

/// The canonical line of one request: every field that may be logged, and no other.
pub(crate) struct RequestLine<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) method: &'static str,
    /// The template of the path; `None` when there is nothing at it.
    pub(crate) route: Option<&'static str>,
    pub(crate) status: u16,
    pub(crate) error: Option<&'static str>,
    /// Why the gateway failed, for its operator.
    pub(crate) cause: Option<&'a str>,
    pub(crate) latency_us: u64,
    pub(crate) client_id: Option<&'a str>,
    pub(crate) key_id: Option<&'a str>,
    pub(crate) livemode: Option<bool>,
    pub(crate) peer: &'a dyn fmt::Display,
    /// Length of the answer's body.
    pub(crate) bytes: u64,
}

impl RequestLine<'_> {
    /// Writes the line: a fault of the gateway as an error, anything else as information.
    pub(crate) fn write(&self) {
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    request_id = self.request_id,
                    method = self.method,
                    route = self.route,
                    status = self.status,
                    error = self.error,
                    cause = self.cause,
                    latency_ms = self.latency_us / 1000,
                    client_id = self.client_id,
                    key_id = self.key_id,
                    livemode = self.livemode,
                    peer = %self.peer,
                    bytes = self.bytes,
                    "request"
                )
            };
        }
        if self.cause.is_some() { line!(error) } else { line!(info) }
    }
}
