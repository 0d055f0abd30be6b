//! The parts that only a program around the whole library needs: the gateway, the C ABI, and the
//! benches and tests of this repository. **They are unstable**: a patch release may change or
//! remove any of them. Applications use the crate's root.

#[cfg(feature = "internals")]
pub use crate::codec::is_strict_cbor;
pub use crate::codec::json;
pub use crate::codec::{HOST_NAME_RULE, base64url, form, is_bidi_control, is_host_name};
pub use crate::crypto::jwk::Jwk;
pub use crate::error::check::CheckSet;
pub use crate::formats::mdoc::Handover;
pub use crate::ids::{AGE_DOC_TYPE, ClientIdentifier, DocType, NameSpace, OfferId, random_id};
pub use crate::request::{
    ClaimFilter, Contacts, CredentialRequest, CredentialSet, DcApiPages, Invitation, PageFields,
    PresentationRequest, RequestForm, RequestObjectJwt, SpokenProfiles, VerifierInfo,
};
pub use crate::response::CapturedAnswer;
#[cfg(feature = "internals")]
pub use crate::revocation::inquiry::{
    is_good_by_crls, is_good_by_identifier_list, is_good_by_status_list,
};
pub use crate::revocation::token_status_list::VerifiedStatusList;
pub use crate::session::offer::Offer;
pub use crate::session::phase::Phase;
pub use crate::session::settlement::Settlement;
pub use crate::session::shape::{
    ClientIdForm, Delivery, QueryLanguage, RequestShape, ResponseEncryption, TranscriptKind,
};
pub use crate::trust::anchors::{RootOrigin, TrustAnchor, TrustMaterialError};
pub use crate::trust::bare_key::TrustedKey;
pub use crate::trust::crl::{CrlError, VerifiedCrl};
pub use crate::trust::entry::TrustEntry;
pub use crate::trust::listing::{ListProfile, ListRole, member_state};
pub use crate::trust::master_list::{
    ImportedList, ListOutcome, ListedCertificate, import_master_list,
};
pub use crate::trust::oid::Oid;
#[cfg(feature = "internals")]
pub use crate::trust::path::is_valid_rfc5280_path;
pub use crate::trust::pem::pem_or_der;
pub use crate::trust::pinned_signer::PinnedSigner;
pub use crate::trust::root_file::{RootFile, UnusableRoot, read_roots, roots_from_file};
pub use crate::trust::snapshot::TrustSnapshot;
pub use crate::trust::trusted_list::{
    AuthenticList, ListAnchors, ListMark, ListOfLists, ListPointer, ListRules, ListSignature,
    ListSigner, ListTerms, ListedProvider, ListedService, NamedList, ReadList, ReadPointers,
    ReadProvider, ReadScheme, ReadService, SignatureKind, SignedList, TrustedList,
    TrustedListError, TrustedListErrorKind, import_trusted_list, is_of_another_list,
};
pub use crate::trust::verifier_certificate::{
    ImportRules, ImportedCertificate, Transparency, VerifierCertificate, VerifierCertificateError,
};
pub use crate::trust::vical::import_vical;
pub use crate::verifier::{Attestation, DeviceRequests, ProfileOptions};
pub use crate::verify::captured::CapturedEncryption;
pub use crate::verify::evaluate::verify_sd_jwt_vc;
pub use crate::verify::expected::ExpectedSdJwtVc;
pub use crate::verify::mdoc::{ExpectedMdoc, MdocRequest, verify_mdoc};
pub use crate::verify::proof::{DisclosedClaims, VerifiedCredential};

/// All limits; [`limits`](crate::limits) has only those that an application plans with.
pub mod limits {
    pub use crate::limits::readers::*;
    pub use crate::limits::*;
}

/// Comparisons in constant time.
pub mod ct {
    pub use crate::crypto::ct::eq;
}

/// The documents that a signer publishes about itself.
pub mod discovery {
    pub use crate::discovery::{
        DID_DOCUMENT_PATH, JWKS_PATH, PublishedKey, did_document_json, did_web, jwks_json, key_id,
    };
}

/// The sender's side of notifications, and each of their two signatures.
pub mod webhook {
    pub use crate::webhook::notification::Notification;
    pub use crate::webhook::schedule::{SCHEDULE_MS, next_attempt};
    pub use crate::webhook::secret::{ShortSecret, SigningSecret};
    pub use crate::webhook::signature::{Attempt, InvalidWebhook, Received};
}
