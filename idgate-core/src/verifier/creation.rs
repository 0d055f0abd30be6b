//! New sessions: an offer for each requested profile.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::entropy::Entropy;
use crate::error::{CreateError, ErrorCode, Remedy, RequestError};
use crate::ids::{ClientIdentifier, Nonce, OfferId, SessionId, State};
use crate::limits::MAX_QR_CODE_URL_BYTES;
use crate::mode::Mode;
use crate::request::{PresentationRequest, Presets, Profile, Request, Scheme, SpokenProfiles};
use crate::session::{
    ClientIdForm, Delivery, EncryptionKey, Offer, Offers, Phase, RequestShape, ResponseEncryption,
    Revision, Session, Transition,
};
use crate::time::UnixMillis;
use crate::trust::VerifierCertificate;
use crate::verifier::new_session::Registered;
use crate::verifier::profiles::unsupported;
use crate::verifier::{DcApi, NewSession, ProfileOptions, Verifier};

impl Verifier {
    /// Creates a session for `request`, which is resolved by the verifier's own trust and profiles.
    /// Commit the transition, then show the links of [`Session::info`](crate::Session::info).
    ///
    /// [`NewSession`] says whether the session is live or a test; a bare `bool` does not compile:
    ///
    /// ```compile_fail,E0308
    /// # use idgate_core::{Entropy, Request, UnixMillis, Verifier};
    /// # fn make(verifier: &Verifier, request: &Request, entropy: &mut dyn Entropy, now: UnixMillis) {
    /// let made = verifier.create_session(request, true, entropy, now);
    /// # }
    /// ```
    ///
    /// # Errors
    /// The request breaks a rule, asks for more than trust covers, names a profile that this
    /// verifier does not support, or is too large for a link. A trusted list is past its next
    /// update, and no other material covers the issuer. The named signer is missing. Or there is no
    /// entropy.
    pub fn create_session(
        &self,
        request: &Request,
        new: NewSession,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Transition, CreateError> {
        request.check()?;
        let resolved = self.resolve(request.to_json().as_bytes(), new.mode, &self.spoken())?;
        self.create_resolved_session(resolved, new, entropy, now)
    }

    /// Resolves a `CreateSessionRequest` body by the verifier's trust, for a shell whose tenants
    /// may ask for profiles that the verifier does not have itself, for example because a
    /// certificate is missing.
    ///
    /// # Errors
    /// [`RequestError`] with the path of the first field that breaks a rule.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn resolve(
        &self,
        body: &[u8],
        mode: Mode,
        spoken: &SpokenProfiles,
    ) -> Result<PresentationRequest, RequestError> {
        PresentationRequest::parse_for(body, self.entries(), mode.is_live(), spoken)
    }

    /// Creates a session for a request that [`Verifier::resolve`] returned for the same mode.
    ///
    /// # Errors
    /// Those of [`Verifier::create_session`], except faults of the body.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn create_resolved_session(
        &self,
        request: PresentationRequest,
        mut new: NewSession,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Transition, CreateError> {
        if let Some(Registered { certificate, strict }) = new.registration.take() {
            let attested = self.attest(&request, new.signer.as_deref(), &certificate, now)?;
            let attested = if strict { attested.strict()? } else { attested };
            new.verifier_info.extend(attested.verifier_info);
        }
        let livemode = new.mode.is_live();
        self.check_lists(&request, livemode, now)?;
        let id = SessionId::fresh(entropy)?;
        let session = Session {
            offers: self.offers(&request, &new, &id, entropy, now)?,
            tenant: new.tenant,
            livemode,
            verifier_info: new.verifier_info,
            id,
            created_at: now,
            expires_at: now.plus(request.ttl_ms),
            request,
            revision: Revision(0),
            phase: Phase::Created,
            trust_version: None,
            result: None,
        };
        check_links(&session)?;
        Ok(session.open())
    }

    /// The verifier's profiles; a request may ask for any of them.
    fn spoken(&self) -> SpokenProfiles {
        let spoken = SpokenProfiles::new(self.profiles.enabled.iter().copied());
        if self.profiles.dc_api == DcApi::Off { spoken } else { spoken.with_dc_api() }
    }

    /// An overdue list is not trusted, so nothing that depends on it may be requested.
    fn check_lists(
        &self,
        request: &PresentationRequest,
        livemode: bool,
        now: UnixMillis,
    ) -> Result<(), RequestError> {
        for (index, asked) in request.credentials.iter().enumerate() {
            let entry = self.entries().entry(&asked.issuer_id);
            let doc_type = asked.doc_type.as_ref();
            let lapsed = entry.and_then(|entry| entry.lapsed_list(doc_type, livemode, now));
            if let Some((rule, remedy)) = lapsed {
                let path = request.path_of_issuer(index);
                let error = RequestError::new(ErrorCode::UnknownIssuer, path, rule);
                return Err(remedy.into_iter().fold(error, RequestError::with_remedy));
            }
        }
        Ok(())
    }

