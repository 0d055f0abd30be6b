//! The status of a call, and the version of the library.

use core::ffi::c_char;

/// The version of this ABI. It goes up when something that existed changes or goes.
pub const IDGATE_ABI_VERSION: u32 = 1;

/// The result of a call. The numbers never change.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_status {
    /// The call did what you asked for.
    IDGATE_OK = 0,
    /// The presentation or the notification was evaluated and refused; the error's code is the reason.
    IDGATE_REFUSED = 1,
    /// The tenant's request breaks a rule; the error's path names the field.
    IDGATE_BAD_REQUEST = 2,
    /// The wallet's answer, or its fetch of a request, changes nothing. Store nothing, and send the error's
    /// reply.
    IDGATE_BAD_RESPONSE = 3,
    /// Trust material, keys, choices or a snapshot cannot be used.
    IDGATE_CONFIG = 4,
    /// The caller broke a rule of this interface.
    IDGATE_MISUSE = 5,
    /// The random source or the signer did not answer, or a status source could not be fetched. Try again.
    IDGATE_UNAVAILABLE = 6,
    /// There is nothing to return.
    IDGATE_NOTHING = 7,
    /// The library has a fault. Only the error was written.
    IDGATE_INTERNAL = 8,
}

/// Gives the version of the ABI of the library that is linked. Compare it with IDGATE_ABI_VERSION.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_abi_version() -> u32 {
    IDGATE_ABI_VERSION
}

/// Gives the version of the library: a text that ends with NUL and is never freed.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
