//! The setup of a sandbox: the operator's settings, and the sandbox's choices for the rest.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use super::options::SandboxOptions;
use crate::demo::plan::{Said, config, for_development_only};
use idgate_server::config::{Config, Settings, environment};
use idgate_server::failure::Failure;

/// Next to the gateway's 8080.
const PAGE_PORT: u16 = 8081;
const HTTPS_PORT: u16 = 8443;
/// The ranges of this machine itself.
const LOOPBACK: &str = "127.0.0.0/8,::1/128";

/// Where everything listens, and where links lead.
pub(super) struct Plan {
    pub(super) page_listen: SocketAddr,
    pub(super) https_listen: SocketAddr,
    /// The address at which phones reach the sandbox's https.
    pub(super) lan: Option<IpAddr>,
    pub(super) name: Option<String>,
    settings: Settings,
}

impl Plan {
    /// # Errors
    /// A sandbox must not run here, or an option or a setting is wrong.
    pub(super) fn new(options: &SandboxOptions, said: Said<'_>) -> Result<Self, Failure> {
        let settings = Settings::collect(said.flags, environment(), said.file)?;
        let named = |key: &str| settings.get(key).is_some_and(|value| !value.text.is_empty());
        for_development_only(&settings, "a sandbox")?;
        for (key, why) in [
            (
                "database_url",
                "IDGATE_DATABASE_URL: a sandbox stores everything in its own folder; leave it out",
            ),
            (
                "tls_cert",
                "IDGATE_TLS_CERT: a sandbox has its own https; leave it out, and see \
                 --https-listen and --name",
            ),
        ] {
            if named(key) {
                return Err(Failure::Error(format!("{why}; unset it")));
            }
        }
        let here = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let page_listen = options.page_listen.unwrap_or(here(PAGE_PORT));
        let https_listen = options.https_listen.unwrap_or(here(HTTPS_PORT));
        for (option, address) in [("--page-listen", page_listen), ("--https-listen", https_listen)]
        {
            let why = match address.ip() {
                // The only loopback address that all parts of the sandbox use.
                ip if ip == Ipv4Addr::LOCALHOST => continue,
                ip if ip.to_canonical().is_loopback() => "must be on 127.0.0.1",
                _ => "is not loopback; for phones on this network use --lan",
            };
            return Err(Failure::Usage(format!("{option}: {address} {why}")));
        }
        let lan = match options.lan {
            None => None,
            Some(Some(address)) if is_of_one_machine(address) => Some(address.to_canonical()),
            Some(Some(address)) => {
                return Err(Failure::Usage(format!(
                    "--lan: {address} is not the address of one machine; give this machine's: \
                     --lan=192.168.0.7"
                )));
            }
            Some(None) => Some(way_out().ok_or_else(|| {
                Failure::Error(
                    "--lan: this machine has no network route; give its address: --lan=192.0.2.7"
                        .into(),
                )
            })?),
        };
        if let Some(name) = &options.name
            && !is_name(name)
        {
            return Err(Failure::Usage(format!("--name: {name} is not a host name")));
        }
        Ok(Self { page_listen, https_listen, lan, name: options.name.clone(), settings })
    }

    /// Whether the environment or a settings file names a data directory.
    pub(super) fn names_folder(&self) -> bool {
        self.settings.names("data_dir")
    }

    /// The file with additional roots that the operator named.
    pub(super) fn extra_ca_file(&self) -> Option<PathBuf> {
        let given = self.settings.get("extra_ca_file")?;
        (!given.text.is_empty()).then(|| PathBuf::from(&*given.text))
    }

    /// The gateway's settings, once its https listens at `https` and trusts `ca`.
    ///
    /// # Errors
    /// A setting is wrong (the text is that of `serve`), or exposes the sandbox.
    pub(super) fn config(
        &self,
        said: Said<'_>,
        folder: &Path,
        ca: &Path,
        https: SocketAddr,
    ) -> Result<Config, String> {
        let with_loopback = |key: &str| {
            let given = self.settings.get(key).map(|value| value.text.to_string());
            let given = given.filter(|given| !given.trim().is_empty());
            given.map_or(LOOPBACK.to_owned(), |given| format!("{given},{LOOPBACK}"))
        };
        let (folder, ca) = (folder.to_string_lossy(), ca.to_string_lossy());
        // Phones must reach the status lists of their samples.
        let on_lan = self.lan.map_or(String::new(), |address| {
            format!(",{address}/{}", if address.is_ipv4() { 32 } else { 128 })
        });
        let fetch = with_loopback("fetch_allow_cidrs") + &on_lan;
        let hooks = with_loopback("webhook_allow_cidrs");
        let mut own = vec![
            ("data_dir", &*folder),
            ("fetch_allow_cidrs", &*fetch),
            ("webhook_allow_cidrs", &*hooks),
            ("webhook_allow_http", "true"),
            ("extra_ca_file", &*ca),
        ];
        if !said.flags.contains_key("audit_checkpoint_file") {
            own.push(("audit_checkpoint_file", ""));
        }
        let base_url = self.lan.map(|address| {
            let host = self.name.clone().unwrap_or_else(|| host_of(address));
            format!("https://{host}:{}", https.port())
        });
        if let Some(base_url) = base_url.as_deref().filter(|_| !self.settings.names("base_url")) {
            own.push(("base_url", base_url));
        }
        for (key, value) in
            [("profiles", "1.0,haip,draft"), ("page", "on"), ("log", "warn,idgate_sandbox=info")]
        {
            if !self.settings.names(key) {
                own.push((key, value));
            }
        }
        let config = config(said, &own)?;
        if !config.listen.ip().to_canonical().is_loopback() {
            return Err(format!(
                "IDGATE_LISTEN: {} is not loopback; to let phones in, use --lan",
                config.listen
            ));
        }
        Ok(config)
    }
}

/// Whether links may lead phones there: not the unspecified address, and not a multicast or
/// broadcast one.
fn is_of_one_machine(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !is_broadcast
}

/// The address as the host of a URL.
fn host_of(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// The local address that the system would use to reach others; nothing is sent.
fn way_out() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // A documentation address (RFC 5737): it belongs to no one.
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then_some(address)
}

fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.len() <= 253 && name.parse::<IpAddr>().is_err() && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_must_be_a_host_name() {
        for name in ["laptop", "laptop.local", "a-b.example"] {
            assert!(is_name(name), "{name}");
        }
        for other in ["", ".", "a..b", "-a", "a/b", "a:1", "192.168.0.1", "a b", "a@b"] {
            assert!(!is_name(other), "{other}");
        }
    }
}
