//! Bytes in and out. What goes out is remembered until it is freed, so that freeing it twice, or
//! something else, is an answer and not undefined behaviour.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_char;
use std::ptr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use zeroize::Zeroizing;

use crate::boundary::boundary;
use crate::failure::Failure;
use crate::limits::{MAX_HANDLES, MAX_INPUT};
use crate::status::idgate_status;

/// Bytes that the caller owns: free them with idgate_bytes_free. `ptr` is NULL when `len` is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_bytes {
    /// The first byte.
    pub ptr: *mut u8,
    /// How many there are.
    pub len: usize,
}

/// What callers have not freed yet, by address; wiped when freed.
static GIVEN: LazyLock<Mutex<HashMap<usize, Wiped>>> = LazyLock::new(Mutex::default);

/// A Vec: moving a Box would end the caller's right to the pointer.
type Wiped = Zeroizing<Vec<u8>>;

/// Gives `bytes` to the caller: what is owned as it is, of what is borrowed a copy.
pub(crate) fn give(bytes: impl Into<Vec<u8>>) -> idgate_bytes {
    let mut bytes: Wiped = Zeroizing::new(bytes.into());
    if bytes.is_empty() {
        return idgate_bytes { ptr: ptr::null_mut(), len: 0 };
    }
    let (ptr, len) = (bytes.as_mut_ptr(), bytes.len());
    given().insert(ptr.addr(), bytes);
    idgate_bytes { ptr, len }
}

/// Wipes and frees bytes. Bytes that were never given are IDGATE_MISUSE, and so are bytes that were
/// freed already, until the same address is given again.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_bytes_free(bytes: idgate_bytes) -> idgate_status {
    boundary(ptr::null_mut(), || {
        if bytes.ptr.is_null() {
            return Ok(());
        }
        let freed = take_back(bytes);
        freed.map(drop).ok_or_else(|| Failure::misuse("these bytes are not idgate's, or freed"))
    })
}

/// How many bytes callers have not freed yet.
pub(crate) fn in_use() -> usize {
    given().len()
}

fn take_back(bytes: idgate_bytes) -> Option<Wiped> {
    match given().entry(bytes.ptr.addr()) {
        Entry::Occupied(known) if known.get().len() == bytes.len => Some(known.remove()),
        _ => None,
    }
}

fn given() -> MutexGuard<'static, HashMap<usize, Wiped>> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A caller's bytes. NULL stands for none.
///
/// # Safety
/// `ptr` is NULL, or points to `len` bytes that nobody changes while `'a` lasts.
#[allow(unsafe_code)]
pub(crate) unsafe fn input<'a>(
    ptr: *const u8,
    len: usize,
    name: &str,
) -> Result<&'a [u8], Failure> {
    if len > MAX_INPUT {
        return Err(Failure::misuse(format!("{name} is larger than 64 MiB")));
    }
    if ptr.is_null() {
        return match len {
            0 => Ok(&[]),
            _ => Err(Failure::misuse(format!("{name} is NULL, and its length is not 0"))),
        };
    }
    // SAFETY: not NULL, at most 64 MiB, and the caller's promise above.
    Ok(unsafe { std::slice::from_raw_parts(ptr, len) })
}

/// A caller's text.
///
/// # Safety
/// As [`input`].
#[allow(unsafe_code)]
pub(crate) unsafe fn text<'a>(
    ptr: *const c_char,
    len: usize,
    name: &str,
) -> Result<&'a str, Failure> {
    // SAFETY: the caller's promise is the same.
    let bytes = unsafe { input(ptr.cast(), len, name)? };
    std::str::from_utf8(bytes).map_err(|_| Failure::misuse(format!("{name} is not UTF-8")))
}

/// A caller's text, or `None` for NULL.
///
/// # Safety
/// As [`input`].
#[allow(unsafe_code)]
pub(crate) unsafe fn given_text<'a>(
    ptr: *const c_char,
    len: usize,
    name: &str,
) -> Result<Option<&'a str>, Failure> {
    // SAFETY: the caller's promise is the same.
    let text = unsafe { text(ptr, len, name)? };
    Ok((!ptr.is_null()).then_some(text))
}

/// A caller's array of handles. NULL stands for none.
///
/// # Safety
/// `ptr` is NULL, or points to `len` handles that nobody changes while `'a` lasts.
#[allow(unsafe_code)]
pub(crate) unsafe fn handles_of<'a, T>(
    ptr: *const *const T,
    len: usize,
    name: &str,
) -> Result<&'a [*const T], Failure> {
    if len > MAX_HANDLES {
        return Err(Failure::misuse(format!("{name} has more than {MAX_HANDLES}")));
    }
    if ptr.is_null() {
        return match len {
            0 => Ok(&[]),
            _ => Err(Failure::misuse(format!("{name} is NULL, and its length is not 0"))),
        };
    }
    if !ptr.is_aligned() {
        return Err(Failure::misuse(format!("{name} is not aligned")));
    }
    // SAFETY: not NULL, aligned, few, and the caller's promise above.
    Ok(unsafe { std::slice::from_raw_parts(ptr, len) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, unsafe_code)]
mod tests {
    use super::*;
    use crate::status::idgate_status::{IDGATE_MISUSE, IDGATE_OK};

    #[test]
    fn bytes_are_freed_once() {
        let given = give(b"abc");
        assert_eq!(given.len, 3);
        assert_eq!(idgate_bytes_free(idgate_bytes { len: 2, ..given }), IDGATE_MISUSE);
        assert_eq!(idgate_bytes_free(given), IDGATE_OK);
        assert_eq!(idgate_bytes_free(given), IDGATE_MISUSE);
        let mut own = [1u8];
        let foreign = idgate_bytes { ptr: own.as_mut_ptr(), len: 1 };
        assert_eq!(idgate_bytes_free(foreign), IDGATE_MISUSE);
    }

    #[test]
    fn no_bytes_are_null_and_null_is_freed() {
        let given = give(b"");
        assert!(given.ptr.is_null());
        assert_eq!(idgate_bytes_free(given), IDGATE_OK);
    }

    #[test]
    fn impossible_inputs_are_refused_before_they_are_read() {
        let byte = ptr::without_provenance::<u8>(1);
        // SAFETY: nothing is read of any of them.
        unsafe {
            assert!(input(byte, MAX_INPUT + 1, "it").is_err());
            assert!(input(byte, usize::MAX, "it").is_err());
            assert!(input(ptr::null(), 1, "it").is_err());
            assert_eq!(input(ptr::null(), 0, "it").unwrap(), b"");
            let odd = ptr::without_provenance::<*const u8>(1);
            assert!(handles_of(odd, 1, "it").is_err());
            assert!(handles_of(odd, MAX_HANDLES + 1, "it").is_err());
            assert!(handles_of(ptr::null::<*const u8>(), 1, "it").is_err());
            assert!(handles_of(ptr::null::<*const u8>(), 0, "it").unwrap().is_empty());
        }
    }

    #[test]
    fn text_is_utf_8() {
        let bytes = [0xffu8];
        // SAFETY: a live array of that length.
        assert!(unsafe { text(bytes.as_ptr().cast(), 1, "it") }.is_err());
    }
}
