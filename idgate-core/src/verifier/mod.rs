//! The way in: decisions in order, an incomplete verifier does not compile.

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used)]
mod recorded_tests;
mod request_object;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use crate::codec::origin;
use crate::crypto::{Alg, CryptoProvider, RequestSigner};
use crate::discovery::did_web;
use crate::entropy::{Entropy, EntropyUnavailable};
use crate::error::{ConfigError, CreateError, ErrorCode, RequestError, ResponseError};
use crate::ids::{ClientIdentifier, Nonce, OfferId, SessionId, State, TenantId};
use crate::limits::MAX_QR_CODE_URL_BYTES;
use crate::request::{PresentationRequest, RequestForm, Scheme};
use crate::response::WalletResponse;
use crate::session::{
    ClientIdForm, Delivery, EncryptionKey, Offer, Offers, Phase, RequestProfile,
    ResponseEncryption, Revision, Session, Transition,
};
use crate::time::UnixMillis;
use crate::trust::TrustSnapshot;
use crate::verify::{Basis, Verification};

/// A configured verifier. Cheap to clone; replace it to change trust.
#[derive(Clone, Debug)]
pub struct Verifier {
    pub(crate) provider: CryptoProvider,
    pub(crate) base_url: String,
    /// How new sessions are made; a stored session keeps its own.
    pub(crate) profile: RequestProfile,
    /// The `client_id` of new sessions in the jar profile.
    did: String,
    pub(crate) signer: Option<Arc<dyn RequestSigner>>,
    pub(crate) trust: Arc<TrustSnapshot>,
}

/// Collects the decisions that a [`Verifier`] needs; the type says which come next.
///
/// ```
/// # use idgate_core::{CryptoProvider, TrustSnapshot, Verifier};
/// # fn configure(provider: CryptoProvider, trust: std::sync::Arc<TrustSnapshot>) {
/// let verifier = Verifier::builder(provider).inline("https://shop.example").trust(trust).build();
/// # }
/// ```
///
/// One that lacks a decision does not compile: not without trust,
///
/// ```compile_fail,E0599
/// # use idgate_core::{CryptoProvider, TrustSnapshot, Verifier};
/// # fn configure(provider: CryptoProvider, trust: std::sync::Arc<TrustSnapshot>) {
/// let verifier = Verifier::builder(provider).inline("https://shop.example").build();
/// # }
/// ```
///
/// and not without an identity.
///
/// ```compile_fail,E0599
/// # use idgate_core::{CryptoProvider, TrustSnapshot, Verifier};
/// # fn configure(provider: CryptoProvider, trust: std::sync::Arc<TrustSnapshot>) {
/// let verifier = Verifier::builder(provider).trust(trust).build();
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "build() makes the verifier"]
pub struct VerifierBuilder<S> {
    provider: CryptoProvider,
    state: S,
}

/// Next: [`VerifierBuilder::inline`] or [`VerifierBuilder::jar`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WantsIdentity {}

/// Next: [`VerifierBuilder::trust`].
#[derive(Clone, Debug)]
pub struct WantsTrust {
    identity: Identity,
}

/// Next: [`VerifierBuilder::build`].
#[derive(Clone, Debug)]
pub struct Ready {
    identity: Identity,
    trust: Arc<TrustSnapshot>,
}

/// Who asks, and how.
#[derive(Clone, Debug)]
struct Identity {
    base_url: String,
    profile: RequestProfile,
    signer: Option<Arc<dyn RequestSigner>>,
}

impl Verifier {
    /// Starts with the cryptography.
    pub fn builder(provider: CryptoProvider) -> VerifierBuilder<WantsIdentity> {
        VerifierBuilder { provider, state: WantsIdentity {} }
    }

    /// The origin that a verifier makes of `base_url`: what a shell checks its settings with, so that
    /// it refuses what [`VerifierBuilder::build`] would refuse.
    ///
    /// ```
    /// use idgate_core::Verifier;
    /// assert_eq!(Verifier::origin("https://Gateway.example:443").unwrap(), "https://gateway.example");
    /// assert!(Verifier::origin("http://gateway.example").is_err());
    /// ```
    ///
    /// # Errors
    /// It is not https, nor http on loopback, or more than an origin.
    pub fn origin(base_url: &str) -> Result<String, ConfigError> {
        origin::of_base_url(base_url).map_err(ConfigError::BaseUrl)
    }

