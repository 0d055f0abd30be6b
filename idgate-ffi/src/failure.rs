//! Errors as owned handles: a status, a stable code, a text for people, and for requests the
//! field. Texts never carry claim values, tokens, keys or nonces.

use core::fmt;

use idgate_core::error::{
    ConfigError, CreateError, RequestError, RequestObjectError, ResponseError, VerifyError,
};
use idgate_core::trust::TrustMaterialError;

use crate::boundary::{boundary, put};
use crate::bytes::{self, idgate_bytes};
use crate::handles;
use crate::status::idgate_status::{self, *};

/// An error: free it with idgate_error_free.
#[allow(non_camel_case_types)]
pub struct idgate_error {
    _private: [u8; 0],
}

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: idgate_status,
    code: &'static str,
    path: String,
    message: String,
}

impl Failure {
    pub(crate) fn new(
        status: idgate_status,
        code: &'static str,
        message: impl fmt::Display,
    ) -> Self {
        Self { status, code, path: String::new(), message: message.to_string() }
    }

    pub(crate) fn misuse(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_MISUSE, "misuse", message)
    }

    pub(crate) fn config(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_CONFIG, "config", message)
    }

    pub(crate) fn unavailable(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_UNAVAILABLE, "unavailable", message)
    }

    pub(crate) fn nothing(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_NOTHING, "nothing", message)
    }

    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::new(IDGATE_INTERNAL, "internal_error", message)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::config(error)
    }
}

impl From<TrustMaterialError> for Failure {
    fn from(error: TrustMaterialError) -> Self {
        Self::config(error)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let mut failure = Self::new(IDGATE_BAD_REQUEST, error.code.as_str(), &error);
        failure.path = error.path;
        failure
    }
}

impl From<CreateError> for Failure {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Request(error) => error.into(),
            other => Self::unavailable(other),
        }
    }
}

impl From<ResponseError> for Failure {
    fn from(error: ResponseError) -> Self {
        match &error {
            ResponseError::Entropy(_) => Self::unavailable(error),
            _ => Self::new(IDGATE_BAD_RESPONSE, error.code().as_str(), error),
        }
    }
}

impl From<RequestObjectError> for Failure {
    fn from(error: RequestObjectError) -> Self {
        match &error {
            RequestObjectError::Signer(_) => Self::unavailable(error),
            _ => Self::new(IDGATE_BAD_RESPONSE, error.code().as_str(), error),
        }
    }
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        Self::new(IDGATE_REFUSED, error.reason.as_str(), error)
    }
}

/// The stable code of an error, as `nonce_mismatch`: the same that the gateway uses.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_code(
    error: *const idgate_error,
    out: *mut idgate_bytes,
) -> idgate_status {
    text(error, out, |failure| failure.code)
}

/// What is wrong and what to do, for people. It never carries claims, tokens, keys or nonces.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_message(
    error: *const idgate_error,
    out: *mut idgate_bytes,
) -> idgate_status {
    text(error, out, |failure| &failure.message)
}

/// The field of a request that breaks a rule, as `credentials[0].claims[2]`; else empty.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_path(
    error: *const idgate_error,
    out: *mut idgate_bytes,
) -> idgate_status {
    text(error, out, |failure| &failure.path)
}

/// Frees an error.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_free(error: *mut idgate_error) -> idgate_status {
    boundary(core::ptr::null_mut(), || handles::free::<Failure>(error))
}

fn text(
    error: *const idgate_error,
    out: *mut idgate_bytes,
    part: impl FnOnce(&Failure) -> &str,
) -> idgate_status {
    boundary(core::ptr::null_mut(), || {
        let failure = handles::find::<Failure>(error)?;
        put(out, || Ok(bytes::give(part(&failure).as_bytes())))
    })
}
