//! Logs to stderr. A request is one line of fixed fields: never claims, tokens, nonces, keys,
//! headers, query strings or raw paths, so nothing has to be filtered out. Logging never blocks and
//! never fails, whatever stderr is.

mod ids;
mod noise;
mod outlet;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::json;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{self, JsonFields};

use self::ids::WithIds;
pub(crate) use self::noise::{Line, Noise, What};
use self::outlet::Outlet;
use crate::config::{Config, LogFormat};
use idgate_base::clock::{Clock as _, SystemClock};

/// Time for waiting lines when the process ends.
const LAST_LINES: Duration = Duration::from_millis(500);

/// The log output of this process, once it is set up.
static OUTLET: OnceLock<Outlet> = OnceLock::new();

/// Sends logs to stderr in the configured format. Panic messages are reduced to their location,
/// because they may contain personal data.
///
/// # Errors
/// The filter cannot be read, or logging is set up already.
pub fn init(config: &Config) -> Result<(), String> {
    let cannot = |error: &dyn fmt::Display| format!("cannot set up logging: {error}");
    let filter = EnvFilter::try_new(&config.log).map_err(|error| format!("IDGATE_LOG: {error}"))?;
    let form = config.log_format;
    // A separate descriptor, so that a blocked write does not hold the lock of `io::stderr`.
    let stderr = io::stderr().as_fd().try_clone_to_owned().map_err(|error| cannot(&error))?;
    let tell = move |lost: u64| own_line(form, "WARN", "log lines were lost", ("count", &lost));
    let outlet = Outlet::to(File::from(stderr), tell).map_err(|error| cannot(&error))?;
    let lines = outlet.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .with_writer(move || lines.clone());
    let set = match form {
        LogFormat::Text => {
            let inner = format::format().with_ansi(false);
            subscriber.with_ansi(false).event_format(WithIds { inner, format: form }).try_init()
        }
        LogFormat::Json => {
            let inner = format::format().json().flatten_event(true);
            subscriber
                .fmt_fields(JsonFields::new())
                .event_format(WithIds { inner, format: form })
                .try_init()
        }
    };
    set.map_err(|error| cannot(&error))?;
    let outlet = OUTLET.get_or_init(|| outlet);
    std::panic::set_hook(Box::new(move |panic| {
        let at = panic.location().map(ToString::to_string).unwrap_or_default();
        // Directly to the outlet: a second panic here would abort the process.
        outlet.line(&own_line(form, "ERROR", "panic", ("at", &at)));
    }));
    Ok(())
}

/// Lines that could not be written since this process started.
pub(crate) fn lost_lines() -> u64 {
    OUTLET.get().map_or(0, Outlet::lost)
}

/// Waits for the last lines to be written, for a bounded time.
pub fn flush() {
    if let Some(outlet) = OUTLET.get() {
        outlet.flush(LAST_LINES);
    }
}

/// A line in the format of all others, built without tracing.
fn own_line(
    format: LogFormat,
    level: &str,
    message: &str,
    (name, value): (&str, &dyn fmt::Display),
) -> Vec<u8> {
    let timestamp = SystemClock.now();
    let value = value.to_string();
    let line = match format {
        LogFormat::Text => format!("{timestamp} {level:>5} idgate: {message} {name}={value}\n"),
        LogFormat::Json => {
            let line = json!({
                "timestamp": timestamp.to_string(), "level": level, "message": message,
                name: value, "target": "idgate",
            });
            format!("{line}\n")
        }
    };
    line.into_bytes()
}

/// The canonical log line of a request, with all fields that may be logged.
pub(crate) struct RequestLine<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) method: &'static str,
    /// The path template; `None` for an unknown path.
    pub(crate) route: Option<&'static str>,
    pub(crate) status: u16,
    pub(crate) error: Option<&'static str>,
    /// The cause of a fault, for the operator.
    pub(crate) cause: Option<&'a str>,
    pub(crate) latency_us: u64,
    pub(crate) client_id: Option<&'a str>,
    pub(crate) key_id: Option<&'a str>,
    pub(crate) livemode: Option<bool>,
    pub(crate) peer: &'a dyn fmt::Display,
    /// Length of the response body.
    pub(crate) bytes: u64,
}

impl RequestLine<'_> {
    /// Writes the line: faults of the gateway as errors, everything else as information.
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn own_lines_have_the_form_of_the_others() {
        let text = own_line(LogFormat::Text, "WARN", "log lines were lost", ("count", &3));
        let text = String::from_utf8(text).unwrap();
        assert!(text.ends_with("Z  WARN idgate: log lines were lost count=3\n"), "{text}");
        let json = own_line(LogFormat::Json, "ERROR", "panic", ("at", &"src/x.rs:1:2"));
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!((&json["level"], &json["message"]), (&json!("ERROR"), &json!("panic")));
        assert_eq!(json["at"], "src/x.rs:1:2");
    }
}
