//! New sessions: an offer for each dialect that the tenant asked for (decisions 20).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::entropy::Entropy;
use crate::error::{CreateError, ErrorCode, RequestError};
use crate::ids::{ClientIdentifier, Nonce, OfferId, SessionId, State, TenantId};
use crate::limits::MAX_QR_CODE_URL_BYTES;
use crate::request::{Dialect, PresentationRequest, Scheme, VerifierInfo};
use crate::session::{
    ClientIdForm, Delivery, EncryptionKey, Offer, Offers, Phase, RequestProfile,
    ResponseEncryption, Revision, Session, Transition,
};
use crate::time::UnixMillis;
use crate::trust::VerifierCertificate;
use crate::verifier::dialects::unsupported;
use crate::verifier::{DialectOptions, Verifier};

/// Whose session it is, and what differs between tenants.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewSession {
    /// The owner.
    pub tenant: TenantId,
    /// false: sandbox data.
    pub livemode: bool,
    /// The [`crate::crypto::RequestSigner::key_id`] of a signer with a certificate of the tenant's own; `None`: the
    /// verifier's.
    pub signer: Option<String>,
    /// What others attest of the tenant, for wallets. It goes with requests under `x509_hash` alone:
    /// wallets compare it with the certificate.
    pub verifier_info: Vec<VerifierInfo>,
}

impl NewSession {
    /// For a tenant without a certificate and attestations of its own.
    pub fn new(tenant: TenantId, livemode: bool) -> Self {
        Self { tenant, livemode, signer: None, verifier_info: Vec::new() }
    }
}

impl Verifier {
    /// Makes a session for `tenant`. Commit the transition, then answer with
    /// [`crate::Session::invitation`].
    ///
    /// # Errors
    /// There is no entropy, the request is too large for a link, it names a dialect that this
    /// verifier does not speak, or only a trusted list vouches for an issuer and is past its next issue.
    pub fn create_session(
        &self,
        request: PresentationRequest,
        tenant: TenantId,
        livemode: bool,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Transition, CreateError> {
        self.create_session_as(request, NewSession::new(tenant, livemode), entropy, now)
    }

    /// The same for a tenant that has a certificate or attestations of its own.
    ///
    /// # Errors
    /// As [`Verifier::create_session`]; also when the signer that is named is not there. A
    /// certificate signs for new sessions inside its dates alone, and where `x509_san_dns` names the
    /// verifier only if the host of its base URL is one of its dNSNames (OpenID4VP 5.9.3).
    pub fn create_session_as(
        &self,
        request: PresentationRequest,
        new: NewSession,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Transition, CreateError> {
        self.check_lists(&request, new.livemode, now)?;
        let id = SessionId::fresh(entropy)?;
        let session = Session {
            offers: self.offers(&request, &new, &id, entropy, now)?,
            tenant: new.tenant,
            livemode: new.livemode,
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

    /// A list that is overdue vouches for nobody, so nothing that depends on it is asked for
    /// (decisions 30).
    fn check_lists(
        &self,
        request: &PresentationRequest,
        livemode: bool,
        now: UnixMillis,
    ) -> Result<(), RequestError> {
        for (index, asked) in request.credentials.iter().enumerate() {
            let entry = self.trust().entry(&asked.issuer_id);
            let doc_type = asked.doc_type.as_ref();
            let lapsed = entry.and_then(|entry| entry.lapsed_list(doc_type, livemode, now));
            if let Some(rule) = lapsed {
                let path = request.path_of_issuer(index);
                return Err(RequestError::new(ErrorCode::UnknownIssuer, path, rule));
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
        let spoken = self.dialects.of(request)?;
        let mut offers = Vec::with_capacity(1);
        for dialect in spoken.iter().copied() {
            let profile = self.dialects.profile(dialect, &self.draft);
            let offer_id = match offers.is_empty() {
                true => None,
                false => Some(OfferId::fresh(entropy)?),
            };
            offers.push(self.offer(profile, new, id, offer_id, entropy, now)?);
        }
        if let Some(pages) = &request.dc_api {
            let dialect = DialectOptions::of_browsers(&spoken);
            offers.push(self.browser_offer(request, pages, dialect, new, entropy, now)?);
        }
        let rule = "names more dialects than there are";
        Offers::new(offers).ok_or_else(|| {
            RequestError::new(ErrorCode::UnsupportedProfile, "profiles", rule).into()
        })
    }

    /// A fresh request, behind the id of the session or behind one of its own.
    fn offer(
        &self,
        profile: RequestProfile,
        new: &NewSession,
        session: &SessionId,
        id: Option<OfferId>,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Offer, CreateError> {
        let handle = id.as_ref().map_or(session.as_str(), OfferId::as_str);
        let response_uri = self.endpoint("response", handle);
        let form = profile.client_id_form;
        let known = match profile.delivery {
            Delivery::Inline | Delivery::Browser => None,
            Delivery::RequestUri => {
                let name = new.signer.as_deref();
                let found = self.signers.for_new(form, name, self.host.as_deref(), now);
                Some(found.map_err(|lacks| unsupported(profile.dialect, lacks))?)
            }
        };
        let certificate = known.and_then(|known| known.certificate.as_ref());
        let client_identifier = self.client_identifier(form, certificate, &response_uri);
        Ok(Offer {
            client_identifier: ClientIdentifier::new(client_identifier),
            signer: known.map(|known| known.signer.key_id().to_string()),
            request_uri: match profile.delivery {
                Delivery::Inline | Delivery::Browser => None,
                Delivery::RequestUri => Some(self.endpoint("request", handle)),
            },
            announces_post: self.dialects.announces_post
                && profile.dialect != Dialect::Draft
                && profile.delivery == Delivery::RequestUri,
            encryption_key: self.encryption_key(&profile, entropy)?,
            browser: None,
            id,
            profile,
            response_uri,
            nonce: Nonce::fresh(entropy)?,
            state: State::fresh(entropy)?,
        })
    }

    /// What answers are to be encrypted to.
    pub(super) fn encryption_key(
        &self,
        profile: &RequestProfile,
        entropy: &mut dyn Entropy,
    ) -> Result<Option<EncryptionKey>, CreateError> {
        Ok(match profile.response {
            ResponseEncryption::Plain => None,
            ResponseEncryption::EcdhEs => Some(EncryptionKey::fresh(&self.provider, entropy)?),
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
            // The browser says it.
            ClientIdForm::Origin => String::new(),
        }
    }
}

/// A request by value travels in a link, which is of no use when it is too long to follow.
fn check_links(session: &Session) -> Result<(), RequestError> {
    let fits = |offer| session.link(Scheme::OpenId4Vp, offer).len() <= MAX_QR_CODE_URL_BYTES;
    if session.offers.linked().all(fits) {
        return Ok(());
    }
    let rule = "asks for more than a link of 16 KiB can carry; ask for fewer claims or types";
    Err(RequestError::new(ErrorCode::InvalidRequest, session.request.path(), rule))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::entropy::EntropyUnavailable;
    use crate::request::fixtures::{self, NOW};

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
            let name = |n: usize| format!("{n:0>140}");
            let claims: Vec<_> = (0..claims).map(name).collect();
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
