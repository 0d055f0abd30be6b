//! From decisions in order to a verifier: an incomplete one does not compile.

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

/// Collects the decisions that a [`Verifier`] needs; the type says which come next.
///
/// ```
/// # use idgate_core::{Profile, Trust, Verifier};
/// # fn configure(trust: Trust) {
/// let verifier =
///     Verifier::builder(trust).profiles([Profile::V1_0]).unsigned("https://shop.example").build();
/// # }
/// ```
///
/// One that lacks a decision does not compile: not without profiles,
///
/// ```compile_fail,E0599
/// # use idgate_core::{Trust, Verifier};
/// # fn configure(trust: Trust) {
/// let verifier = Verifier::builder(trust).unsigned("https://shop.example").build();
/// # }
/// ```
///
/// and not without an identity.
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
    /// Whether `profiles` says how the verifier names itself.
    is_named: bool,
    /// Whether each profile must have its signers now; a shell's may get theirs later.
    is_complete: bool,
    base_url: String,
    draft: RequestShape,
    /// Its own, in the order in which they are asked.
    own: Vec<Arc<dyn RequestSigner>>,
    /// Those that sessions name.
    named: Vec<Arc<dyn RequestSigner>>,
}

impl VerifierBuilder<WantsProfiles> {
    pub(super) fn new(trust: Trust) -> Self {
        Self { trust, state: WantsProfiles {} }
    }

    /// The profiles of sessions. The first is for requests that name none.
    pub fn profiles(
        self,
        profiles: impl IntoIterator<Item = Profile>,
    ) -> VerifierBuilder<WantsIdentity> {
        let state = WantsIdentity { profiles: ProfileOptions::new(profiles) };
        VerifierBuilder { trust: self.trust, state }
    }
}

impl VerifierBuilder<WantsIdentity> {
    /// Unsigned requests, by value. `base_url` is the origin at which wallets reach you, for example
    /// `https://shop.example`; answers go to `{base_url}/v1/oid4vp/response/{session id}`. Requests of `haip` are
    /// always signed: they need a signer with a certificate, see [`VerifierBuilder::signer`].
    pub fn unsigned(self, base_url: impl Into<String>) -> VerifierBuilder<Ready> {
        self.identified(base_url, RequestShape::inline(), Vec::new())
    }

    /// Signed requests by reference, and encrypted answers. If `signer` has a certificate, requests of `1.0` go under its
    /// hash (`x509_hash`), else under the `did:web` of `base_url`'s host;
    /// [`VerifierBuilder::named_by_host`] chooses another name. Wallets fetch `{base_url}/v1/oid4vp/request/{session id}`.
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
    /// A further signer: for sessions that were made when it was the only one, and for new ones that no signer that was
    /// given earlier can sign, for example those that need a certificate.
    pub fn signer(mut self, signer: impl RequestSigner + 'static) -> Self {
        self.state.own.push(Arc::new(signer));
        self
    }

    /// A signer for the sessions that name it, and for no others: one that was replaced since, or one with the
    /// certificate of a single tenant (see [`NewSession::signer`](crate::NewSession::signer)).
    pub fn named_signer(mut self, signer: impl RequestSigner + 'static) -> Self {
        self.state.named.push(Arc::new(signer));
        self
    }

    /// The client identifier of signed requests of `1.0`: `DecentralizedIdentifier`, `X509SanDns` or `X509Hash`; with
    /// another one the verifier does not build (OpenID4VP 5.9.3).
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn client_id_form(mut self, form: ClientIdForm) -> Self {
        self.state.profiles.client_id_form = form;
        self.state.is_named = true;
        self
    }

    /// Signed requests of `1.0` name the verifier by the host of its base URL, which its certificate must have as a
    /// dNSName (`x509_san_dns`, OpenID4VP 5.9.3), and not by the hash of that certificate.
    pub fn named_by_host(mut self) -> Self {
        self.state.profiles.client_id_form = ClientIdForm::X509SanDns;
        self.state.is_named = true;
        self
    }

    /// How answers of `1.0` come back. Those of `haip` and those through browsers are always encrypted.
    pub fn response_mode(mut self, mode: ResponseMode) -> Self {
        self.state.profiles.response_mode = mode;
        self
    }

    /// Tells wallets in links that they may POST for the request (OpenID4VP 5.10).
    pub fn request_uri_method_post(mut self) -> Self {
        self.state.profiles.announces_post = true;
        self
    }

    /// The requests that pages may pass to their browser, in any profile but `draft` (OpenID4VP A).
    pub fn dc_api(mut self, dc_api: DcApi) -> Self {
        self.state.profiles.dc_api = dc_api;
        self
    }

    /// The profiles again, with every choice in them made. Their signers may be missing: a request for such a
    /// profile is refused.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn profile_options(mut self, profiles: ProfileOptions) -> Self {
        self.state.profiles = profiles;
        self.state.is_named = true;
        self.state.is_complete = false;
        self
    }

    /// Checks that the decisions fit together.
    ///
    /// # Errors
    /// They do not; the text says which.
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
