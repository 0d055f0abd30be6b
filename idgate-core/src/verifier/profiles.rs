//! The profiles of a verifier and their options.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::error::{ConfigError, ErrorCode, Remedy, RequestError};
use crate::request::{PresentationRequest, Profile};
use crate::session::{ClientIdForm, DcApiProtocol, Delivery, RequestShape, ResponseEncryption};
use crate::verifier::signers::Signers;

/// The profiles of a verifier, and their options. All options concern `1.0` and `haip`: `draft` has
/// none.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProfileOptions {
    /// The profiles that sessions may use; the first is for requests that name none. Never empty.
    pub enabled: Vec<Profile>,
    /// The client identifier of signed requests of `1.0`: `DecentralizedIdentifier`, `X509SanDns`
    /// or `X509Hash`. Building the verifier fails with any other form.
    pub client_id_form: ClientIdForm,
    /// How `1.0` answers are returned; those of `haip` and those through browsers are always
    /// encrypted.
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
    /// `1.1`, with the registration certificate, for a signed session that has one; otherwise
    /// `1.0`.
    #[default]
    Auto,
    /// `1.0`
    FirstEdition,
}

/// The requests that pages may pass to their browser (OpenID4VP A.3). Browsers and wallets use the
/// first one that they support, so each option adds the simpler ones after it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum DcApi {
    /// None: requests go by links.
    #[default]
    Off,
    /// `openid4vp-v1-unsigned`
    Unsigned,
    /// `openid4vp-v1-signed`, then the unsigned request.
    Signed,
    /// `openid4vp-v1-multisigned`, then the request with one signature, then the unsigned one.
    Multisigned,
}

impl DcApi {
    /// The offered protocols, in that order.
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

/// How `1.0` answers are returned (OpenID4VP 8.2, 8.3.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ResponseMode {
    /// Encrypted if the request is signed, otherwise plain.
    Auto,
    /// Plain: `direct_post`.
    Plain,
    /// Encrypted: `direct_post.jwt`.
    Encrypted,
}

impl ProfileOptions {
    /// Creates options for these profiles that suit most wallets. Building a verifier without a
    /// profile fails.
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

    /// Checks that `signers` can sign requests under these client identifiers; `draft` requests are
    /// made as given.
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
                "of the DID is missing: add a signer without a certificate",
            ));
        }
        Ok(())
    }

    /// Checks that profiles that are always signed have their signers, so that no tenant asks for a
    /// request that cannot be signed.
    pub(super) fn check_signers(&self, signers: &Signers) -> Result<(), ConfigError> {
        if self.enabled.contains(&Profile::Haip) && !signers.have_certificate() {
            return Err(ConfigError::Profiles(
                "have haip, which needs a signer with a certificate",
            ));
        }
        if matches!(self.dc_api, DcApi::Signed | DcApi::Multisigned) && signers.is_empty() {
            return Err(ConfigError::Signer("of requests to browsers is missing: add a signer"));
        }
        Ok(())
    }

    /// The profiles of the offers of `request`, in their order, each once.
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

    /// The profile of a request to browsers in a session with these links: the first that browsers
    /// support.
    pub(super) fn of_browsers(linked: &[Profile]) -> Option<Profile> {
        linked.iter().copied().find(|profile| *profile != Profile::Draft)
    }

    /// The shape of an offer of `profile`; that of `draft` is given.
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

    /// The client identifiers for signed offers to browsers. The first is used if there is only one
    /// signature. `haip` has one.
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
