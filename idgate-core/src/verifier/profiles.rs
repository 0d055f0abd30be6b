//! What a verifier speaks, and how (decisions 20).

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::error::{ConfigError, ErrorCode, Remedy, RequestError};
use crate::request::{PresentationRequest, Profile};
use crate::session::{ClientIdForm, DcApiProtocol, Delivery, RequestShape, ResponseEncryption};
use crate::verifier::signers::Signers;

/// The profiles of a verifier, and the choices in them. All but the list concerns `1.0`
/// and `haip`: `draft` has no choices.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProfileOptions {
    /// What sessions may speak; the first is for requests that name none. Never empty.
    pub enabled: Vec<Profile>,
    /// The client identifier of signed requests of `1.0`: `DecentralizedIdentifier`, `X509SanDns` or
    /// `X509Hash`; with another one the verifier does not build.
    pub client_id_form: ClientIdForm,
    /// How answers of `1.0` come back; those of `haip` and those through browsers are always encrypted.
    pub response_mode: ResponseMode,
    /// Whether links tell wallets that they may POST for the request (OpenID4VP 5.10).
    pub announces_post: bool,
    /// The requests that pages may pass to their browser, in any profile but `draft`.
    pub dc_api: DcApi,
    /// The version of a DeviceRequest to browsers (ISO/IEC TS 18013-7 Annex C).
    pub device_requests: DeviceRequests,
}

/// The version of a DeviceRequest to browsers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum DeviceRequests {
    /// `1.1`, with the registration certificate, of a session that has one and is signed; else `1.0`.
    #[default]
    Auto,
    /// `1.0`
    FirstEdition,
}

/// What pages may pass to their browser (OpenID4VP A.3). Browsers and wallets take the first that they
/// know: each way of asking has the simpler ones behind it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum DcApi {
    /// Nothing: requests go by links.
    #[default]
    Off,
    /// `openid4vp-v1-unsigned`
    Unsigned,
    /// `openid4vp-v1-signed`, then what is unsigned.
    Signed,
    /// `openid4vp-v1-multisigned`, then what is signed once, then what is unsigned.
    Multisigned,
}

impl DcApi {
    /// What is offered, in that order.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const fn protocols(self) -> &'static [DcApiProtocol] {
        use DcApiProtocol::{Multisigned, Signed, Unsigned};
        match self {
            Self::Off => &[],
            Self::Unsigned => &[Unsigned],
            Self::Signed => &[Signed, Unsigned],
            Self::Multisigned => &[Multisigned, Signed, Unsigned],
        }
    }
}

/// How answers of `1.0` come back (OpenID4VP 8.2, 8.3.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ResponseMode {
    /// Encrypted where the request is signed, else plain.
    Auto,
    /// Plain: `direct_post`.
    Plain,
    /// Encrypted: `direct_post.jwt`.
    Encrypted,
}

impl ProfileOptions {
    /// These profiles as most wallets like them. With none of them a verifier does not build.
    pub fn new(enabled: impl IntoIterator<Item = Profile>) -> Self {
        Self {
            enabled: enabled.into_iter().collect(),
            client_id_form: ClientIdForm::DecentralizedIdentifier,
            response_mode: ResponseMode::Auto,
            announces_post: false,
            dc_api: DcApi::Off,
            device_requests: DeviceRequests::Auto,
        }
    }

    /// That requests can be signed under these names by `signers`; those of `draft` are made as given.
    pub(super) fn check(&self, draft: &RequestShape, signers: &Signers) -> Result<(), ConfigError> {
        use ClientIdForm::{Did, Origin, RedirectUri};
        if self.enabled.is_empty() {
            return Err(ConfigError::Profiles("are missing: name 1.0, haip or draft"));
        }
        if matches!(self.client_id_form, RedirectUri | Did | Origin) {
            return Err(ConfigError::Signer(
                "cannot sign requests of 1.0 under that client_id_form: take \
                 DecentralizedIdentifier, X509SanDns or X509Hash",
            ));
        }
        let speaks = |profile| self.enabled.contains(&profile);
        let by_did = self.client_id_form == ClientIdForm::DecentralizedIdentifier;
        let under_did = speaks(Profile::Draft) || by_did && speaks(Profile::V1_0);
        if draft.delivery == Delivery::RequestUri && under_did && !signers.serve_did() {
            return Err(ConfigError::Signer(
                "of the DID is missing: give one without a certificate",
            ));
        }
        Ok(())
    }

