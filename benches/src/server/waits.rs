//! The waits of a good client, without and with other load.

use std::net::SocketAddr;
use std::time::Duration;

use idgate_testkit::samples;
use serde_json::json;

use super::flow::Connection;

/// The time between two requests: a good client keeps to its rate.
const PAUSE: Duration = Duration::from_millis(45);

/// The number of requests of the good client.
#[derive(Clone, Copy)]
pub(super) enum Length {
    /// Enough requests for a 99th percentile that is not the maximum.
    Full,
    /// Enough to see that it works.
    Short,
}

/// The waits of the good client.
pub(super) struct Waits {
    pub(super) median: Duration,
    pub(super) p99: Duration,
}

impl Length {
    const fn requests(self) -> usize {
        match self {
            Self::Full => 400,
            Self::Short => 30,
        }
    }

    /// The time until the other load is steady.
    pub(super) const fn ramp(self) -> Duration {
        match self {
            Self::Full => Duration::from_millis(500),
            Self::Short => Duration::from_millis(100),
        }
    }
}

impl Waits {
    /// The good client creates sessions, reads them and reads its audit log, in turns.
    pub(super) async fn of(address: SocketAddr, key: &str, length: Length) -> Result<Self, String> {
        let request = session_request();
        let mut connection = Connection::open(address).await?;
        let mut waits = Vec::new();
        for n in 0..length.requests() {
            let (method, path, body) = match n % 3 {
                0 => ("POST", "/v1/sessions", Some(("application/json", request.as_bytes()))),
                1 => ("GET", "/v1/sessions/ses_x", None),
                _ => ("GET", "/v1/audit-log?limit=5", None),
            };
            tokio::time::sleep(PAUSE).await;
            let begun = super::now();
            let (status, answer) = connection.send(method, path, key, body).await?;
            waits.push(begun.elapsed());
            if !matches!(status, 200 | 201 | 404) {
                let answer = String::from_utf8_lossy(&answer);
                return Err(format!("{method} {path}: {status} {answer}"));
            }
        }
        waits.sort_unstable();
        let at = |percent: usize| {
            let place = waits.len().saturating_sub(1) * percent / 100;
            waits.get(place).copied().unwrap_or_default()
        };
        Ok(Self { median: at(50), p99: at(99) })
    }

    /// The ratio to the quiet waits.
    pub(super) fn times(&self, quiet: &Self) -> f64 {
        self.p99.as_secs_f64() / quiet.p99.as_secs_f64()
    }
}

pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The request for a session.
pub(super) fn session_request() -> String {
    json!({ "credentials": [{
        "format": "vc+sd-jwt", "issuer_id": samples::ISSUER, "claims": ["given_name"],
    }] })
    .to_string()
}
