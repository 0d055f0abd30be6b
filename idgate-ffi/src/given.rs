//! Text and bytes that a caller gives, by value: a pointer and a length.

use std::ffi::c_void;
use std::ptr;

use crate::failure::Failure;
use crate::limits::{MAX_INPUT, MAX_LIST};

/// Text or bytes: where they begin and how many there are. Text is UTF-8 without a terminating NUL. A `ptr`
/// of NULL means that nothing is given; an empty text has another `ptr` and a `len` of 0. A literal is
/// IDGATE_STR("text").
///
/// An idgate_str that a function returns belongs to the object that the function was called with, and is
/// valid until you free that object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_str {
    /// The first byte.
    pub ptr: *const c_void,
    /// How many bytes there are.
    pub len: usize,
}

impl idgate_str {
    /// The value for "not given".
    pub const NONE: Self = Self { ptr: ptr::null(), len: 0 };

    /// A text that lives as long as the object that contains it.
    pub(crate) const fn of(text: &str) -> Self {
        Self { ptr: text.as_ptr().cast(), len: text.len() }
    }
}

impl Default for idgate_str {
    fn default() -> Self {
        Self::NONE
    }
}

/// For callers in Rust; the value must not outlive the bytes.
impl From<&[u8]> for idgate_str {
    fn from(bytes: &[u8]) -> Self {
        Self { ptr: bytes.as_ptr().cast(), len: bytes.len() }
    }
}

/// As of bytes.
impl From<&str> for idgate_str {
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

/// The bytes of `given`. A value that is not given is the same as no bytes.
///
/// # Safety
/// `given.ptr` is NULL, or points to `given.len` bytes that stay unchanged while `'a` lasts.
#[allow(unsafe_code)]
pub(crate) unsafe fn input<'a>(given: idgate_str, name: &str) -> Result<&'a [u8], Failure> {
    if given.len > MAX_INPUT {
        return Err(Failure::misuse(format!("{name} is larger than 64 MiB")));
    }
    if given.ptr.is_null() {
        return match given.len {
            0 => Ok(&[]),
            _ => Err(Failure::misuse(format!("{name} has a length, but its pointer is null"))),
        };
    }
    // SAFETY: not NULL, at most 64 MiB, and the caller's promise above.
    Ok(unsafe { std::slice::from_raw_parts(given.ptr.cast(), given.len) })
}

/// The text of `given`.
///
/// # Safety
/// As [`input`].
#[allow(unsafe_code)]
pub(crate) unsafe fn text<'a>(given: idgate_str, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: the caller's promise is the same.
    let bytes = unsafe { input(given, name)? };
    std::str::from_utf8(bytes).map_err(|_| Failure::misuse(format!("{name} is not UTF-8")))
}

/// The text of `given`, or `None` if it is not given.
///
/// # Safety
/// As [`input`].
#[allow(unsafe_code)]
pub(crate) unsafe fn optional_text<'a>(
    given: idgate_str,
    name: &str,
) -> Result<Option<&'a str>, Failure> {
    // SAFETY: the caller's promise is the same.
    let text = unsafe { text(given, name)? };
    Ok((!given.ptr.is_null()).then_some(text))
}

/// The texts of an array.
///
/// # Safety
/// `array` is NULL, or points to `len` values, each as [`input`] asks, that stay unchanged while `'a` lasts.
#[allow(unsafe_code)]
pub(crate) unsafe fn texts<'a>(
    array: *const idgate_str,
    len: usize,
    name: &str,
) -> Result<Vec<&'a str>, Failure> {
    if len > MAX_LIST {
        return Err(Failure::misuse(format!("{name} has more than {MAX_LIST} elements")));
    }
    if array.is_null() {
        return match len {
            0 => Ok(Vec::new()),
            _ => Err(Failure::misuse(format!("{name} has a length, but its pointer is null"))),
        };
    }
    if !array.is_aligned() {
        return Err(Failure::misuse(format!("{name} is not aligned")));
    }
    // SAFETY: not NULL, aligned, few, and the caller's promise above.
    let given = unsafe { std::slice::from_raw_parts(array, len) };
    let named = given.iter().enumerate();
    // SAFETY: the caller's promise, for each.
    named.map(|(at, one)| unsafe { text(*one, &format!("{name}[{at}]")) }).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, unsafe_code)]
mod tests {
    use super::*;

    #[test]
    fn impossible_inputs_are_refused_before_they_are_read() {
        let at = |address| ptr::without_provenance::<c_void>(address);
        // SAFETY: nothing is read of any of them.
        unsafe {
            assert!(input(idgate_str { ptr: at(1), len: MAX_INPUT + 1 }, "it").is_err());
            assert!(input(idgate_str { ptr: at(1), len: usize::MAX }, "it").is_err());
            assert!(input(idgate_str { ptr: at(0), len: 1 }, "it").is_err());
            assert_eq!(input(idgate_str::NONE, "it").unwrap(), b"");
            let odd = ptr::without_provenance::<idgate_str>(1);
            assert!(texts(odd, 1, "it").is_err());
            assert!(texts(odd, MAX_LIST + 1, "it").is_err());
            assert!(texts(ptr::null(), 1, "it").is_err());
            assert!(texts(ptr::null(), 0, "it").unwrap().is_empty());
        }
    }

    #[test]
    fn text_is_utf_8_and_an_empty_text_is_given() {
        let none = idgate_str::NONE;
        // SAFETY: live values of their lengths.
        unsafe {
            assert!(text((&[0xff_u8][..]).into(), "it").is_err());
            assert_eq!(optional_text("".into(), "it").unwrap(), Some(""));
            assert_eq!(optional_text(none, "it").unwrap(), None);
            let bad = [idgate_str::from("a"), (&[0xff_u8][..]).into()];
            let why = texts(bad.as_ptr(), 2, "claims").unwrap_err().message;
            assert_eq!(why, "claims[1] is not UTF-8");
        }
    }
}
