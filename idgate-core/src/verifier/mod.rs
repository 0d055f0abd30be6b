//! The way in: decisions in order, an incomplete verifier does not compile.

mod attestation;
mod creation;
mod dc_api;
mod iso_mdoc;
mod new_session;
mod profiles;
mod request_object;
mod signers;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub use self::attestation::Attestation;
pub use self::new_session::NewSession;
pub use self::profiles::{DcApi, ProfileOptions, ResponseMode};
use self::signers::Signers;

use crate::codec::origin;
use crate::crypto::{CryptoProvider, RequestSigner};
use crate::discovery::did_web;
use crate::entropy::Entropy;
use crate::error::{ConfigError, ResponseError};
use crate::response::Answer;
use crate::session::{RequestShape, Session};
use crate::time::UnixMillis;
use crate::trust::TrustSnapshot;
use crate::verify::{Basis, Verification};

/// A configured verifier. Cheap to clone; replace it to change trust.
#[derive(Clone, Debug)]
pub struct Verifier {
    provider: CryptoProvider,
    base_url: String,
    /// The host of it, unless that is an address.
    host: Option<String>,
    /// How new offers of `draft` are made, and whether those of `1.0` go by value; a stored session
    /// keeps its own.
    draft: RequestShape,
    profiles: ProfileOptions,
    did: String,
    signers: Signers,
    trust: Arc<TrustSnapshot>,
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
    draft: RequestShape,
    profiles: ProfileOptions,
    /// Its own, in the order in which they are asked.
    own: Vec<Arc<dyn RequestSigner>>,
    /// Those that sessions name.
    named: Vec<Arc<dyn RequestSigner>>,
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

    /// The name of the host in `base_url`, which `x509_san_dns` and certificates name a verifier by;
    /// `None` where the host is an address, or there is none.
    ///
    /// ```
    /// use idgate_core::Verifier;
    /// assert_eq!(Verifier::host_name("https://Gateway.example:8443").unwrap(), "gateway.example");
    /// assert_eq!(Verifier::host_name("https://[2001:db8::1]"), None);
    /// ```
    pub fn host_name(base_url: &str) -> Option<String> {
        origin::host_name(base_url)
    }

    /// The trust snapshot that decides.
    pub fn trust(&self) -> &Arc<TrustSnapshot> {
        &self.trust
    }

    /// Where wallets reach the gateway, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Takes an answer to the offer that it was posted to (OpenID4VP 8.2, 8.3, decisions 6), or one that a
    /// page got from its browser. The offer's stored profile says how it is read, whatever this verifier
    /// makes new sessions with. An answer through a browser is good for a page from one of the session's
    /// origins, which `verification_details` name; nothing in the answer is believed about it. Errors
    /// change nothing: there is nothing to store.
    ///
    /// # Errors
    /// The session is closed or has no such offer, the answer is not well-formed, answers what was not
    /// offered or does not decrypt, or `state` is wrong.
    pub fn begin<'s>(
        &'s self,
        session: &'s Session,
        answer: Answer<'s>,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Verification<'s>, ResponseError> {
        Verification::begin(self.basis(), session, answer, entropy, now)
    }

    fn basis(&self) -> Basis<'_> {
        Basis { provider: &self.provider, trust: &self.trust }
    }
}

impl VerifierBuilder<WantsIdentity> {
    /// Unsigned requests by value. `base_url` is where wallets reach the gateway, as
    /// `https://gateway.example`; answers go to `{base_url}/v1/oid4vp/response/{session id}`.
    pub fn inline(self, base_url: impl Into<String>) -> VerifierBuilder<WantsTrust> {
        self.identified(base_url, RequestShape::inline(), None)
    }

    /// Signed requests by reference and encrypted answers, under the `did:web` of `base_url`'s host
    /// (see [`crate::discovery`]). Wallets fetch `{base_url}/v1/oid4vp/request/{session id}`.
    pub fn jar(
        self,
        base_url: impl Into<String>,
        signer: Arc<dyn RequestSigner>,
    ) -> VerifierBuilder<WantsTrust> {
        self.identified(base_url, RequestShape::jar(), Some(signer))
    }

