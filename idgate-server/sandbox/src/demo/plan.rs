//! Which gateways the demo starts: the operator's settings, and the demo's choices for the rest.

use std::collections::BTreeMap;
use std::path::Path;

use idgate_core::Profile;

use idgate_server::config::{Config, Environment, Settings, environment};

/// The settings from the command line and from a settings file.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Flags by key.
    pub flags: &'a BTreeMap<String, String>,
    /// The settings file.
    pub file: Option<&'a Path>,
}

/// Refuses to trust sample issuers outside development.
///
/// # Errors
/// The environment is not development; `what` must not run there.
pub(crate) fn for_development_only(settings: &Settings, what: &str) -> Result<(), String> {
    let environment = settings.get("environment").map(|value| value.text.to_string());
    let in_earnest = [Environment::Staging, Environment::Production];
    match in_earnest.into_iter().find(|one| environment.as_deref() == Some(one.name())) {
        Some(given) => Err(format!(
            "IDGATE_ENVIRONMENT is {}, but {what} is for development only",
            given.name()
        )),
        None => Ok(()),
    }
}

/// The gateways of the demo.
pub(super) struct Plan {
    /// Uses the addresses of the settings, and all profiles of the walk.
    pub(super) main: Config,
    /// A second gateway for `draft` by value, if the settings do not choose one request mode for
    /// all.
    pub(super) inline: Option<Config>,
}

impl Plan {
    /// The plan for the data directory `folder`.
    ///
    /// # Errors
    /// A setting is wrong; the text is that of `serve`.
    pub(super) fn new(said: Said<'_>, folder: &str) -> Result<Self, String> {
        let settings = Settings::collect(said.flags, environment(), said.file)?;
        for_development_only(&settings, "the demo")?;
        // Sample issuers must not get into a real gateway's data directory, so the environment and
        // the settings file cannot name the folder; only a flag can.
        let mut own = vec![("data_dir", folder)];
        if !said.flags.contains_key("audit_checkpoint_file") {
            own.push(("audit_checkpoint_file", ""));
        }
        for (key, value) in [("listen", "127.0.0.1:0"), ("profiles", "1.0,haip,draft")] {
            if !settings.names(key) {
                own.push((key, value));
            }
        }
        let mut main = config(said, &own)?;
        let profiles = main.profiles.enabled.clone();
        let chosen = settings.names("oid4vp_request_mode");
        if chosen || profiles == [Profile::Draft] {
            return Ok(Self { main: without_tls(main)?, inline: None });
        }
        own.push(("oid4vp_request_mode", "jar"));
        main = config(said, &own)?;
        own.extend([
            ("oid4vp_request_mode", "inline"),
            ("profiles", "draft"),
            ("dc_api", "off"),
            ("listen", "127.0.0.1:0"),
            ("base_url", ""),
        ]);
        let inline = profiles.contains(&Profile::Draft).then(|| config(said, &own)).transpose()?;
        Ok(Self { main: without_tls(main)?, inline })
    }
}

/// The settings in `said`, overridden by `own`.
///
/// # Errors
/// A setting is wrong; the text is that of `serve`.
pub(crate) fn config(said: Said<'_>, own: &[(&str, &str)]) -> Result<Config, String> {
    let mut flags = said.flags.clone();
    flags.extend(own.iter().map(|(key, value)| (String::from(*key), String::from(*value))));
    Config::new(&Settings::collect(&flags, environment(), said.file)?)
}

fn without_tls(config: Config) -> Result<Config, String> {
    if config.tls.is_none() {
        return Ok(config);
    }
    Err("IDGATE_TLS_CERT: the demo's tenant and wallet speak plain HTTP to its gateway; unset it and \
         IDGATE_TLS_KEY; for other clients put a TLS proxy in front"
        .into())
}
