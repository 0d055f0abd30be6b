//! Errors as owned handles.

use crate::boundary::{boundary, put};
use crate::bytes::{self, idgate_bytes};
use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::status::idgate_status;

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

/// The clause of the standard that a presentation does not meet, as `RFC 9901 7.3`; else empty.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_error_clause(
    error: *const idgate_error,
    out: *mut idgate_bytes,
) -> idgate_status {
    text(error, out, |failure| failure.clause)
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
        put(out, || Ok(bytes::give(part(&failure))))
    })
}
