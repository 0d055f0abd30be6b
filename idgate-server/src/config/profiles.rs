//! The profiles of OpenID4VP that the gateway speaks, and the choices in them.

use idgate_core::shell::{ClientIdForm, DeviceRequests, ProfileOptions};
use idgate_core::{DcApi, Profile, Verifier};

use super::{Settings, optional, required, rules};

/// The profiles of a gateway. All but the list concerns `1.0` and `haip`; `draft` has no choices.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SpokenProfiles {
    /// The profiles of sessions; the first is for those that name none. Never empty.
    pub enabled: Vec<Profile>,
    /// The client identifier of signed requests of `1.0`.
    pub client_id: ClientId,
    /// Whether links tell wallets that they may POST for the request (OpenID4VP 1.0 5.10).
    pub announces_post: bool,
    /// How answers of `1.0` come back.
    pub response_mode: ResponseMode,
    /// The requests that pages may pass to their browser.
    pub dc_api: DcApi,
    /// The version of a DeviceRequest to browsers.
    pub device_requests: DeviceRequests,
}

/// The client identifier of the gateway in signed requests of `1.0` (OpenID4VP 1.0 5.9.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClientId {
    /// By its `did:web`.
    Did,
    /// By a host name in its certificate.
    X509SanDns,
    /// By the hash of its certificate.
    X509Hash,
}

/// How answers of `1.0` come back (OpenID4VP 1.0 8.2, 8.3.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ResponseMode {
    /// Encrypted if the request is signed, otherwise plain.
    Auto,
    /// Plain.
    DirectPost,
    /// Encrypted.
    DirectPostJwt,
}

/// The gateway's name in certificates, from the settings. Commands use it without the other
/// settings of the server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OwnName {
    /// The host of the base URL, unless that is an address or not set.
    pub host: Option<String>,
    /// The client identifier; `x509_san_dns` needs the host in certificates.
    pub client_id: ClientId,
}

impl OwnName {
    /// From `settings`.
    ///
    /// # Errors
    /// The text says what is wrong, where it is set and what to do.
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let base_url = optional(settings, "base_url", rules::base_url)?;
        Ok(Self {
            host: base_url.as_deref().and_then(Verifier::host_name),
            client_id: required(settings, "client_id", client_id)?,
        })
    }
}

/// The warning to an operator whose gateway speaks `draft` alone.
pub const DRAFT_ALONE: &str =
    "IDGATE_PROFILES is draft alone, which today's wallets do not support; add 1.0 or haip to it";

impl SpokenProfiles {
    /// Whether anything but drafts is spoken.
    pub fn are_newer(&self) -> bool {
        self.enabled != [Profile::Draft]
    }

    /// The options for a verifier.
    pub fn options(&self) -> ProfileOptions {
        let mut options = ProfileOptions::new(self.enabled.iter().copied());
        options.client_id_form = match self.client_id {
            ClientId::Did => ClientIdForm::DecentralizedIdentifier,
            ClientId::X509SanDns => ClientIdForm::X509SanDns,
            ClientId::X509Hash => ClientIdForm::X509Hash,
        };
        options.response_mode = match self.response_mode {
            ResponseMode::Auto => idgate_core::ResponseMode::Auto,
            ResponseMode::DirectPost => idgate_core::ResponseMode::Plain,
            ResponseMode::DirectPostJwt => idgate_core::ResponseMode::Encrypted,
        };
        options.announces_post = self.announces_post;
        options.dc_api = self.dc_api;
        options.device_requests = self.device_requests;
        options
    }
}

impl Default for SpokenProfiles {
    fn default() -> Self {
        Self {
            enabled: vec![Profile::Draft],
            client_id: ClientId::Did,
            announces_post: false,
            response_mode: ResponseMode::Auto,
            dc_api: DcApi::Off,
            device_requests: DeviceRequests::Auto,
        }
    }
}

