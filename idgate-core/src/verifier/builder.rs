//! The builder of a verifier. It takes the required settings in a fixed order, so that code for an
//! incomplete verifier does not compile.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Verifier;
use super::profiles::{DcApi, ProfileOptions, ResponseMode};
use super::signers::Signers;
use crate::crypto::RequestSigner;
use crate::discovery::did_web;
use crate::error::ConfigError;
use crate::request::Profile;
use crate::session::{ClientIdForm, RequestShape};
use crate::trust::Trust;

/// Builds a [`Verifier`] from its settings. The type parameter says which required setting is next.
///
/// ```
/// # use idgate_core::{Profile, Trust, Verifier};
/// # fn configure(trust: Trust) {
/// let verifier =
///     Verifier::builder(trust).profiles([Profile::V1_0]).unsigned("https://shop.example").build();
/// # }
/// ```
///
/// Code that omits a required setting does not compile, for example the profiles:
///
/// ```compile_fail,E0599
/// # use idgate_core::{Trust, Verifier};
/// # fn configure(trust: Trust) {
/// let verifier = Verifier::builder(trust).unsigned("https://shop.example").build();
/// # }
/// ```
///
/// or the identity:
///
/// ```compile_fail,E0599
/// # use idgate_core::{Profile, Trust, Verifier};
/// # fn configure(trust: Trust) {
/// let verifier = Verifier::builder(trust).profiles([Profile::V1_0]).build();
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "build() makes the verifier"]
pub struct VerifierBuilder<S> {
    trust: Trust,
    state: S,
}

/// Next: [`VerifierBuilder::profiles`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WantsProfiles {}

/// Next: [`VerifierBuilder::unsigned`] or [`VerifierBuilder::signed`].
#[derive(Clone, Debug)]
pub struct WantsIdentity {
    profiles: ProfileOptions,
}

/// Next: [`VerifierBuilder::build`].
#[derive(Clone, Debug)]
pub struct Ready {
    profiles: ProfileOptions,
    /// Whether `profiles` sets the verifier's client identifier.
    is_named: bool,
    /// Whether each profile must have its signers when the verifier is built; a shell may add them
    /// later.
    is_complete: bool,
    base_url: String,
    draft: RequestShape,
    /// The verifier's own signers, in the order in which they are tried.
    own: Vec<Arc<dyn RequestSigner>>,
    /// The signers that sessions name.
    named: Vec<Arc<dyn RequestSigner>>,
}

impl VerifierBuilder<WantsProfiles> {
    pub(super) fn new(trust: Trust) -> Self {
        Self { trust, state: WantsProfiles {} }
    }

    /// Sets the profiles of sessions. The first is used for requests that name none.
    pub fn profiles(
        self,
        profiles: impl IntoIterator<Item = Profile>,
    ) -> VerifierBuilder<WantsIdentity> {
        let state = WantsIdentity { profiles: ProfileOptions::new(profiles) };
        VerifierBuilder { trust: self.trust, state }
    }
}

impl VerifierBuilder<WantsIdentity> {
    /// Sends unsigned requests by value. `base_url` is the origin at which wallets reach you, for
    /// example `https://shop.example`; answers go to `{base_url}/v1/oid4vp/response/{session id}`.
    ///
    /// Requests of `haip` are always signed: they need a signer with a certificate, see
    /// [`VerifierBuilder::signer`].
    pub fn unsigned(self, base_url: impl Into<String>) -> VerifierBuilder<Ready> {
        self.identified(base_url, RequestShape::inline(), Vec::new())
    }

    /// Sends signed requests by reference and expects encrypted answers. Wallets fetch
    /// `{base_url}/v1/oid4vp/request/{session id}`.
    ///
    /// If `signer` has a certificate, the client identifier of `1.0` requests is its hash
    /// (`x509_hash`), otherwise the `did:web` of `base_url`'s host;
    /// [`VerifierBuilder::named_by_host`] chooses another one.
    pub fn signed(
        self,
        base_url: impl Into<String>,
        signer: impl RequestSigner + 'static,
    ) -> VerifierBuilder<Ready> {
        let own: Vec<Arc<dyn RequestSigner>> = alloc::vec![Arc::new(signer)];
        self.identified(base_url, RequestShape::jar(), own)
    }

