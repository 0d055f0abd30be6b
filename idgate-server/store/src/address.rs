//! The address of the database: `IDGATE_DATABASE_URL`.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use url::Url;

/// How long connecting may take. A refused connection fails before that.
const CONNECT: Duration = Duration::from_millis(1500);
/// A peer that acknowledges nothing for this long counts as gone.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);
/// Limits that the server enforces even after this process has died, in milliseconds.
pub(crate) const STATEMENT_LIMITS: [(&str, u64); 3] = [
    ("statement_timeout", 10_000),
    ("lock_timeout", 5_000),
    ("idle_in_transaction_session_timeout", 15_000),
];
/// The other settings of a connection.
const SERVER_SETTINGS: &str =
    "-c client_min_messages=warning -c default_transaction_isolation=read\\ committed";

/// A PostgreSQL address that parses and names a database.
#[derive(Clone)]
pub struct Address {
    pub(crate) config: Config,
    /// `None`: the system's root certificates.
    pub(crate) roots_file: Option<PathBuf>,
    pub(crate) is_encrypted: bool,
}

impl Address {
    /// Reads a `postgres://` address. `sslmode` may be `verify-full`, the default over a network,
    /// or `disable`, for a Unix socket or a loopback address.
    ///
    /// # Errors
    /// The text says what is wrong, without the password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut url = Url::parse(text).map_err(|error| format!("is not a URL: {error}"))?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err("must begin with postgres://".into());
        }
        let (mut mode, mut roots_file) = (None, None);
        for (name, value) in url.query_pairs() {
            match &*name {
                "sslmode" => mode = Some(value.into_owned()),
                "sslrootcert" => roots_file = Some(PathBuf::from(value.into_owned())),
                _ => {}
            }
        }
        // PostgreSQL's own parameters stay as they were written.
        let is_ours =
            |part: &&str| part.starts_with("sslmode=") || part.starts_with("sslrootcert=");
        let others = url.query().unwrap_or_default().split('&').filter(|part| !is_ours(part));
        let others = others.collect::<Vec<_>>().join("&");
        url.set_query(Some(&*others).filter(|others| !others.is_empty()));
        let mut config: Config =
            url.as_str().parse().map_err(|_| "is not an address of PostgreSQL".to_owned())?;
        if config.get_dbname().is_none() {
            return Err("names no database: postgres://user@host/DATABASE".into());
        }
        if config.get_hosts().is_empty() {
            return Err("names no host: postgres://user@HOST/database".into());
        }
        // `hostaddr`, if set, is where the client really connects to.
        let is_local = config.get_hosts().iter().all(is_local)
            && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let is_encrypted = match mode.as_deref() {
            None => !is_local,
            Some("verify-full") => true,
            Some("disable") if is_local => false,
            Some("disable") => {
                return Err("sslmode=disable is for a socket or a loopback address only".into());
            }
            Some(_) => return Err("sslmode must be verify-full or disable".into()),
        };
        config
            .ssl_mode(if is_encrypted { SslMode::Require } else { SslMode::Disable })
            .application_name("idgate")
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(CONNECT)
            .keepalives(true)
            .keepalives_idle(UNACKNOWLEDGED)
            .tcp_user_timeout(UNACKNOWLEDGED);
        let options = match config.get_options() {
            Some(own) => format!("{SERVER_SETTINGS} {own}"),
            None => SERVER_SETTINGS.to_owned(),
        };
        let limits = STATEMENT_LIMITS.iter();
        let limits = limits.fold(String::new(), |all, (name, ms)| format!("{all}-c {name}={ms} "));
        config.options(limits + &options);
        Ok(Self { config, roots_file, is_encrypted })
    }

    /// The same address with this statement timeout, which overrides the one in the address.
    pub(crate) fn with_statement_timeout(&self, limit: Duration) -> Self {
        let mut changed = self.clone();
        let settings = self.config.get_options().unwrap_or_default();
        let limit = limit.as_millis();
        changed.config.options(format!("{settings} -c statement_timeout={limit}"));
        changed
    }
}

/// Leaves out the password.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Hosts and database: enough to recognise the address, without secrets.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for host in self.config.get_hosts() {
            match host {
                Host::Tcp(name) => write!(f, "{name} ")?,
                Host::Unix(path) => write!(f, "{} ", path.display())?,
            }
        }
        write!(f, "database {}", self.config.get_dbname().unwrap_or_default())
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_database_is_always_fully_verified() {
        let remote = "postgres://idgate:secret@db.example/idgate";
        assert!(Address::parse(remote).unwrap().is_encrypted);
        assert!(Address::parse(&format!("{remote}?sslmode=verify-full")).unwrap().is_encrypted);
        for mode in ["disable", "prefer", "require", "allow", "verify-ca", ""] {
            assert!(Address::parse(&format!("{remote}?sslmode={mode}")).is_err(), "{mode}");
        }
    }

    #[test]
    fn a_socket_or_loopback_needs_no_tls() {
        for local in [
            "postgres://idgate@localhost/idgate",
            "postgres://idgate@127.0.0.1:5433/idgate?sslmode=disable",
            "postgresql://idgate@%2Frun%2Fpostgresql/idgate",
            "postgres:///idgate?host=/run/postgresql&user=idgate",
        ] {
            assert!(!Address::parse(local).unwrap().is_encrypted, "{local}");
        }
    }

    #[test]
    fn a_loopback_name_with_an_address_elsewhere_is_remote() {
        let elsewhere = "postgres://u@localhost/d?hostaddr=192.0.2.1";
        assert!(Address::parse(elsewhere).unwrap().is_encrypted);
        assert!(Address::parse(&format!("{elsewhere}&sslmode=disable")).is_err());
    }

    #[test]
    fn other_parameters_of_an_address_are_kept() {
        let address = "postgres://u@h/d?options=-c%20search_path%3Dx&sslmode=verify-full";
        let address = Address::parse(&format!("{address}&sslrootcert=/ca.pem")).unwrap();
        assert!(address.config.get_options().unwrap().ends_with("-c search_path=x"));
        assert_eq!(address.roots_file.unwrap().to_str(), Some("/ca.pem"));
    }

    #[test]
    fn an_invalid_address_is_rejected_without_showing_the_password() {
        for wrong in ["", "sqlite:x", "postgres://u:hunter2@h", "postgres:///x?port=y", "x://h/d"] {
            let error = Address::parse(wrong).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
        let address = Address::parse("postgres://u:hunter2@localhost/d").unwrap();
        assert!(!format!("{address:?} {address}").contains("hunter2"));
        assert_eq!(address.to_string(), "localhost database d");
    }
}
