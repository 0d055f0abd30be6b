//! Choices that a caller gives as a number, so that an unknown number is an error and not undefined behaviour.

use idgate_core::shell::ClientIdForm;
use idgate_core::{DcApi, ResponseMode};
use idgate_core::{Mode, Profile};

use crate::failure::Failure;

/// The profile of a request.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_profile {
    /// `draft`: the drafts 18 to 24 of OpenID4VP, with `presentation_definition`.
    IDGATE_PROFILE_DRAFT = 1,
    /// `1.0`: OpenID4VP 1.0, with `dcql_query`.
    IDGATE_PROFILE_1_0 = 2,
    /// `haip`: OpenID4VP 1.0 within the High Assurance Interoperability Profile 1.0.
    IDGATE_PROFILE_HAIP = 3,
}

/// The mode: live or test.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_mode {
    /// Live. Trust material for tests is not used.
    IDGATE_MODE_LIVE = 1,
    /// Test.
    IDGATE_MODE_TEST = 2,
}

/// How requests of `draft` and `1.0` reach wallets. Requests of `haip` are always IDGATE_REQUEST_JAR.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_request_mode {
    /// Unsigned, inside the link.
    IDGATE_REQUEST_INLINE = 1,
    /// Signed, fetched by the wallet; the answer is encrypted (RFC 9101).
    IDGATE_REQUEST_JAR = 2,
}

/// The client identifier of signed requests of `1.0` (OpenID4VP 5.9.3).
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_client_id {
    /// The `did:web` of the base URL: serve idgate_did_document.
    IDGATE_CLIENT_ID_DID = 1,
    /// A dNSName of the certificate.
    IDGATE_CLIENT_ID_X509_SAN_DNS = 2,
    /// The hash of the certificate.
    IDGATE_CLIENT_ID_X509_HASH = 3,
}

/// How answers to requests of `1.0` come back (OpenID4VP 8.2, 8.3.1).
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_response_mode {
    /// `direct_post`: plain.
    IDGATE_RESPONSE_DIRECT_POST = 1,
    /// `direct_post.jwt`: encrypted.
    IDGATE_RESPONSE_DIRECT_POST_JWT = 2,
}

/// The requests that pages may pass to their browser (OpenID4VP A.3). Each choice includes the simpler ones.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_dc_api {
    /// `openid4vp-v1-unsigned`
    IDGATE_DC_API_UNSIGNED = 1,
    /// `openid4vp-v1-signed`
    IDGATE_DC_API_SIGNED = 2,
    /// `openid4vp-v1-multisigned`
    IDGATE_DC_API_MULTISIGNED = 3,
}

/// Implements the reader of an enumeration in the header.
macro_rules! choices {
    ($($name:ident: $($variant:ident),+;)+) => {$(
        impl $name {
            /// The choice with that number.
            pub(crate) fn of(number: i32, what: &str) -> Result<Self, crate::failure::Failure> {
                let known = [$(Self::$variant),+].into_iter().find(|known| *known as i32 == number);
                known.ok_or_else(|| crate::choice::unknown(what))
            }
        }
    )+};
}
pub(crate) use choices;

choices! {
    idgate_profile: IDGATE_PROFILE_DRAFT, IDGATE_PROFILE_1_0, IDGATE_PROFILE_HAIP;
    idgate_mode: IDGATE_MODE_LIVE, IDGATE_MODE_TEST;
    idgate_request_mode: IDGATE_REQUEST_INLINE, IDGATE_REQUEST_JAR;
    idgate_client_id: IDGATE_CLIENT_ID_DID, IDGATE_CLIENT_ID_X509_SAN_DNS, IDGATE_CLIENT_ID_X509_HASH;
    idgate_response_mode: IDGATE_RESPONSE_DIRECT_POST, IDGATE_RESPONSE_DIRECT_POST_JWT;
    idgate_dc_api: IDGATE_DC_API_UNSIGNED, IDGATE_DC_API_SIGNED, IDGATE_DC_API_MULTISIGNED;
}

pub(crate) fn unknown(what: &str) -> Failure {
    Failure::misuse(format!("{what} is not one of its constants in idgate.h"))
}

impl From<idgate_profile> for Profile {
    fn from(profile: idgate_profile) -> Self {
        match profile {
            idgate_profile::IDGATE_PROFILE_DRAFT => Self::Draft,
            idgate_profile::IDGATE_PROFILE_1_0 => Self::V1_0,
            idgate_profile::IDGATE_PROFILE_HAIP => Self::Haip,
        }
    }
}

impl From<idgate_mode> for Mode {
    fn from(mode: idgate_mode) -> Self {
        match mode {
            idgate_mode::IDGATE_MODE_LIVE => Self::Live,
            idgate_mode::IDGATE_MODE_TEST => Self::Test,
        }
    }
}

impl From<idgate_client_id> for ClientIdForm {
    fn from(form: idgate_client_id) -> Self {
        match form {
            idgate_client_id::IDGATE_CLIENT_ID_DID => Self::DecentralizedIdentifier,
            idgate_client_id::IDGATE_CLIENT_ID_X509_SAN_DNS => Self::X509SanDns,
            idgate_client_id::IDGATE_CLIENT_ID_X509_HASH => Self::X509Hash,
        }
    }
}

impl From<idgate_response_mode> for ResponseMode {
    fn from(mode: idgate_response_mode) -> Self {
        match mode {
            idgate_response_mode::IDGATE_RESPONSE_DIRECT_POST => Self::Plain,
            idgate_response_mode::IDGATE_RESPONSE_DIRECT_POST_JWT => Self::Encrypted,
        }
    }
}

impl From<idgate_dc_api> for DcApi {
    fn from(dc_api: idgate_dc_api) -> Self {
        match dc_api {
            idgate_dc_api::IDGATE_DC_API_UNSIGNED => Self::Unsigned,
            idgate_dc_api::IDGATE_DC_API_SIGNED => Self::Signed,
            idgate_dc_api::IDGATE_DC_API_MULTISIGNED => Self::Multisigned,
        }
    }
}
