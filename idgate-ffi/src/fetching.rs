//! The fetches of a verification, by an idgate_fetcher.

use std::time::Duration;

use idgate_core::UnixMillis;

use crate::boundary::{boundary, put};
use crate::failure::idgate_error;
use crate::fetcher::{FetcherHandle, idgate_fetcher};
use crate::handles;
use crate::status::idgate_status;
use crate::verification::{VerificationHandle, idgate_verification};

/// Answers needs of the last step at `now_ms` from the cache of `fetcher`, if that is fresh. `out` says whether it
/// answered any: then step again, without committing the transition of the step.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verification_recall(
    verification: *const idgate_verification,
    fetcher: *const idgate_fetcher,
    now_ms: u64,
    out: *mut bool,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verification = handles::find::<VerificationHandle>(verification)?;
        let fetcher = handles::find::<FetcherHandle>(fetcher)?;
        put(out, || Ok(verification.state()?.recall(&fetcher.0, UnixMillis(now_ms))))
    })
}

/// Starts to fetch all needs of the last step and does not wait. Commit the transition of the step before.
/// IDGATE_UNAVAILABLE: it could not start. Commit what idgate_session_released gives, and send the error's reply.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verification_fetch(
    verification: *const idgate_verification,
    fetcher: *const idgate_fetcher,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verification = handles::find::<VerificationHandle>(verification)?;
        let fetcher = handles::find::<FetcherHandle>(fetcher)?;
        verification.state()?.fetch(&fetcher.0)
    })
}

/// Waits up to `wait_ms` for the fetches of idgate_verification_fetch; with 0 it does not wait. `out` says whether
/// all of them ended: then call idgate_verification_settle. They take 9 seconds at most.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verification_wait(
    verification: *const idgate_verification,
    wait_ms: u32,
    out: *mut bool,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verification = handles::find::<VerificationHandle>(verification)?;
        let patience = Duration::from_millis(wait_ms.into());
        put(out, || verification.state()?.wait(patience))
    })
}

/// Answers the needs of the last step with the results, at `now_ms`; then step again. A source that failed counts as
/// unavailable, and the verification is decided on that. IDGATE_UNAVAILABLE: this machine could not ask a source (no
/// file descriptor, no route), or a fetch has not ended yet. Commit what idgate_session_released gives, and send the
/// error's reply.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verification_settle(
    verification: *const idgate_verification,
    now_ms: u64,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verification = handles::find::<VerificationHandle>(verification)?;
        verification.state()?.settle(UnixMillis(now_ms))
    })
}
