//! A tenant's request, with every default resolved.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::crypto::Alg;
use crate::ids::{CredentialFormat, DocType, IssuerId, NameSpace};
use crate::request::claim_filter::ClaimFilter;
use crate::request::claim_path::ClaimPath;

/// A tenant's request with every default resolved (specification 2, decisions 4).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct PresentationRequest {
    /// Which of the two forms was used; it decides the shape of the claims.
    pub form: RequestForm,
    /// Time to live in milliseconds.
    pub ttl_ms: u64,
    /// Where the wallet sends the person afterwards.
    pub redirect_uri: Option<String>,
    /// At least one, at most [`crate::limits::MAX_CREDENTIALS`].
    pub credentials: Vec<CredentialRequest>,
    /// Ids of credentials that must be about the same person.
    pub same_subject_groups: Vec<Vec<String>>,
}

impl PresentationRequest {
    /// The type of each credential asked for, as audit log and metrics name it: `vc+sd-jwt`, or
    /// `mso_mdoc:` and the document type (decisions 9).
    pub fn credential_types(&self) -> Vec<String> {
        self.credentials.iter().map(CredentialRequest::type_name).collect()
    }
}

/// The form of a session request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestForm {
    /// `issuer_id` alone: claims come back as `{claim: value}`.
    Legacy,
    /// `credentials`: claims come back as `{credential id: {claim: value}}`.
    Custom,
}

/// One requested credential.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[non_exhaustive]
pub struct CredentialRequest {
    /// Unique in the request.
    pub id: String,
    /// The format asked for.
    pub format: CredentialFormat,
    /// The trust entry that must have issued it.
    pub issuer_id: IssuerId,
    /// Requested claim names, without repetition.
    pub claims: Vec<String>,
    /// Narrows the issuer's algorithm.
    pub alg: Option<Alg>,
    /// mdoc only: the namespace of the claims.
    pub namespace: Option<NameSpace>,
    /// mdoc only: the document type.
    pub doc_type: Option<DocType>,
    /// What must be equal within a same-subject group; empty outside groups.
    pub subject_claim_paths: Vec<ClaimPath>,
    /// Conditions on requested claims, by claim name.
    pub claim_filters: Vec<(String, ClaimFilter)>,
    /// SD-JWT only: the types that the trust entry accepted when the session was made.
    pub vct: Vec<String>,
}

impl CredentialRequest {
    fn type_name(&self) -> String {
        match (self.format, &self.doc_type) {
            (CredentialFormat::Mdoc, Some(doc_type)) => format!("mso_mdoc:{}", doc_type.as_str()),
            (format, _) => format.name().into(),
        }
    }

    /// Its id in the presentation definition: wallets know an mdoc by its document type.
    pub(crate) fn descriptor_id(&self) -> &str {
        match (self.format, &self.doc_type) {
            (CredentialFormat::Mdoc, Some(doc_type)) => doc_type.as_str(),
            _ => &self.id,
        }
    }
}