    fn offers(
        &self,
        request: &PresentationRequest,
        new: &NewSession,
        id: &SessionId,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Offers, CreateError> {
        let spoken = self.profiles.of(request)?;
        let mut offers = Vec::with_capacity(1);
        for profile in spoken.iter().copied() {
            let shape = match (request.presets, profile) {
                (Presets::AgeApp, Profile::V1_0) => RequestShape::of_age_app(),
                _ => self.profiles.shape(profile, &self.draft),
            };
            let offer_id = match offers.is_empty() {
                true => None,
                false => Some(OfferId::fresh(entropy)?),
            };
            offers.push(self.offer(shape, new, id, offer_id, entropy, now)?);
        }
        if let Some(pages) = &request.dc_api {
            let profile = ProfileOptions::of_browsers(&spoken);
            offers.push(self.browser_offer(request, pages, profile, new, entropy, now)?);
        }
        let rule = "names more profiles than there are";
        Offers::new(offers).ok_or_else(|| {
            RequestError::new(ErrorCode::UnsupportedProfile, "profiles", rule).into()
        })
    }

    /// Creates a request, behind the session's id or behind an id of its own.
    fn offer(
        &self,
        shape: RequestShape,
        new: &NewSession,
        session: &SessionId,
        id: Option<OfferId>,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Offer, CreateError> {
        let handle = id.as_ref().map_or(session.as_str(), OfferId::as_str);
        let response_uri = self.endpoint("response", handle);
        let form = shape.client_id_form;
        let known = match shape.delivery {
            Delivery::Inline | Delivery::Browser => None,
            Delivery::RequestUri => {
                let name = new.signer.as_deref();
                let found = self.signers.for_new(form, name, self.host.as_deref(), now);
                Some(found.map_err(|lacks| unsupported(shape.profile, lacks, Remedy::AddSigner))?)
            }
        };
        let certificate = known.and_then(|known| known.certificate.as_ref());
        let client_identifier = self.client_identifier(form, certificate, &response_uri);
        Ok(Offer {
            client_identifier: ClientIdentifier::new(client_identifier),
            signer: known.map(|known| known.signer.key_id().to_string()),
            request_uri: match shape.delivery {
                Delivery::Inline | Delivery::Browser => None,
                Delivery::RequestUri => Some(self.endpoint("request", handle)),
            },
            announces_post: self.profiles.announces_post
                && shape.profile != Profile::Draft
                && shape.delivery == Delivery::RequestUri,
            encryption_key: self.encryption_key(&shape, entropy)?,
            browser: None,
            id,
            shape,
            response_uri,
            nonce: Nonce::fresh(entropy)?,
            state: State::fresh(entropy)?,
        })
    }

    /// The key that answers are to be encrypted to.
    pub(super) fn encryption_key(
        &self,
        shape: &RequestShape,
        entropy: &mut dyn Entropy,
    ) -> Result<Option<EncryptionKey>, CreateError> {
        Ok(match shape.response {
            ResponseEncryption::Plain => None,
            ResponseEncryption::EcdhEs => Some(EncryptionKey::fresh(self.provider(), entropy)?),
        })
    }

    fn endpoint(&self, name: &str, id: impl fmt::Display) -> String {
        format!("{}/v1/oid4vp/{name}/{id}", self.base_url)
    }

    /// OpenID4VP 5.9.3.
    pub(super) fn client_identifier(
        &self,
        form: ClientIdForm,
        certificate: Option<&VerifierCertificate>,
        response_uri: &str,
    ) -> String {
        let hash = || certificate.map_or("", |certificate| &*certificate.x509_hash);
        match form {
            ClientIdForm::RedirectUri => ["redirect_uri:", response_uri].concat(),
            ClientIdForm::Did => self.did.clone(),
            ClientIdForm::DecentralizedIdentifier => {
                ["decentralized_identifier:", &*self.did].concat()
            }
            ClientIdForm::X509SanDns => {
                ["x509_san_dns:", self.host.as_deref().unwrap_or_default()].concat()
            }
            ClientIdForm::X509Hash => ["x509_hash:", hash()].concat(),
            // The browser states it.
            ClientIdForm::Origin => String::new(),
        }
    }
}

/// A request by value travels in a link, which is useless if it is too long to follow.
fn check_links(session: &Session) -> Result<(), RequestError> {
    let fits = |offer| session.link(Scheme::OpenId4Vp, offer).len() <= MAX_QR_CODE_URL_BYTES;
    if session.offers.linked().all(fits) {
        return Ok(());
    }
    let rule = "asks for more than a link of 16 KiB can carry; ask for fewer claims or types";
    Err(RequestError::new(ErrorCode::InvalidRequest, session.request.path(), rule))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::entropy::EntropyUnavailable;
    use crate::ids::TenantId;
    use crate::request::Credential;
    use crate::request::fixtures::{self, NOW};

    #[test]
    fn a_new_session_has_everything_that_its_request_contains() {
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
        assert_eq!(session.shape(), &RequestShape::inline());
        assert_eq!(session.trust_version(), None);
    }

    #[test]
    fn a_request_too_large_for_a_link_is_refused() {
        let body = |claims: usize| {
            let name = |n: usize| format!("{n:0>140}");
            let claims: Vec<_> = (0..claims).map(name).collect();
            serde_json::json!({"credentials": [
                {"format": "vc+sd-jwt", "issuer_id": "two", "claims": claims},
            ]})
        };
        let create = |claims| {
            let (request, tenant) = (fixtures::request(body(claims)), TenantId::new("cli_1"));
            let mut entropy = fixtures::CountingEntropy::default();
            fixtures::verifier().create_resolved_session(
                request,
                NewSession::live().tenant(tenant),
                &mut entropy,
                NOW,
            )
        };
        let session = create(70).unwrap().session;
        let length = session.deep_link(Scheme::OpenId4Vp).len();
        assert!((MAX_QR_CODE_URL_BYTES / 2..=MAX_QR_CODE_URL_BYTES).contains(&length));
        let Err(CreateError::Request(error)) = create(100) else { panic!("accepted") };
        assert_eq!((error.code, &*error.path), (ErrorCode::InvalidRequest, "credentials"));
    }

    fn pid() -> Request {
        let asked = Credential::sd_jwt_vc("pid", "https://one.example").claims(["given_name"]);
        Request::of([asked])
    }

    fn speaking(profiles: impl IntoIterator<Item = Profile>) -> Verifier {
        let builder = fixtures::builder(fixtures::NO_CRYPTO).unsigned("https://gateway.example");
        builder.profile_options(ProfileOptions::new(profiles)).build().unwrap()
    }

    fn made(
        verifier: &Verifier,
        request: &Request,
        new: NewSession,
    ) -> Result<Session, RequestError> {
        let mut entropy = fixtures::CountingEntropy::default();
        match verifier.create_session(request, new, &mut entropy, NOW) {
            Ok(made) => Ok(made.session),
            Err(CreateError::Request(error)) => Err(error),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_request_is_resolved_by_the_trust_and_the_profiles_of_its_verifier() {
        let verifier = speaking([Profile::V1_0, Profile::Draft]);
        let session = made(&verifier, &pid(), NewSession::live()).unwrap();
        assert_eq!(session.request().credentials()[0].vct(), ["urn:one"]);
        assert_eq!(session.offers().map(Offer::profile).collect::<Vec<_>>(), [Profile::V1_0]);
        let both = pid().profiles([Profile::Draft, Profile::V1_0]);
        let session = made(&verifier, &both, NewSession::live()).unwrap();
        assert_eq!(session.offers().count(), 2);
        for (verifier, path) in
            [(speaking([Profile::V1_0]), "profiles[0]"), (speaking([Profile::Draft]), "profiles")]
        {
            let refused = made(&verifier, &both, NewSession::live()).unwrap_err();
            assert_eq!((refused.code, &*refused.path), (ErrorCode::UnsupportedProfile, path));
        }
    }

    #[test]
    fn the_mode_decides_which_keys_count() {
        let asked = || Credential::sd_jwt_vc("pid", "test-only").claims(["given_name"]);
        let request = Request::of([asked()]);
        let session = made(&fixtures::verifier(), &request, NewSession::test()).unwrap();
        assert!(!session.livemode());
        let refused = made(&fixtures::verifier(), &request, NewSession::live()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::UnknownIssuer);
    }

    #[test]
    fn errors_of_the_body_are_reported_before_those_of_the_verifier() {
        let request = pid().profiles([Profile::Haip]).redirect_uri("javascript:alert(1)");
        let refused = made(&fixtures::verifier(), &request, NewSession::live()).unwrap_err();
        assert_eq!((refused.code, &*refused.path), (ErrorCode::InvalidRequest, "redirect_uri"));
    }

    #[test]
    fn a_session_has_the_named_tenant_and_none_without_one() {
        let named = NewSession::live().tenant(TenantId::new("shop"));
        for (new, tenant) in [(named, "shop"), (NewSession::live(), "")] {
            assert_eq!(made(&fixtures::verifier(), &pid(), new).unwrap().tenant().as_str(), tenant);
        }
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
            let result = fixtures::verifier().create_resolved_session(
                request,
                NewSession::live().tenant(tenant),
                &mut Empty(draws),
                NOW,
            );
            assert!(matches!(result, Err(CreateError::Entropy(_))), "{draws}");
        }
    }
}
