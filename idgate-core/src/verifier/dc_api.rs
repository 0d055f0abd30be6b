//! Requests that pages pass to their browser, and the answers that they receive (OpenID4VP A, W3C
//! Digital Credentials API).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::entropy::Entropy;
use crate::error::{CreateError, ErrorCode, NotFetched, Remedy, RequestError};
use crate::ids::{ClientIdentifier, Nonce, OfferId, State};
use crate::request::{
    DcApiPages, DcApiParameters, DcApiRequests, PresentationRequest, Presets, Profile,
    SigningIdentity, VerifierInfo,
};
use crate::session::{
    BrowserOffer, ClientIdForm, DcApiProtocol, Identity, Offer, RequestShape, Session,
    TranscriptKind, audience_of,
};
use crate::time::UnixMillis;
use crate::verifier::profiles::unsupported;
use crate::verifier::{DcApi, NewSession, Verifier};

impl Verifier {
    /// Returns the requests that a page passes to its browser, for a session that was created with
    /// [`Request::dc_api`](crate::Request::dc_api). They are one offer, and one answer to any of
    /// them settles the session.
    ///
    /// Those of OpenID4VP share nonce and key. `org-iso-mdoc` has its own; it is the last one, and
    /// is there if the request asks only for mdocs, each of a different type.
    ///
    /// # Errors
    /// The session has no such requests or takes no more answers, or a key cannot sign now.
    pub fn dc_api_requests(
        &self,
        session: &Session,
        now: UnixMillis,
    ) -> Result<DcApiRequests, NotFetched> {
        let open = session.accepts_response(now);
        let offered =
            session.offers.browser().filter(|_| open).and_then(|(offer, browser)| {
                Some((offer, browser, offer.encryption_key.as_ref()?))
            });
        let (offer, browser, key) = offered.ok_or(NotFetched::NotFetchable)?;
        let parameters = DcApiParameters {
            nonce: offer.nonce.expose(),
            encryption_key: key.public(),
            request: &session.request,
            origins: &browser.origins,
            issued_at: now,
            expires_at: session.expires_at,
        };
        let identities = self.signing(session, browser)?;
        let mut requests = Vec::with_capacity(browser.protocols.len());
        for protocol in &browser.protocols {
            let data = match (protocol, identities.first()) {
                (DcApiProtocol::Unsigned, _) => Ok(parameters.unsigned()),
                (DcApiProtocol::IsoMdoc, _) => Ok(self.iso_mdoc_request(session, browser)?),
                (DcApiProtocol::Signed, Some(first)) => parameters.signed(first),
                (DcApiProtocol::Multisigned, Some(_)) => parameters.multisigned(&identities),
                (DcApiProtocol::Signed | DcApiProtocol::Multisigned, None) => {
                    return Err(NotFetched::NotFetchable);
                }
            };
            requests.push((protocol.name(), data.map_err(NotFetched::Signer)?));
        }
        Ok(DcApiRequests::new(requests))
    }

    /// The request to browsers, in the first profile of the session's links that browsers support.
    pub(super) fn browser_offer(
        &self,
        request: &PresentationRequest,
        pages: &DcApiPages,
        spoken: Option<Profile>,
        new: &NewSession,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Offer, CreateError> {
        let refused = |rule| RequestError::new(ErrorCode::UnsupportedProfile, "dc_api", rule);
        if self.profiles.dc_api == DcApi::Off {
            return Err(refused("is not enabled").with_remedy(Remedy::EnableDcApi).into());
        }
        let profile = spoken.ok_or(refused("needs the profile 1.0 or haip"))?;
        let mut shape = RequestShape::browser(profile);
        let audience = pages.origins.first().map(|origin| audience_of(origin));
        let id = Some(OfferId::fresh(entropy)?);
        let encryption_key = self.encryption_key(&shape, entropy)?;
        let nonce = Nonce::fresh(entropy)?;
        let iso_mdoc = self.iso_mdoc_offer(request, new, entropy, now)?;
        // The age app answers only to ISO/IEC TS 18013-7 Annex C, and supports no reader.
        let (offered, identities) = match request.presets {
            Presets::AgeApp if iso_mdoc.is_none() => {
                let rule = "reaches the age app only as org-iso-mdoc, which asks for one age: ask \
                            for one, or leave this out";
                return Err(refused(rule).into());
            }
            Presets::AgeApp => (&[][..], Vec::new()),
            Presets::Used | Presets::Unused => {
                (self.profiles.dc_api.protocols(), self.identities(profile, new, now)?)
            }
        };
        let mut protocols = offered.to_vec();
        if iso_mdoc.is_some() {
            protocols.push(DcApiProtocol::IsoMdoc);
            shape.transcripts.push(TranscriptKind::Iso180137AnnexC);
        }
        Ok(Offer {
            id,
            client_identifier: ClientIdentifier::new(audience.unwrap_or_default()),
            signer: None,
            response_uri: String::new(),
            request_uri: None,
            encryption_key,
            nonce,
            state: State::new(""),
            announces_post: false,
            browser: Some(BrowserOffer {
                origins: pages.origins.clone(),
                protocols,
                identities,
                iso_mdoc,
            }),
            shape,
        })
    }

    /// The signers that can sign now. The first client identifier must have a signer, because a
    /// request that is signed once is signed under it. The others are optional.
    fn identities(
        &self,
        profile: Profile,
        new: &NewSession,
        now: UnixMillis,
    ) -> Result<Vec<Identity>, RequestError> {
        let mut identities = Vec::new();
        for form in self.profiles.browser_forms(profile) {
            let name = new.signer.as_deref();
            match self.signers.for_new(form, name, self.host.as_deref(), now) {
                Ok(known) => {
                    let certificate = known.certificate.as_ref();
                    let client_identifier = self.client_identifier(form, certificate, "");
                    identities.push(Identity {
                        client_identifier: ClientIdentifier::new(client_identifier),
                        form,
                        signer: known.signer.key_id().to_string(),
                    });
                }
                Err(lacks) if identities.is_empty() => {
                    return Err(unsupported(profile, lacks, Remedy::AddSigner));
                }
                Err(_) => {}
            }
        }
        Ok(identities)
    }

    fn signing<'s>(
        &'s self,
        session: &'s Session,
        browser: &'s BrowserOffer,
    ) -> Result<Vec<SigningIdentity<'s>>, NotFetched> {
        let signing = |identity: &'s Identity| {
            let verifier_info: &[VerifierInfo] = match identity.form {
                ClientIdForm::X509Hash => &session.verifier_info,
                _ => &[],
            };
            Ok(SigningIdentity {
                client_id: identity.client_identifier.as_str(),
                signer: self.signers.of(identity.form, Some(&identity.signer))?,
                verifier_info,
            })
        };
        let signing = browser.identities.iter().map(signing).collect::<Result<_, _>>();
        signing.map_err(NotFetched::Signer)
    }
}