    /// The trust snapshot that decides.
    pub fn trust(&self) -> &Arc<TrustSnapshot> {
        &self.trust
    }

    /// Where wallets reach the gateway, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Makes a session for `tenant`. Commit the transition, then answer with
    /// [`crate::Session::invitation`].
    ///
    /// # Errors
    /// There is no entropy, or the request is too large for a link.
    pub fn create_session(
        &self,
        request: PresentationRequest,
        tenant: TenantId,
        livemode: bool,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Transition, CreateError> {
        let id = SessionId::fresh(entropy)?;
        let session = Session {
            tenant,
            livemode,
            offers: Offers::one(self.offer(&id, entropy)?),
            id,
            created_at: now,
            expires_at: now.plus(request.ttl_ms),
            request,
            revision: Revision(0),
            phase: Phase::Created,
            trust_version: None,
            result: None,
        };
        check_link(&session)?;
        Ok(session.open())
    }

    /// Takes a wallet's answer to an offer: to the session's own, or to the one that is named
    /// (OpenID4VP 8.2, 8.3, decisions 6). How it is read is the offer's stored profile's to say,
    /// whatever this verifier makes new sessions with. Errors change
    /// nothing: there is nothing to store.
    ///
    /// # Errors
    /// The session is closed, the answer is not well-formed or does not decrypt, or `state` is
    /// wrong.
    pub fn begin<'s>(
        &'s self,
        session: &'s Session,
        offer: Option<&OfferId>,
        response: WalletResponse<'s>,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Verification<'s>, ResponseError> {
        let basis = Basis { provider: &self.provider, trust: &self.trust };
        Verification::begin(basis, session, offer, response, entropy, now)
    }

    /// A fresh request of the session `id`.
    fn offer(
        &self,
        id: &SessionId,
        entropy: &mut dyn Entropy,
    ) -> Result<Offer, EntropyUnavailable> {
        let response_uri = self.endpoint("response", id);
        Ok(Offer {
            id: None,
            client_identifier: self.client_identifier(&response_uri),
            signer: None,
            request_uri: match self.profile.delivery {
                Delivery::Inline => None,
                Delivery::RequestUri => Some(self.endpoint("request", id)),
            },
            encryption_key: match self.profile.response {
                ResponseEncryption::Plain => None,
                ResponseEncryption::EcdhEs => Some(EncryptionKey::fresh(&self.provider, entropy)?),
            },
            profile: self.profile.clone(),
            response_uri,
            nonce: Nonce::fresh(entropy)?,
            state: State::fresh(entropy)?,
            announces_post: false,
        })
    }

    fn endpoint(&self, name: &str, id: &SessionId) -> String {
        format!("{}/v1/oid4vp/{name}/{id}", self.base_url)
    }

    fn client_identifier(&self, response_uri: &str) -> ClientIdentifier {
        match self.profile.client_id_form {
            ClientIdForm::RedirectUri => {
                ClientIdentifier::new(["redirect_uri:", response_uri].concat())
            }
            _ => ClientIdentifier::new(&*self.did),
        }
    }
}

/// A request by value travels in a link, which is of no use when it is too long to follow.
fn check_link(session: &Session) -> Result<(), RequestError> {
    if session.deep_link(Scheme::OpenId4Vp).len() <= MAX_QR_CODE_URL_BYTES {
        return Ok(());
    }
    let path = match session.request.form {
        RequestForm::Legacy => "issuer_id",
        RequestForm::Custom => "credentials",
    };
    let rule = "asks for more than a link of 16 KiB can carry; ask for fewer claims or types";
    Err(RequestError::new(ErrorCode::InvalidRequest, path, rule))
}

impl VerifierBuilder<WantsIdentity> {
    /// Unsigned requests by value. `base_url` is where wallets reach the gateway, as
    /// `https://gateway.example`; answers go to `{base_url}/v1/oid4vp/response/{session id}`.
    pub fn inline(self, base_url: impl Into<String>) -> VerifierBuilder<WantsTrust> {
        self.identified(base_url, RequestProfile::inline(), None)
    }