    fn identified(
        self,
        base_url: impl Into<String>,
        draft: RequestShape,
        own: Vec<Arc<dyn RequestSigner>>,
    ) -> VerifierBuilder<Ready> {
        let WantsIdentity { profiles } = self.state;
        let (base_url, named) = (base_url.into(), Vec::new());
        let (is_named, is_complete) = (false, true);
        let state = Ready { profiles, is_named, is_complete, base_url, draft, own, named };
        VerifierBuilder { trust: self.trust, state }
    }
}

impl VerifierBuilder<Ready> {
    /// Adds a signer. It signs for existing sessions that were created with it, and for new sessions
    /// that no earlier signer can sign, for example those that need a certificate.
    pub fn signer(mut self, signer: impl RequestSigner + 'static) -> Self {
        self.state.own.push(Arc::new(signer));
        self
    }

    /// Adds a signer only for the sessions that name it: one that was replaced since, or one with a
    /// single tenant's certificate (see [`NewSession::signer`](crate::NewSession::signer)).
    pub fn named_signer(mut self, signer: impl RequestSigner + 'static) -> Self {
        self.state.named.push(Arc::new(signer));
        self
    }

    /// Sets the client identifier of signed requests of `1.0`: `DecentralizedIdentifier`,
    /// `X509SanDns` or `X509Hash`. With any other form the verifier does not build (OpenID4VP
    /// 5.9.3).
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn client_id_form(mut self, form: ClientIdForm) -> Self {
        self.state.profiles.client_id_form = form;
        self.state.is_named = true;
        self
    }

    /// Uses the host of the base URL as the client identifier of signed `1.0` requests, and not the
    /// certificate's hash. The certificate must have the host as a dNSName (`x509_san_dns`,
    /// OpenID4VP 5.9.3).
    pub fn named_by_host(mut self) -> Self {
        self.state.profiles.client_id_form = ClientIdForm::X509SanDns;
        self.state.is_named = true;
        self
    }

    /// Sets how `1.0` answers are returned. Those of `haip` and those through browsers are always
    /// encrypted.
    pub fn response_mode(mut self, mode: ResponseMode) -> Self {
        self.state.profiles.response_mode = mode;
        self
    }

    /// Tells wallets in links that they may POST for the request (OpenID4VP 5.10).
    pub fn request_uri_method_post(mut self) -> Self {
        self.state.profiles.announces_post = true;
        self
    }

    /// Sets the requests that pages may pass to their browser, in any profile but `draft`
    /// (OpenID4VP A).
    pub fn dc_api(mut self, dc_api: DcApi) -> Self {
        self.state.profiles.dc_api = dc_api;
        self
    }

    /// Sets the profiles again, with all their options. Their signers may be missing: a request for
    /// such a profile is then refused.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn profile_options(mut self, profiles: ProfileOptions) -> Self {
        self.state.profiles = profiles;
        self.state.is_named = true;
        self.state.is_complete = false;
        self
    }

    /// Builds the verifier, if the settings fit together.
    ///
    /// # Errors
    /// The settings contradict each other; the text says which.
    pub fn build(self) -> Result<Verifier, ConfigError> {
        let Ready { mut profiles, is_named, is_complete, base_url, draft, own, named } = self.state;
        let base_url = Verifier::origin(&base_url)?;
        let did = did_web(&base_url)?;
        let signers = Signers::new(self.trust.provider(), &did, own, named)?;
        if !is_named && signers.first_is_certified() {
            profiles.client_id_form = ClientIdForm::X509Hash;
        }
        profiles.check(&draft, &signers)?;
        if is_complete {
            profiles.check_signers(&signers)?;
        }
        let host = Verifier::host_name(&base_url);
        Ok(Verifier { trust: self.trust, base_url, host, draft, profiles, did, signers })
    }
}
