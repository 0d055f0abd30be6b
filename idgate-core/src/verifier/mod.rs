//! The verifier: it creates sessions and takes answers.

mod asked;
mod attestation;
pub(crate) mod builder;
mod creation;
mod dc_api;
mod iso_mdoc;
mod new_session;
mod profiles;
mod request_object;
mod signers;
mod software_signer;

use alloc::string::String;
use alloc::vec::Vec;

pub use self::asked::{Asked, RequestObject};
pub use self::attestation::Attestation;
pub use self::builder::VerifierBuilder;
use self::builder::WantsProfiles;
pub use self::new_session::NewSession;
pub use self::profiles::{DcApi, DeviceRequests, ProfileOptions, ResponseMode};
use self::signers::Signers;

use crate::codec::origin;
use crate::crypto::CryptoProvider;
use crate::discovery::{did_document_json, jwks_json};
use crate::entropy::Entropy;
use crate::error::{ConfigError, NotAnAnswer};
use crate::response::Answer;
use crate::session::{RequestShape, Session};
use crate::time::UnixMillis;
use crate::trust::{Trust, TrustSnapshot};
use crate::verify::{Basis, Verification};

/// A configured verifier. It is cheap to clone; to change trust, replace it.
#[derive(Clone, Debug)]
pub struct Verifier {
    trust: Trust,
    base_url: String,
    /// The host of the base URL, unless it is an address.
    host: Option<String>,
    /// The shape of new `draft` offers; it also says whether `1.0` offers go by value. A stored
    /// session keeps its own shape.
    draft: RequestShape,
    profiles: ProfileOptions,
    did: String,
    signers: Signers,
}

impl Verifier {
    /// Starts a builder with the issuers that you trust.
    pub fn builder(trust: Trust) -> VerifierBuilder<WantsProfiles> {
        VerifierBuilder::new(trust)
    }

    /// Returns the origin that a verifier uses for `base_url`. A shell checks its settings with
    /// this, so that it refuses what [`VerifierBuilder::build`] would refuse.
    ///
    /// # Errors
    /// `base_url` is neither https nor http on loopback, or is more than an origin.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn origin(base_url: &str) -> Result<String, ConfigError> {
        origin::of_base_url(base_url).map_err(ConfigError::BaseUrl)
    }

    /// Returns the host name in `base_url`, which `x509_san_dns` and certificates use; `None` if
    /// the host is an address or missing.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn host_name(base_url: &str) -> Option<String> {
        origin::host_name(base_url)
    }

    /// The trust that decides about answers.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    pub(crate) fn entries(&self) -> &TrustSnapshot {
        self.trust.snapshot()
    }

    pub(crate) fn provider(&self) -> &CryptoProvider {
        self.trust.provider()
    }

    /// Returns the DID document (DID Core 5) for `/.well-known/did.json`. It has every key that
    /// signs under the DID, from signers with a
    /// [`RequestSigner::published_key`](crate::crypto::RequestSigner::published_key). `None`: there
    /// is no such key.
    pub fn did_document_json(&self) -> Option<String> {
        let keys: Vec<_> = self.signers.published().collect();
        (!keys.is_empty()).then(|| did_document_json(&self.did, &keys))
    }

    /// Returns the same keys as a JWK set (RFC 7517 5), for `/.well-known/jwks.json`.
    pub fn jwks_json(&self) -> String {
        jwks_json(&self.signers.published().collect::<Vec<_>>())
    }

    /// The origin at which wallets reach you, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Begins the verification of an answer to the offer that it was posted to (OpenID4VP 8.2,
    /// 8.3), or of an answer that a page received from its browser.
    ///
    /// The offer's stored profile says how the answer is read, whatever this verifier uses for new
    /// sessions. An answer through a browser is valid for a page from one of the session's origins,
    /// which `verification_details` has; the answer's own statements about the origin are never
    /// trusted. After an error the session is unchanged, and there is nothing to store.
    ///
    /// # Errors
    /// The session is closed or has no such offer, the answer is not well-formed, answers another
    /// request or does not decrypt, or `state` is wrong.
    pub fn begin<'s>(
        &'s self,
        session: &'s Session,
        answer: Answer<'s>,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Verification<'s>, NotAnAnswer> {
        Verification::begin(self.basis(), session, answer, entropy, now)
    }

    fn basis(&self) -> Basis<'_> {
        Basis { provider: self.provider(), trust: self.entries() }
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
    use alloc::sync::Arc;

    use super::*;
    use crate::request::fixtures;

    #[cfg(feature = "rustcrypto")]
    #[test]
    fn a_base_url_has_an_origin_and_a_host_name() {
        let origin = |url| Verifier::origin(url).ok();
        assert_eq!(
            origin("https://Gateway.example:443").as_deref(),
            Some("https://gateway.example")
        );
        assert_eq!(origin("http://gateway.example"), None);
        let host = Verifier::host_name("https://Gateway.example:8443");
        assert_eq!(host.as_deref(), Some("gateway.example"));
        assert_eq!(Verifier::host_name("https://[2001:db8::1]"), None);
    }

    #[test]
    fn a_profile_that_is_always_signed_needs_its_signer_when_the_verifier_is_built() {
        use crate::request::Profile;
        let with = |profile| {
            let trust = Trust::of_snapshot(fixtures::NO_CRYPTO, Arc::new(fixtures::trust()));
            Verifier::builder(trust).profiles([profile])
        };
        let haip = with(Profile::Haip).unsigned("https://gateway.example").build();
        let why = "the profiles have haip, which needs a signer with a certificate";
        assert_eq!(haip.unwrap_err().to_string(), why);
        let pages =
            |dc_api| with(Profile::V1_0).unsigned("https://gateway.example").dc_api(dc_api).build();
        assert!(pages(DcApi::Unsigned).is_ok());
        for signed in [DcApi::Signed, DcApi::Multisigned] {
            assert!(matches!(pages(signed), Err(ConfigError::Signer(_))), "{signed:?}");
        }
    }

    #[test]
    fn a_signer_of_another_host_is_refused_in_either_profile() {
        use crate::crypto::{Es256Key, SoftwareSigner, rustcrypto::PROVIDER};
        let key = Es256Key::from_scalar(&[3; 32]).unwrap();
        let signer = Arc::new(SoftwareSigner::new(key, "did:web:gateway.example#key"));
        let jar =
            |base_url: &str| fixtures::builder(PROVIDER).signed(base_url, signer.clone()).build();
        let inline = |base_url: &str| {
            fixtures::builder(PROVIDER).unsigned(base_url).signer(signer.clone()).build()
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
        let closed = NotAnAnswer::SessionClosed;
        // Strings of their own, as in a received path: a literal could share the static's bytes.
        let unknown = ["", "off_0", "ses_0", "dc_api", "dc_api/", "the browser of a page"];
        let unknown = unknown.map(String::from);
        for unknown in &unknown {
            assert_eq!(begin(posted(unknown)), closed, "{unknown:?}");
        }
        assert_eq!(
            begin(posted(session.id().as_str())),
            NotAnAnswer::Malformed("state is missing")
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