    /// Signed requests by reference and encrypted answers, under the `did:web` of `base_url`'s host
    /// (see [`crate::discovery`]). Wallets fetch `{base_url}/v1/oid4vp/request/{session id}`.
    pub fn jar(
        self,
        base_url: impl Into<String>,
        signer: Arc<dyn RequestSigner>,
    ) -> VerifierBuilder<WantsTrust> {
        self.identified(base_url, RequestProfile::jar(), Some(signer))
    }

    fn identified(
        self,
        base_url: impl Into<String>,
        profile: RequestProfile,
        signer: Option<Arc<dyn RequestSigner>>,
    ) -> VerifierBuilder<WantsTrust> {
        let identity = Identity { base_url: base_url.into(), profile, signer };
        VerifierBuilder { provider: self.provider, state: WantsTrust { identity } }
    }
}

impl VerifierBuilder<WantsTrust> {
    /// Who is trusted, for what.
    pub fn trust(self, snapshot: Arc<TrustSnapshot>) -> VerifierBuilder<Ready> {
        let state = Ready { identity: self.state.identity, trust: snapshot };
        VerifierBuilder { provider: self.provider, state }
    }
}

impl VerifierBuilder<Ready> {
    /// The signer for Request Objects of stored sessions: an inline verifier serves with it the
    /// sessions that were made in the jar profile before.
    pub fn request_signer(mut self, signer: Arc<dyn RequestSigner>) -> Self {
        self.state.identity.signer = Some(signer);
        self
    }

