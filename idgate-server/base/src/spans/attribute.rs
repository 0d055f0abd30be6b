//! The content that spans may have in addition to their name. The list is fixed, so that a privacy
//! review needs to read only this file.

use super::Stage;

/// The attributes. Those in OpenTelemetry's semantic conventions have its names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Key {
    /// The HTTP method.
    Method,
    /// The path template.
    Route,
    /// The status of the response.
    Status,
    /// The number of the attempt, if not the first.
    Resend,
    /// The failure: an error code, or a status.
    Error,
    /// The host of an outgoing request.
    Host,
    /// The kind of database.
    Database,
    /// Whether the caller's key is for live sessions.
    Livemode,
    /// The outcome of a verification: `verified`, or the reason of the refusal.
    Outcome,
    /// The requested formats.
    Format,
    /// The OpenID4VP profile.
    Profile,
    /// The number of revocation sources that are asked.
    Sources,
    /// CPU time of a stage, in nanoseconds.
    Cpu(Stage),
}

impl Key {
    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Method => "http.request.method",
            Self::Route => "http.route",
            Self::Status => "http.response.status_code",
            Self::Resend => "http.request.resend_count",
            Self::Error => "error.type",
            Self::Host => "server.address",
            Self::Database => "db.system.name",
            Self::Livemode => "idgate.livemode",
            Self::Outcome => "idgate.outcome",
            Self::Format => "idgate.format",
            Self::Profile => "idgate.profile",
            Self::Sources => "idgate.sources",
            Self::Cpu(Stage::Request) => "idgate.cpu.request",
            Self::Cpu(Stage::Authenticate) => "idgate.cpu.authenticate",
            Self::Cpu(Stage::Read) => "idgate.cpu.read",
            Self::Cpu(Stage::Make) => "idgate.cpu.make",
            Self::Cpu(Stage::Sign) => "idgate.cpu.sign",
            Self::Cpu(Stage::Verify) => "idgate.cpu.verify",
            Self::Cpu(Stage::Seal) => "idgate.cpu.seal",
            Self::Cpu(Stage::Write) => "idgate.cpu.write",
            Self::Cpu(Stage::Answer) => "idgate.cpu.answer",
            Self::Cpu(Stage::Trace) => "idgate.cpu.trace",
        }
    }
}

/// The longest name (RFC 1035, 2.3.4).
const LONGEST_HOST: usize = 253;

/// The value of an attribute.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    /// A fixed word.
    Word(&'static str),
    /// A host name, without the rest of the URL.
    Host(String),
    /// Fixed words, joined by commas.
    Words(Vec<&'static str>),
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    /// The host of `url`; `None` if it has none, or one that is too long for DNS.
    pub fn host_of(url: &str) -> Option<Self> {
        let url = url::Url::parse(url).ok()?;
        let host = url.host_str().filter(|host| host.len() <= LONGEST_HOST)?;
        Some(Self::Host(host.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_of_a_url_is_kept_up_to_the_longest_name() {
        let host =
            |name: &str| Value::host_of(&format!("https://someone:s3cret@{name}:8443/a?b#c"));
        for good in ["lists.example", "[2001:db8::1]", &*"a".repeat(LONGEST_HOST)] {
            assert_eq!(host(good), Some(Value::Host(good.to_owned())));
        }
        assert_eq!(host(&"a.".repeat(LONGEST_HOST)), None);
        assert_eq!(Value::host_of("lists.example"), None);
    }
}