/// Names of profiles separated by commas, each once.
pub(super) fn profiles(text: &str) -> Result<Vec<Profile>, String> {
    let mut enabled = Vec::new();
    for name in text.split(',').map(str::trim) {
        let profile = Profile::from_name(name).ok_or_else(|| {
            format!("`{name}` is not a profile; list draft, 1.0 or haip, for example haip,draft")
        })?;
        if enabled.contains(&profile) {
            return Err(format!("{name} is listed twice; list each profile once"));
        }
        enabled.push(profile);
    }
    Ok(enabled)
}

pub(super) fn client_id(text: &str) -> Result<ClientId, String> {
    rules::one_of([
        ("did", ClientId::Did),
        ("x509_san_dns", ClientId::X509SanDns),
        ("x509_hash", ClientId::X509Hash),
    ])(text)
}

pub(super) fn method(text: &str) -> Result<(), String> {
    let post = (text == "post").then_some(());
    post.ok_or_else(|| "must be post, in lower case; or unset it".into())
}

pub(super) fn response_mode(text: &str) -> Result<ResponseMode, String> {
    rules::one_of([
        ("auto", ResponseMode::Auto),
        ("direct_post", ResponseMode::DirectPost),
        ("direct_post.jwt", ResponseMode::DirectPostJwt),
    ])(text)
}

pub(super) fn dc_api(text: &str) -> Result<DcApi, String> {
    rules::one_of([
        ("off", DcApi::Off),
        ("unsigned", DcApi::Unsigned),
        ("signed", DcApi::Signed),
        ("multisigned", DcApi::Multisigned),
    ])(text)
}

pub(super) fn device_requests(text: &str) -> Result<DeviceRequests, String> {
    rules::one_of([("auto", DeviceRequests::Auto), ("1.0", DeviceRequests::FirstEdition)])(text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn device_requests_are_auto_or_1_0() {
        assert_eq!(device_requests("auto"), Ok(DeviceRequests::Auto));
        assert_eq!(device_requests("1.0"), Ok(DeviceRequests::FirstEdition));
        for bad in ["", "1.1", "AUTO", "1"] {
            let refused = device_requests(bad).unwrap_err();
            assert!(refused.contains("auto") && refused.contains("1.0"), "{refused}");
        }
    }

    #[test]
    fn profiles_are_listed_once_each_in_order() {
        assert_eq!(profiles("draft").unwrap(), [Profile::Draft]);
        assert_eq!(profiles("haip, draft").unwrap(), [Profile::Haip, Profile::Draft]);
        assert_eq!(profiles("draft,1.0,haip").unwrap(), Profile::ALL);
        for bad in ["", "1", "HAIP", "draft,", "draft haip", "haip,draft,haip"] {
            assert!(profiles(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn choices_have_their_names_and_a_refusal_lists_them() {
        for (name, form) in [
            ("did", ClientId::Did),
            ("x509_san_dns", ClientId::X509SanDns),
            ("x509_hash", ClientId::X509Hash),
        ] {
            assert_eq!(client_id(name), Ok(form));
        }
        for (name, mode) in [
            ("auto", ResponseMode::Auto),
            ("direct_post", ResponseMode::DirectPost),
            ("direct_post.jwt", ResponseMode::DirectPostJwt),
        ] {
            assert_eq!(response_mode(name), Ok(mode));
        }
        assert_eq!(client_id("x"), Err("must be did, x509_san_dns or x509_hash".into()));
        for (name, mode) in [
            ("off", DcApi::Off),
            ("unsigned", DcApi::Unsigned),
            ("signed", DcApi::Signed),
            ("multisigned", DcApi::Multisigned),
        ] {
            assert_eq!(dc_api(name), Ok(mode));
        }
        assert!(dc_api("on").is_err() && dc_api("Signed").is_err());
        assert_eq!(method("post"), Ok(()));
        assert!(method("POST").is_err() && method("get").is_err());
    }
}