    fn identified(
        self,
        base_url: impl Into<String>,
        shape: RequestShape,
        signer: Option<Arc<dyn RequestSigner>>,
    ) -> VerifierBuilder<WantsTrust> {
        let identity = Identity {
            base_url: base_url.into(),
            draft: shape,
            profiles: ProfileOptions::default(),
            own: signer.into_iter().collect(),
            named: Vec::new(),
        };
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
    /// A signer for Request Objects: of sessions that were made by reference before, which an inline
    /// verifier serves with it, and of new ones that none that was given earlier can sign, as those
    /// that need a certificate.
    pub fn request_signer(mut self, signer: Arc<dyn RequestSigner>) -> Self {
        self.state.identity.own.push(signer);
        self
    }

    /// A signer for sessions that name it, and no others: one that was replaced since, or one with the
    /// certificate of a single tenant (see [`NewSession::signer`]).
    pub fn named_signer(mut self, signer: Arc<dyn RequestSigner>) -> Self {
        self.state.identity.named.push(signer);
        self
    }

    /// What sessions may speak; without it `draft` alone.
    pub fn profiles(mut self, options: ProfileOptions) -> Self {
        self.state.identity.profiles = options;
        self
    }

    /// Checks that the decisions fit together.
    ///
    /// # Errors
    /// [`ConfigError`], for the operator.
    pub fn build(self) -> Result<Verifier, ConfigError> {
        let Identity { base_url, draft, profiles, own, named } = self.state.identity;
        let base_url = Verifier::origin(&base_url)?;
        let did = did_web(&base_url)?;
        let (provider, trust) = (self.provider, self.state.trust);
        let signers = Signers::new(&provider, &did, own, named)?;
        profiles.check(&draft, &signers)?;
        let host = Verifier::host_name(&base_url);
        Ok(Verifier { provider, base_url, host, draft, profiles, did, signers, trust })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests {
    #[cfg(feature = "rustcrypto")]
    mod dc_api;
    #[cfg(feature = "rustcrypto")]
    mod dcql;
    #[cfg(feature = "rustcrypto")]
    mod iso_mdoc;
    #[cfg(feature = "rustcrypto")]
    mod recorded;

    use alloc::string::ToString as _;

    use super::*;
    use crate::request::fixtures;

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
    fn an_answer_goes_to_the_offer_of_the_path_that_it_was_posted_to() {
        let (verifier, mut entropy) = (fixtures::verifier(), fixtures::CountingEntropy::default());
        let session = fixtures::session(fixtures::one_credential());
        let mut begin =
            |answer| verifier.begin(&session, answer, &mut entropy, fixtures::NOW).err().unwrap();
        let posted = |to| Answer { to, content_type: Some("application/json"), body: b"{}" };
        let closed = ResponseError::SessionClosed;
        for unknown in ["", "off_0", "ses_0", "dc_api", "dc_api/", "the browser of a page"] {
            assert_eq!(begin(posted(unknown)), closed, "{unknown:?}");
        }
        assert_eq!(
            begin(posted(session.id().as_str())),
            ResponseError::Malformed("state is missing")
        );
    }

    #[test]
    fn an_answer_of_a_browser_is_for_a_session_that_asked_one() {
        let (verifier, mut entropy) = (fixtures::verifier(), fixtures::CountingEntropy::default());
        let session = fixtures::session(fixtures::one_credential());
        let answer =
            Answer::dc_api(br#"{"protocol":"openid4vp-v1-unsigned","data":{"response":"x"}}"#);
        let refused = verifier.begin(&session, answer, &mut entropy, fixtures::NOW).err().unwrap();
        assert!(refused.to_string().contains("protocol"), "{refused}");
    }
}
