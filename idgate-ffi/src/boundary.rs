//! Where C meets Rust: panics end here, outputs are written only on success.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::status::idgate_status::{self, *};

/// Runs the body of a function. Turns every failure, including a panic, into a status, and into an
/// error if the caller asks for one.
pub(crate) fn boundary(
    err_out: *mut *mut idgate_error,
    body: impl FnOnce() -> Result<(), Failure>,
) -> idgate_status {
    // A panic can leave only this call's own data unfinished, and a verification, which then ends.
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return IDGATE_OK,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::internal("internal error of the library; please report it"),
    };
    let status = failure.status;
    if room(err_out).is_ok() {
        let error = handles::make(failure);
        // SAFETY: the caller promises that `err_out`, which is neither NULL nor misaligned, points to
        // room for a pointer.
        #[allow(unsafe_code)]
        unsafe {
            err_out.write(error);
        }
    }
    status
}

/// Writes the value of `make` to `out`. Without an `out`, `make` does not run, so that no value is
/// leaked.
pub(crate) fn put<T>(
    out: *mut T,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    room(out)?;
    let value = make()?;
    // SAFETY: the caller promises that `out`, which is neither NULL nor misaligned, points to room
    // for a `T`.
    #[allow(unsafe_code)]
    unsafe {
        out.write(value);
    }
    Ok(())
}

/// Refuses an address that cannot be written to.
pub(crate) fn room<T>(out: *mut T) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::misuse("the output pointer is null"));
    }
    if !out.is_aligned() {
        return Err(Failure::misuse("the output pointer is not aligned"));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::panic, clippy::unwrap_used)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn a_panic_is_a_status_and_an_error() {
        let mut error = ptr::null_mut();
        assert_eq!(boundary(&mut error, || panic!("inside")), IDGATE_INTERNAL);
        assert!(handles::find::<Failure>(error).is_ok());
        handles::free::<Failure>(error).unwrap();
        assert_eq!(boundary(ptr::null_mut(), || panic!("inside")), IDGATE_INTERNAL);
    }

    #[test]
    fn outputs_are_written_only_with_ok() {
        let mut error = ptr::null_mut();
        assert_eq!(boundary(&mut error, || Ok(())), IDGATE_OK);
        assert!(error.is_null());
        let mut out = 7;
        let failed = boundary(&mut error, || put(&mut out, || Err(Failure::nothing("x"))));
        assert_eq!((failed, out), (IDGATE_NOTHING, 7));
        handles::free::<Failure>(error).unwrap();
    }

    #[test]
    fn without_an_output_no_value_is_made() {
        let made =
            boundary(ptr::null_mut(), || put(ptr::null_mut::<u64>(), || panic!("made for nobody")));
        assert_eq!(made, IDGATE_MISUSE);
        let odd = ptr::without_provenance_mut::<u64>(3);
        assert_eq!(boundary(ptr::null_mut(), || put(odd, || Ok(1))), IDGATE_MISUSE);
        let odd = ptr::without_provenance_mut(3);
        assert_eq!(boundary(odd, || Err(Failure::nothing("x"))), IDGATE_NOTHING);
    }
}
