//! What a call came to, and which version this is.

use core::ffi::c_char;

/// The version of this ABI. Raised when something that existed changes or goes.
pub const IDGATE_ABI_VERSION: u32 = 1;

/// What a call came to. The numbers are fixed for ever.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_status {
    /// It did what was asked.
    IDGATE_OK = 0,
    /// The presentation was evaluated and refused; the error's code is the reason.
    IDGATE_REFUSED = 1,
    /// The tenant's request breaks a rule; the error's path names the field.
    IDGATE_BAD_REQUEST = 2,
    /// The wallet's answer, or the question for a request, changes nothing: nothing is to be
    /// stored.
    IDGATE_BAD_RESPONSE = 3,
    /// Trust material, keys or the base URL cannot be used.
    IDGATE_CONFIG = 4,
    /// The caller broke a rule of this interface.
    IDGATE_MISUSE = 5,
    /// The random source or the signer did not answer, or a status source could not be asked.
    IDGATE_UNAVAILABLE = 6,
    /// There is nothing of what was asked for.
    IDGATE_NOTHING = 7,
    /// A fault of idgate. Nothing was written but the error.
    IDGATE_INTERNAL = 8,
}

/// The version of the ABI of the library that is linked; compare it with IDGATE_ABI_VERSION.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_abi_version() -> u32 {
    IDGATE_ABI_VERSION
}

/// The version of the library as text that ends with NUL and lives for ever.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
