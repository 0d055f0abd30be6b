//! The request of ISO/IEC TS 18013-7 Annex C (`org-iso-mdoc`), which accompanies those of
//! OpenID4VP. It is for mdocs only, and has its own nonce and key.

use alloc::string::{String, ToString};

use crate::entropy::Entropy;
use crate::error::{CreateError, ErrorCode, NotFetched, Remedy, RequestError};
use crate::formats::mdoc::Handover;
use crate::request::{
    PresentationRequest, Presets, Reader, RegistrationCertificate, encryption_info, iso_mdoc_data,
};
use crate::session::{BrowserOffer, ClientIdForm, EncryptionKey, IsoMdocOffer, Session};
use crate::time::UnixMillis;
use crate::verifier::{DcApi, DeviceRequests, NewSession, Verifier};

/// readerAuth is made with a certificate's key, whatever client identifier OpenID4VP uses.
const READER: ClientIdForm = ClientIdForm::X509Hash;

impl Verifier {
    /// The nonce and key of the `org-iso-mdoc` request. `None`: a DeviceRequest cannot ask for
    /// this, or the tenant does not want one.
    pub(super) fn iso_mdoc_offer(
        &self,
        request: &PresentationRequest,
        new: &NewSession,
        entropy: &mut dyn Entropy,
        now: UnixMillis,
    ) -> Result<Option<IsoMdocOffer>, CreateError> {
        let Some(pages) = request.dc_api.as_ref().filter(|pages| pages.iso_mdoc) else {
            return Ok(None);
        };
        if !request.fits_device_request() {
            return Ok(None);
        }
        let reader = match request.presets {
            Presets::AgeApp => None,
            Presets::Used | Presets::Unused => self.reader(new.signer.as_deref(), now)?,
        };
        if reader.is_some() && pages.origins.len() != 1 {
            let rule = "must be one origin if org-iso-mdoc is asked for and signed, because a \
                        signature covers one; leave the others out, or set iso_mdoc to false";
            let error = RequestError::new(ErrorCode::InvalidRequest, "dc_api.origins", rule);
            return Err(error.into());
        }
        let key = EncryptionKey::fresh(self.provider(), entropy)?;
        let mut nonce = [0; 32];
        entropy.fill(&mut nonce)?;
        let encryption_info = encryption_info(&nonce, key.public());
        Ok(Some(IsoMdocOffer { encryption_info, encryption_key: Some(key), reader }))
    }

    /// The request that a page passes on, as JSON text.
    pub(super) fn iso_mdoc_request(
        &self,
        session: &Session,
        browser: &BrowserOffer,
    ) -> Result<String, NotFetched> {
        let offered = browser.iso_mdoc.as_ref().filter(|it| it.encryption_key.is_some());
        let IsoMdocOffer { encryption_info, reader, .. } =
            offered.ok_or(NotFetched::NotFetchable)?;
        let data = match (reader, browser.origins.as_slice()) {
            (None, _) => iso_mdoc_data(&session.request, encryption_info, None),
            (Some(reader), [origin]) => {
                let signer = self.signers.of(READER, Some(reader));
                let handover = Handover::Iso180137AnnexC { encryption_info, origin };
                let transcript = handover.session_transcript(self.provider(), "", "", "");
                signer.and_then(|signer| {
                    let registration = match self.profiles.device_requests {
                        DeviceRequests::Auto => {
                            RegistrationCertificate::among(&session.verifier_info)
                        }
                        DeviceRequests::FirstEdition => None,
                    };
                    let reader = Reader { signer, session_transcript: &transcript, registration };
                    iso_mdoc_data(&session.request, encryption_info, Some(reader))
                })
            }
            (Some(_), _) => return Err(NotFetched::NotFetchable),
        };
        data.map_err(NotFetched::Signer)
    }

    /// Whether a registration certificate would go to browsers in a DeviceRequest, which a
    /// certificate signs.
    pub(super) fn registers_device_request(
        &self,
        request: &PresentationRequest,
        signer: Option<&str>,
        now: UnixMillis,
    ) -> bool {
        self.profiles.device_requests == DeviceRequests::Auto
            && request.dc_api.as_ref().is_some_and(|pages| pages.iso_mdoc)
            && request.fits_device_request()
            && matches!(self.reader(signer, now), Ok(Some(_)))
    }

    /// The signer of readerAuth, if requests to browsers are signed. readerAuth is optional for a
    /// verifier without a certificate. A verifier that has one gets an error when it expires,
    /// because silently dropping the signature would hide it.
    fn reader(&self, name: Option<&str>, now: UnixMillis) -> Result<Option<String>, RequestError> {
        if matches!(self.profiles.dc_api, DcApi::Off | DcApi::Unsigned) {
            return Ok(None);
        }
        match self.signers.for_new(READER, name, self.host.as_deref(), now) {
            Ok(known) => Ok(Some(known.signer.key_id().to_string())),
            Err(_) if name.is_none() && !self.signers.serve_x509() => Ok(None),
            Err(lacks) => {
                let path = "dc_api.iso_mdoc";
                let error = RequestError::new(ErrorCode::UnsupportedProfile, path, lacks);
                Err(error.with_remedy(Remedy::AddReaderCertificate))
            }
        }
    }
}