    /// That the profiles which are always signed have their signers, so that no tenant meets a request that nothing
    /// can sign.
    pub(super) fn check_signers(&self, signers: &Signers) -> Result<(), ConfigError> {
        if self.enabled.contains(&Profile::Haip) && !signers.have_certificate() {
            return Err(ConfigError::Profiles(
                "have haip, which needs a signer with a certificate",
            ));
        }
        if matches!(self.dc_api, DcApi::Signed | DcApi::Multisigned) && signers.is_empty() {
            return Err(ConfigError::Signer("of requests to browsers is missing: give one"));
        }
        Ok(())
    }

    /// What the offers of `request` speak, in their order, each once.
    pub(super) fn of(&self, request: &PresentationRequest) -> Result<Vec<Profile>, RequestError> {
        let first = self.enabled.first().copied().unwrap_or(Profile::Draft);
        let mut chosen = Vec::with_capacity(1);
        for profile in &request.profiles {
            if *profile != first && !self.enabled.contains(profile) {
                return Err(unsupported(*profile, "is not enabled", Remedy::EnableProfile));
            }
            if !chosen.contains(profile) {
                chosen.push(*profile);
            }
        }
        Ok(if chosen.is_empty() { vec![first] } else { chosen })
    }

    /// The profile of a request to browsers next to links in these: the first that browsers know.
    pub(super) fn of_browsers(linked: &[Profile]) -> Option<Profile> {
        linked.iter().copied().find(|profile| *profile != Profile::Draft)
    }

    /// How an offer of `profile` is made; that of `draft` is given.
    pub(super) fn shape(&self, profile: Profile, draft: &RequestShape) -> RequestShape {
        match (profile, draft.delivery) {
            (Profile::Draft, _) => draft.clone(),
            (Profile::V1_0, Delivery::Inline | Delivery::Browser) => {
                RequestShape::v1_0_inline(self.encryption(ResponseEncryption::Plain))
            }
            (Profile::V1_0, Delivery::RequestUri) => {
                let response = self.encryption(ResponseEncryption::EcdhEs);
                RequestShape::v1_0_jar(self.client_id_form, response)
            }
            (Profile::Haip, _) => RequestShape::haip(),
        }
    }

    /// The names to sign an offer to browsers under, the one to sign alone under first. `haip` knows one.
    pub(super) fn browser_forms(&self, profile: Profile) -> Vec<ClientIdForm> {
        use ClientIdForm::{DecentralizedIdentifier, X509Hash, X509SanDns};
        match (profile, self.dc_api) {
            (_, DcApi::Off | DcApi::Unsigned) => Vec::new(),
            (Profile::Haip, _) => vec![X509Hash],
            (_, DcApi::Signed) => vec![self.client_id_form],
            (_, DcApi::Multisigned) => {
                let mut forms = vec![self.client_id_form];
                let others = [X509Hash, X509SanDns, DecentralizedIdentifier].into_iter();
                forms.extend(others.filter(|form| *form != self.client_id_form));
                forms
            }
        }
    }

    fn encryption(&self, usual: ResponseEncryption) -> ResponseEncryption {
        match self.response_mode {
            ResponseMode::Auto => usual,
            ResponseMode::Plain => ResponseEncryption::Plain,
            ResponseMode::Encrypted => ResponseEncryption::EcdhEs,
        }
    }
}

impl Default for ProfileOptions {
    fn default() -> Self {
        Self::new([Profile::Draft])
    }
}

pub(super) fn unsupported(profile: Profile, why: &str, remedy: Remedy) -> RequestError {
    let rule = format!("{profile} {why}");
    RequestError::new(ErrorCode::UnsupportedProfile, "profiles", rule).with_remedy(remedy)
}
