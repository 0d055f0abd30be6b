//! What a span may say beside its name: a fixed list, so that a review of what leaves the gateway
//! reads one file.

use super::Stage;

/// The attributes there are. Those of OpenTelemetry's semantic conventions have their names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Key {
    /// The method of HTTP.
    Method,
    /// The template of the path.
    Route,
    /// The status of the answer.
    Status,
    /// Which try this is, if not the first.
    Resend,
    /// What failed: a code of the table of codes, or a status.
    Error,
    /// The host that is asked or told.
    Host,
    /// Which database.
    Database,
    /// Whether the caller's key is for live sessions.
    Livemode,
    /// What a verification came to: `verified`, or the reason of the refusal.
    Outcome,
    /// The formats that were asked for.
    Format,
    /// The profile of OpenID4VP.
    Profile,
    /// How many sources of revocation are asked.
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

/// Of a name (RFC 1035, 2.3.4).
const LONGEST_HOST: usize = 253;

/// What it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    /// A word of ours.
    Word(&'static str),
    /// The name of a host, and nothing else of an address.
    Host(String),
    /// Words of ours with commas between them.
    Words(Vec<&'static str>),
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    /// The host of `url`; `None`: it has none, or one that no name server knows.
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
    fn of_a_url_there_is_the_host_and_no_more_than_a_host_has() {
        let host =
            |name: &str| Value::host_of(&format!("https://someone:s3cret@{name}:8443/a?b#c"));
        for good in ["lists.example", "[2001:db8::1]", &*"a".repeat(LONGEST_HOST)] {
            assert_eq!(host(good), Some(Value::Host(good.to_owned())));
        }
        assert_eq!(host(&"a.".repeat(LONGEST_HOST)), None);
        assert_eq!(Value::host_of("lists.example"), None);
    }
}
