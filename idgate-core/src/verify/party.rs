//! The audience of an answer, and the requirements on each presentation that follow from it.

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

/// The audience of an answer. Through a browser it is a page from one of several origins, which all
/// belong to the tenant. Any of them is valid, as long as the whole answer uses the same one.
pub(super) struct Party<'s> {
    /// If several origins are left, that of the first.
    pub(super) audience: Cow<'s, str>,
    /// The allowed origins of the page; none: the answer came from a link.
    origins: &'s [String],
}

impl<'s> Party<'s> {
    pub(super) fn of(offer: &'s Offer) -> Self {
        let audience = Cow::Borrowed(offer.client_identifier.as_str());
        Self { audience, origins: offer.origins() }
    }

    /// Selects the page from the origin that the holder's proof names, if it is an allowed one, so
    /// that one verification shows whether the claim is true. Otherwise no origin is valid.
    pub(super) fn be_named_by(&mut self, presentation: &str) {
        if let [first, _, ..] = self.origins {
            let named = claimed_audience(presentation);
            let is_named = |origin: &&String| Some(audience_of(origin)) == named;
            let origin = self.origins.iter().find(is_named).unwrap_or(first);
            self.be_of(origin);
        }
    }

    /// Selects the page from this origin.
    pub(super) fn be_of(&mut self, origin: &str) {
        if let Some(known) = self.origins.iter().find(|known| *known == origin) {
            self.audience = Cow::Owned(audience_of(known));
            self.origins = core::slice::from_ref(known);
        }
    }

    /// The origin of the page that delivered the answer, once it is known.
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

    /// The transaction data that the holder may approve with this credential.
    fn transaction_data(
        &self,
        credential: &CredentialRequest,
    ) -> impl Iterator<Item = &TransactionData> {
        let asked = self.session.request.transaction_data.iter();
        asked.filter(|data| data.credential_ids.contains(&credential.id))
    }

    /// The handovers of the offer's profile, in its order, that are possible for the answer.
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

    /// A MAC may be made only for the key that the answer was encrypted to. Outside of drafts MACs
    /// are not accepted, because no key is announced for them (OpenID4VP B.2.2).
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
            // In drafts one response may answer several requests.
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
