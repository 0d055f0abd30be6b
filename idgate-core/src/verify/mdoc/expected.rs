//! The requirements on an mdoc. The request that it answers is not optional.

use alloc::string::String;
use core::fmt;

use crate::crypto::{Alg, EcdhPrivateKey};
use crate::formats::mdoc::Handover;
use crate::request::{ClaimFilter, SubjectPath};
use crate::time::UnixMillis;
use crate::trust::known_signers::KnownSigners;
use crate::trust::{DeviceResponseDocuments, TrustEntry, TrustSnapshot};

/// The request that the device must have signed, exactly as sent.
#[derive(Clone, Copy)]
#[allow(clippy::exhaustive_structs)] // every handover covers exactly these three
pub struct MdocRequest<'e> {
    /// The `client_id`.
    pub client_id: &'e str,
    /// The request's nonce.
    pub nonce: &'e str,
    /// The URI that the answer goes to.
    pub response_uri: &'e str,
}

/// The requirements on one mdoc.
#[derive(Clone)]
#[non_exhaustive]
pub struct ExpectedMdoc<'e> {
    /// The required issuer.
    pub issuer: &'e TrustEntry,
    /// Whether the session is live; live sessions ignore test-only material and apply the profile
    /// strictly.
    pub livemode: bool,
    /// The requested document type.
    pub doc_type: &'e str,
    /// The namespace of the claims.
    pub name_space: &'e str,
    /// The request that the device must have signed.
    pub request: MdocRequest<'e>,
    /// The handovers that the session allows, in the order in which they are tried.
    pub handovers: &'e [Handover<'e>],
    /// The private key that a device MAC may have been made for; `None`: a MAC is refused.
    pub reader_key: Option<&'e EcdhPrivateKey>,
    /// The time of verification.
    pub now: UnixMillis,
    /// The algorithm that the issuer must have signed with; `None`: any that fits its key.
    pub alg: Option<Alg>,
    /// The required elements; only these are returned.
    pub claims: &'e [String],
    /// Conditions that these elements must meet.
    pub filters: &'e [(String, ClaimFilter)],
    /// The claims to compare within a same-subject group, which only sessions have.
    pub(crate) subject_paths: &'e [SubjectPath],
    /// How many documents the DeviceResponse may have.
    pub documents: DeviceResponseDocuments,
    /// Whether `issuer` is one of its entries is checked at verification, because the field may be
    /// replaced.
    pub(in crate::verify) remembering: Option<&'e TrustSnapshot>,
}

impl<'e> ExpectedMdoc<'e> {
    /// Creates requirements for an unencrypted answer in a live session without elements; set the
    /// public fields for more.
    pub fn new(
        issuer: &'e TrustEntry,
        doc_type: &'e str,
        name_space: &'e str,
        request: MdocRequest<'e>,
        now: UnixMillis,
    ) -> Self {
        Self {
            issuer,
            livemode: true,
            doc_type,
            name_space,
            request,
            handovers: &[Handover::OpenId4Vp { jwk_thumbprint: None }],
            reader_key: None,
            now,
            alg: None,
            claims: &[],
            filters: &[],
            subject_paths: &[],
            documents: DeviceResponseDocuments::Any,
            remembering: None,
        }
    }

    /// Caches document signers in `trust`, and recognises those in the cache. Validity and
    /// revocation are checked each time. Has no effect if the issuer is not an entry of `trust`.
    #[must_use]
    pub fn remembering(mut self, trust: &'e TrustSnapshot) -> Self {
        self.remembering = Some(trust);
        self
    }

    /// The cached document signers of the issuer.
    pub(crate) fn known_signers(&self) -> Option<&'e KnownSigners> {
        self.remembering?.known_signers(self.issuer)
    }
}

/// Omits the nonce.
impl fmt::Debug for MdocRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MdocRequest")
            .field("client_id", &self.client_id)
            .field("response_uri", &self.response_uri)
            .finish_non_exhaustive()
    }
}

/// Omits nonces and keys.
impl fmt::Debug for ExpectedMdoc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpectedMdoc")
            .field("issuer", &self.issuer.issuer_id)
            .field("doc_type", &self.doc_type)
            .field("request", &self.request)
            .field("handovers", &self.handovers)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IssuerId;

    #[test]
    fn debug_texts_have_no_nonce() {
        let issuer = TrustEntry::new(IssuerId::new("utopia"));
        let (client_id, nonce) = ("did:web:a.example", "the request's nonce");
        let request = MdocRequest { client_id, nonce, response_uri: "https://a.example/r" };
        let handovers = [Handover::Iso180137 { mdoc_generated_nonce: "the wallet's nonce" }];
        let expected = ExpectedMdoc {
            handovers: &handovers,
            ..ExpectedMdoc::new(&issuer, "mDL", "ns", request, UnixMillis(1))
        };
        let text = format!("{expected:?}");
        assert!(text.contains("utopia") && text.contains("iso18013-7"), "{text}");
        assert!(!text.contains("nonce"), "{text}");
    }
}
