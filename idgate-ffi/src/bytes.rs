//! Bytes for the caller. The library records them until they are freed, so that freeing them twice,
//! or freeing anything else, is an error and not undefined behaviour.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ptr;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use zeroize::Zeroizing;

use crate::boundary::boundary;
use crate::failure::Failure;
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

/// The bytes that callers have not freed yet, by address. They are wiped when freed.
static GIVEN: LazyLock<Mutex<HashMap<usize, Wiped>>> = LazyLock::new(Mutex::default);

/// A Vec, because moving a Box would invalidate the caller's pointer.
type Wiped = Zeroizing<Vec<u8>>;

/// Gives `bytes` to the caller: owned bytes as they are, borrowed bytes as a copy.
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
        freed.map(drop).ok_or_else(|| {
            Failure::misuse("these bytes did not come from this library, or were freed before")
        })
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

#[cfg(test)]
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
}
