//! The fetches of a verification, by an idgate_fetcher.

use std::time::Duration;

use idgate_core::UnixMillis;

use crate::boundary::{boundary, put};
use crate::failure::idgate_error;
use crate::fetcher::{FetcherHandle, idgate_fetcher};
use crate::handles;
use crate::status::idgate_status;
use crate::verification::{VerificationHandle, idgate_verification};

/// Answers needs of the last step, at `now_ms`, from what `fetcher` remembers and is fresh. `out`:
/// whether it answered any; then step again, without committing the transition of the step.
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

/// Begins to fetch all needs of the last step at once, after its transition was committed, and waits
/// for nothing. IDGATE_UNAVAILABLE: it could not begin; commit what idgate_session_released gives, and
/// tell the wallet to come back.
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

/// Waits for what idgate_verification_fetch began, for `wait_ms` at most; 0: it only looks. `out`:
/// whether everything came, which takes 9 seconds at most; then call idgate_verification_settle.
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

/// Answers the needs of the last step with what came, at `now_ms`; then step again. What could not be
/// fetched by a fault of its source decides, as `unavailable` does. IDGATE_UNAVAILABLE: something could
/// not be asked by a fault of ours (no file descriptor, no route), or did not come yet; commit what
/// idgate_session_released gives, and tell the wallet to come back.
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
