//! A tenant's request, and the authorization request that carries it to a wallet.

mod asked;
mod claim_filter;
mod client_metadata;
mod dc_api;
pub(crate) mod dcql;
mod dcql_request;
mod decimal;
mod device_request;
mod expanded;
mod fields;
#[cfg(test)]
pub(crate) mod fixtures;
mod inline;
#[cfg(feature = "internals")]
mod internals;
mod json_value;
mod jws;
mod links;
mod object;
mod parameters;
mod parse;
pub(crate) mod presentation_definition;
mod presentation_request;
mod profile;
mod purpose;
mod redirect_uri;
mod registration_certificate;
mod request_object;
mod stored;
mod subject_path;
mod transaction_data;
mod verifier_info;
mod written;

pub use self::asked::Credential;
pub use self::claim_filter::ClaimFilter;
pub(crate) use self::client_metadata::key_id;
pub use self::dc_api::DcApiRequests;
pub(crate) use self::dc_api::{DcApiParameters, SigningIdentity};
pub(crate) use self::decimal::Decimal;
pub(crate) use self::device_request::{Reader, encryption_info, iso_mdoc_data};
pub(crate) use self::inline::inline_query;
pub(crate) use self::links::request_uri_query;
pub use self::links::{Invitation, Scheme};
pub(crate) use self::parameters::RequestParameters;
pub(crate) use self::presentation_request::Presets;
pub use self::presentation_request::{
    CredentialRequest, CredentialSet, DcApiPages, PresentationRequest, RequestForm,
};
pub use self::profile::{PageFields, Profile, SpokenProfiles};
pub(crate) use self::redirect_uri::with_response_code;
#[cfg(feature = "shell")]
pub use self::registration_certificate::Contacts;
pub use self::registration_certificate::{RegistrationCertificate, RegistrationError};
pub(crate) use self::request_object::ObjectToSign;
pub use self::request_object::RequestObjectJwt;
pub(crate) use self::stored::StoredRequest;
pub(crate) use self::subject_path::SubjectPath;
pub use self::transaction_data::TransactionData;
pub use self::verifier_info::VerifierInfo;
pub use self::written::Request;
pub(crate) use crate::ids::{ClaimPath, CredentialFormat};
