//! Whom an answer must be meant for, and what is expected of each presentation in it for that.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::Verification;
use super::captured::{KnownEncryption, handovers};
use super::expected::ExpectedSdJwtVc;
use super::key_binding::claimed_audience;
use super::mdoc::{ExpectedMdoc, MdocRequest};
use crate::formats::mdoc::Handover;
use crate::ids::{DocType, NameSpace};
use crate::request::{CredentialRequest, Profile, TransactionData};
use crate::response::AnswerEncryption;
use crate::session::{EncryptionKey, Offer, audience_of};
use crate::trust::{DeviceResponseDocuments, TrustEntry};

/// Whom an answer must be meant for. Through a browser it is a page from one of several origins, which
/// are all the tenant's own: it does not matter which, as long as it is the same for the whole answer.
pub(super) struct Party<'s> {
    /// Where several origins are left, that of the first.
    pub(super) audience: Cow<'s, str>,
    /// Where the page may be from; none: the answer came from a link.
    origins: &'s [String],
}

impl<'s> Party<'s> {
    pub(super) fn of(offer: &'s Offer) -> Self {
        let audience = Cow::Borrowed(offer.client_identifier.as_str());
        Self { audience, origins: offer.origins() }
    }

    /// A page from the origin that the holder's proof is for, as far as it is one of them, so that one
    /// verification shows whether that is true. If it is not one of them, none will do.
    pub(super) fn be_named_by(&mut self, presentation: &str) {
        if let [first, _, ..] = self.origins {
            let named = claimed_audience(presentation);
            let is_named = |origin: &&String| Some(audience_of(origin)) == named;
            let origin = self.origins.iter().find(is_named).unwrap_or(first);
            self.be_of(origin);
        }
    }

    /// A page from that one of its origins and no other.
    pub(super) fn be_of(&mut self, origin: &str) {
        if let Some(known) = self.origins.iter().find(|known| *known == origin) {
            self.audience = Cow::Owned(audience_of(known));
            self.origins = core::slice::from_ref(known);
        }
    }

    /// Where the page is from that brought the answer, once that is known.
    pub(super) fn origin(&self) -> Option<&'s str> {
        match self.origins {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl Verification<'_> {
    pub(super) fn expected<'e>(
        &'e self,
        credential: &'e CredentialRequest,
        issuer: &'e TrustEntry,
        party: &'e Party<'_>,
    ) -> ExpectedSdJwtVc<'e> {
        let session = self.session;
        ExpectedSdJwtVc {
            livemode: session.livemode,
            alg: credential.alg,
            claims: &credential.claims,
            claim_paths: &credential.claim_paths,
            filters: &credential.claim_filters,
            subject_paths: &credential.subject_claim_paths,
            transaction_data: self.transaction_data(credential).collect(),
            vct: &credential.vct,
            ..ExpectedSdJwtVc::new(
                issuer,
                &party.audience,
                self.offer.nonce.expose(),
                session.created_at,
                self.now,
            )
            .remembering(self.basis.trust)
        }
    }

    /// What the holder may agree to with that credential.
    fn transaction_data(
        &self,
        credential: &CredentialRequest,
    ) -> impl Iterator<Item = &TransactionData> {
        let asked = self.session.request.transaction_data.iter();
        asked.filter(|data| data.credential_ids.contains(&credential.id))
    }

    /// Those of the offer's profile, in its order, for which the answer brings what they need.
    pub(super) fn handovers<'h>(&'h self, party: &Party<'h>) -> Vec<Handover<'h>> {
        let known = match &self.encryption {
            None => KnownEncryption::Plain,
            Some(AnswerEncryption::Jwe { jwk_thumbprint, mdoc_generated_nonce }) => {
                KnownEncryption::Jwe {
                    thumbprint: Some(jwk_thumbprint),
                    mdoc_generated_nonce: mdoc_generated_nonce.as_deref(),
                }
            }
            Some(AnswerEncryption::Hpke { .. }) => {
                let iso_mdoc = self.offer.browser.as_ref().and_then(|it| it.iso_mdoc.as_ref());
                KnownEncryption::Hpke {
                    encryption_info: iso_mdoc.map_or("", |offered| &offered.encryption_info),
                }
            }
        };
        handovers(&self.offer.shape.transcripts, known, party.origins)
    }

    /// A MAC may be made for the key that the answer was encrypted to, and for no other; outside of
    /// drafts for none, as nothing announces it (OpenID4VP B.2.2).
    pub(super) fn expected_mdoc<'e>(
        &'e self,
        credential: &'e CredentialRequest,
        issuer: &'e TrustEntry,
        handovers: &'e [Handover<'e>],
    ) -> ExpectedMdoc<'e> {
        let session = self.session;
        let doc_type = credential.doc_type.as_ref().map_or("", DocType::as_str);
        let name_space = credential.namespace.as_ref().map_or("", NameSpace::as_str);
        let request = MdocRequest {
            client_id: self.offer.client_identifier.as_str(),
            nonce: self.offer.nonce.expose(),
            response_uri: &self.offer.response_uri,
        };
        let is_draft = self.offer.profile() == Profile::Draft;
        let takes_mac = is_draft && self.encryption.is_some();
        let reader_key = self.offer.encryption_key.as_ref().filter(|_| takes_mac);
        ExpectedMdoc {
            livemode: session.livemode,
            handovers,
            // Drafts answer several requests in one response.
            documents: match is_draft {
                true => DeviceResponseDocuments::Any,
                false => issuer.device_response_documents,
            },
            reader_key: reader_key.map(EncryptionKey::private),
            alg: credential.alg,
            claims: &credential.claims,
            filters: &credential.claim_filters,
            subject_paths: &credential.subject_claim_paths,
            ..ExpectedMdoc::new(issuer, doc_type, name_space, request, self.now)
                .remembering(self.basis.trust)
        }
    }
}