    /// Checks that the decisions fit together.
    ///
    /// # Errors
    /// [`ConfigError`], for the operator.
    pub fn build(self) -> Result<Verifier, ConfigError> {
        let Identity { base_url, profile, signer } = self.state.identity;
        let base_url = Verifier::origin(&base_url)?;
        let did = did_web(&base_url)?;
        if let Some(signer) = &signer {
            check_signer(&**signer, &did)?;
        }
        let (provider, trust) = (self.provider, self.state.trust);
        Ok(Verifier { provider, base_url, profile, did, signer, trust })
    }
}

/// Wallets find the key by its id in the document of `did`, and expect ES256.
fn check_signer(signer: &dyn RequestSigner, did: &str) -> Result<(), ConfigError> {
    if signer.alg() != Alg::Es256 {
        return Err(ConfigError::Signer("must sign with ES256"));
    }
    let fragment = signer.key_id().strip_prefix(did).and_then(|rest| rest.strip_prefix('#'));
    match fragment {
        Some(fragment) if !fragment.is_empty() => Ok(()),
        _ => Err(ConfigError::Signer("must have a key id of the form did:web:{host}#{key}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::request::fixtures::{self, NOW};

    #[derive(Debug)]
    struct Named(Alg, &'static str);

    impl RequestSigner for Named {
        fn alg(&self) -> Alg {
            self.0
        }

        fn key_id(&self) -> &str {
            self.1
        }

        fn sign(&self, _: &[u8]) -> Result<alloc::vec::Vec<u8>, crate::crypto::SignerUnavailable> {
            Err(crate::crypto::SignerUnavailable::new("the HSM does not answer"))
        }
    }

    fn check(alg: Alg, key_id: &'static str) -> Result<(), ConfigError> {
        check_signer(&Named(alg, key_id), "did:web:a.example")
    }

    #[test]
    fn a_signer_has_an_es256_key_of_the_did() {
        assert_eq!(check(Alg::Es256, "did:web:a.example#key"), Ok(()));
        for key_id in [
            "",
            "#key",
            "key",
            "did:web:a.example",
            "did:web:a.example#",
            "did:web:a.example.evil#key",
            "did:web:b.example#key",
        ] {
            assert!(matches!(check(Alg::Es256, key_id), Err(ConfigError::Signer(_))), "{key_id}");
        }
        for alg in [Alg::Es384, Alg::Es512] {
            let refused = check(alg, "did:web:a.example#key");
            assert!(matches!(refused, Err(ConfigError::Signer(text)) if text.contains("ES256")));
        }
    }

    #[cfg(feature = "rustcrypto")]
    #[test]
    fn a_signer_of_another_host_is_refused_in_either_profile() {
        use crate::crypto::{Es256Key, rustcrypto::PROVIDER};
        use crate::request::SoftwareSigner;
        let key = Es256Key::from_scalar(&[3; 32]).unwrap();
        let signer = Arc::new(SoftwareSigner::new(key, "did:web:gateway.example#key"));
        let trust = || Arc::new(fixtures::trust());
        let jar = |base_url: &str| {
            Verifier::builder(PROVIDER).jar(base_url, signer.clone()).trust(trust()).build()
        };
        let inline = |base_url: &str| {
            let builder = Verifier::builder(PROVIDER).inline(base_url).trust(trust());
            builder.request_signer(signer.clone()).build()
        };
        assert!(
            jar("https://gateway.example").is_ok() && inline("https://gateway.example").is_ok()
        );
        for other in ["https://gateway.example:8443", "https://other.example"] {
            assert!(matches!(jar(other), Err(ConfigError::Signer(_))), "{other}");
            assert!(matches!(inline(other), Err(ConfigError::Signer(_))), "{other}");
        }
        assert!(matches!(jar("gateway.example"), Err(ConfigError::BaseUrl(_))));
    }

    #[test]
    fn a_new_session_has_everything_that_its_request_carries() {
        let transition = fixtures::creation(fixtures::one_credential());
        let session = transition.session;
        assert!(session.id().as_str().starts_with("ses_"));
        assert_eq!(session.id().as_str().len(), 26);
        let response_uri =
            format!("https://gateway.example/v1/oid4vp/response/{}", session.id().as_str());
        assert_eq!(session.response_uri(), response_uri);
        assert_eq!(session.client_identifier().as_str(), format!("redirect_uri:{response_uri}"));
        assert_eq!((session.created_at(), session.expires_at()), (NOW, NOW.plus(300_000)));
        assert!(session.livemode());
        assert_eq!(session.profile(), &RequestProfile::inline());
        assert_eq!(session.trust_version(), None);
    }

    #[test]
    fn a_request_that_no_link_carries_is_refused() {
        let body = |claims: usize| {
            let name = |n: usize| alloc::format!("{n:0>140}");
            let claims: alloc::vec::Vec<_> = (0..claims).map(name).collect();
            serde_json::json!({"credentials": [
                {"format": "vc+sd-jwt", "issuer_id": "two", "claims": claims},
            ]})
        };
        let create = |claims| {
            let (request, tenant) = (fixtures::request(body(claims)), TenantId::new("cli_1"));
            let mut entropy = fixtures::CountingEntropy::default();
            fixtures::verifier().create_session(request, tenant, true, &mut entropy, NOW)
        };
        let session = create(70).unwrap().session;
        let length = session.deep_link(Scheme::OpenId4Vp).len();
        assert!((MAX_QR_CODE_URL_BYTES / 2..=MAX_QR_CODE_URL_BYTES).contains(&length));
        let Err(CreateError::Request(error)) = create(100) else { panic!("accepted") };
        assert_eq!((error.code, &*error.path), (ErrorCode::InvalidRequest, "credentials"));
    }

    #[test]
    fn without_entropy_there_is_no_session() {
        struct Empty(u8);
        impl Entropy for Empty {
            fn fill(&mut self, _out: &mut [u8]) -> Result<(), EntropyUnavailable> {
                self.0 = self.0.checked_sub(1).ok_or(EntropyUnavailable::new())?;
                Ok(())
            }
        }
        for draws in 0..3 {
            let request = fixtures::one_credential();
            let tenant = TenantId::new("cli_1");
            let result =
                fixtures::verifier().create_session(request, tenant, true, &mut Empty(draws), NOW);
            assert!(matches!(result, Err(CreateError::Entropy(_))), "{draws}");
        }
    }
}
