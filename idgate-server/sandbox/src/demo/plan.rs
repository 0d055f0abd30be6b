//! Which gateways the demo starts: what the operator set, and what the demo chooses where nobody did.

use std::collections::BTreeMap;
use std::path::Path;

use idgate_core::Profile;

use idgate_server::config::{Config, Environment, Settings, environment};

/// What was said on the command line and in a settings file.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// Flags by key.
    pub flags: &'a BTreeMap<String, String>,
    /// The settings file.
    pub file: Option<&'a Path>,
}

/// No gateway may trust sample issuers in earnest.
///
/// # Errors
/// The settings say that this is not development; `what` is not for that.
pub(crate) fn for_development_only(settings: &Settings, what: &str) -> Result<(), String> {
    let environment = settings.get("environment").map(|value| value.text.to_string());
    let in_earnest = [Environment::Staging, Environment::Production];
    match in_earnest.into_iter().find(|one| environment.as_deref() == Some(one.name())) {
        Some(given) => Err(format!(
            "IDGATE_ENVIRONMENT is {}, and {what} is for development only",
            given.name()
        )),
        None => Ok(()),
    }
}

/// The gateways of the demo.
pub(super) struct Plan {
    /// Stands where the settings say, and speaks every profile of the walk.
    pub(super) main: Config,
    /// Beside it for `draft` by value, when nobody chose one mode for all.
    pub(super) inline: Option<Config>,
}

impl Plan {
    /// With the data directory `folder`.
    ///
    /// # Errors
    /// A setting is wrong, as `serve` says it.
    pub(super) fn new(said: Said<'_>, folder: &str) -> Result<Self, String> {
        let settings = Settings::collect(said.flags, environment(), said.file)?;
        for_development_only(&settings, "the demo")?;
        // Sample issuers and sample entries stay out of what an environment or a file says of a
        // gateway in earnest: only a flag leads there.
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

/// What was said, with `own` over it.
///
/// # Errors
/// A setting is wrong, as `serve` says it.
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
         IDGATE_TLS_KEY, and for others put a TLS proxy in front"
        .into())
}
