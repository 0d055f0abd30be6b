//! What a verifier speaks, as JSON: the names are those of the gateway's settings.

use idgate_core::shell::{ClientIdForm, ProfileOptions, SpokenProfiles};
use idgate_core::{DcApi, Profile, ResponseMode};
use serde::Deserialize;

use crate::failure::Failure;
use crate::status::idgate_status::IDGATE_CONFIG;

/// The options of a verifier.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    profiles: Vec<Profile>,
    pub(crate) request_mode: RequestMode,
    client_id: ClientId,
    response_mode: Answers,
    request_uri_method: Option<Method>,
    dc_api: Browsers,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RequestMode {
    #[default]
    Inline,
    Jar,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ClientId {
    #[default]
    Did,
    X509SanDns,
    X509Hash,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
enum Answers {
    #[default]
    #[serde(rename = "auto")]
    Auto,
    #[serde(rename = "direct_post")]
    DirectPost,
    #[serde(rename = "direct_post.jwt")]
    DirectPostJwt,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Method {
    Post,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Browsers {
    #[default]
    Off,
    Unsigned,
    Signed,
    Multisigned,
}

impl Options {
    /// The options that this text names; without text the defaults.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, Failure> {
        if json.is_empty() {
            return Ok(Self::default());
        }
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(Failure::config("the options are not a JSON object"));
        }
        let options: Self = serde_json::from_slice(json)
            .map_err(|error| Failure::unreadable(IDGATE_CONFIG, "the options", &error))?;
        let drafts_alone = options.profiles.iter().all(|profile| *profile == Profile::Draft);
        if drafts_alone && options.dc_api != Browsers::Off {
            return Err(Failure::config("dc_api needs the profile 1.0 or haip"));
        }
        Ok(options)
    }

    /// What the core is told of them.
    pub(crate) fn profiles(&self) -> ProfileOptions {
        let mut options = ProfileOptions::default();
        if !self.profiles.is_empty() {
            options.enabled.clone_from(&self.profiles);
        }
        options.client_id_form = match self.client_id {
            ClientId::Did => ClientIdForm::DecentralizedIdentifier,
            ClientId::X509SanDns => ClientIdForm::X509SanDns,
            ClientId::X509Hash => ClientIdForm::X509Hash,
        };
        options.response_mode = match self.response_mode {
            Answers::Auto => ResponseMode::Auto,
            Answers::DirectPost => ResponseMode::Plain,
            Answers::DirectPostJwt => ResponseMode::Encrypted,
        };
        options.announces_post = self.request_uri_method.is_some();
        options.dc_api = match self.dc_api {
            Browsers::Off => DcApi::Off,
            Browsers::Unsigned => DcApi::Unsigned,
            Browsers::Signed => DcApi::Signed,
            Browsers::Multisigned => DcApi::Multisigned,
        };
        options
    }

    /// What requests may ask for: without a certificate, nothing that is named by one.
    pub(crate) fn spoken(&self, certified: bool) -> SpokenProfiles {
        let mut spoken = SpokenProfiles::new(self.profiles.iter().copied());
        if self.dc_api != Browsers::Off {
            spoken = spoken.with_dc_api();
        }
        if certified {
            return spoken;
        }
        let spoken = spoken.without(Profile::Haip);
        match (self.request_mode, self.client_id) {
            (RequestMode::Inline, _) | (_, ClientId::Did) => spoken,
            _ => spoken.without(Profile::V1_0),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn options_are_named_as_the_gateways_settings_and_are_draft_without_any() {
        for none in ["", "{}"] {
            let options = Options::parse(none.as_bytes()).unwrap();
            assert_eq!(options.request_mode, RequestMode::Inline);
            assert_eq!(options.profiles().enabled, [Profile::Draft]);
            assert!(!options.profiles().announces_post);
            assert_eq!(options.profiles().dc_api, DcApi::Off);
        }
        let all = br#"{"profiles":["haip","1.0"],"request_mode":"jar","client_id":"x509_san_dns",
            "response_mode":"direct_post","request_uri_method":"post","dc_api":"signed"}"#;
        let options = Options::parse(all).unwrap();
        let profiles = options.profiles();
        assert_eq!(options.request_mode, RequestMode::Jar);
        assert_eq!(profiles.enabled, [Profile::Haip, Profile::V1_0]);
        assert_eq!(profiles.client_id_form, ClientIdForm::X509SanDns);
        assert_eq!(profiles.response_mode, ResponseMode::Plain);
        assert!(profiles.announces_post);
        assert_eq!(profiles.dc_api, DcApi::Signed);
    }

    #[test]
    fn without_a_certificate_nothing_is_spoken_that_is_named_by_one() {
        let ready = |json: &str, certified: bool| {
            let spoken = Options::parse(json.as_bytes()).unwrap().spoken(certified);
            Profile::ALL.map(|profile| spoken.is_ready(profile))
        };
        let all = r#"{"profiles":["haip","1.0","draft"]}"#;
        assert_eq!(ready(all, true), [true; 3]);
        assert_eq!(ready(all, false), [true, true, false]);
        let x509 =
            r#"{"profiles":["haip","1.0","draft"],"request_mode":"jar","client_id":"x509_hash"}"#;
        assert_eq!(ready(x509, true), [true; 3]);
        assert_eq!(ready(x509, false), [true, false, false]);
        assert_eq!(ready("{}", true), [true, false, false]);
    }

    #[test]
    fn options_that_are_unknown_or_wrong_are_refused() {
        for bad in [
            "[]",
            r#"{"profile":["haip"]}"#,
            r#"{"profiles":["HAIP"]}"#,
            r#"{"request_mode":"by value"}"#,
            r#"{"client_id":"redirect_uri"}"#,
            r#"{"response_mode":"dc_api"}"#,
            r#"{"request_uri_method":"POST"}"#,
            r#"{"profiles":["1.0"],"dc_api":"on"}"#,
            r#"{"profiles":["draft"],"dc_api":"unsigned"}"#,
            r#"{"dc_api":"unsigned"}"#,
            r#"{} x"#,
        ] {
            assert_eq!(Options::parse(bad.as_bytes()).unwrap_err().status, IDGATE_CONFIG, "{bad}");
        }
    }
}
