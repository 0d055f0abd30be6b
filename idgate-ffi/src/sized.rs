//! Structs that contain their own size, so that later versions can add fields at the end.

use std::mem::MaybeUninit;
use std::ptr;

use crate::failure::Failure;
use crate::limits::MAX_STRUCT;

/// A struct of the header whose first member is its `size`.
///
/// # Safety
/// It is `repr(C)`, begins with a `usize`, has no padding, and any bytes are a value of it; zeros are its
/// defaults.
#[allow(unsafe_code)]
pub(crate) unsafe trait SizedStruct: Copy {
    /// Its name in texts.
    const NAME: &'static str;
}

/// Declares that a struct is a [`SizedStruct`], and checks that its fields leave no padding: a field that was added
/// into padding would not change the size.
macro_rules! sized {
    ($name:ident, $text:literal: $($field:ty),+) => {
        const _: () = assert!(
            std::mem::size_of::<$name>() == std::mem::size_of::<usize>() $(+ std::mem::size_of::<$field>())+
        );
        // SAFETY: `repr(C)` with `size` first; the sum above says that there is no padding; integers,
        // pointers and structs of these take any bytes.
        #[allow(unsafe_code)]
        unsafe impl crate::sized::SizedStruct for $name {
            const NAME: &'static str = $text;
        }
    };
}
pub(crate) use sized;

/// Reads a caller's struct. Fields that the caller's version did not have are zero; fields that this version
/// does not know must be.
///
/// # Safety
/// `from` is NULL, or points to a struct that is as long as its `size` says.
#[allow(unsafe_code)]
pub(crate) unsafe fn read<T: SizedStruct>(from: *const T) -> Result<T, Failure> {
    let name = T::NAME;
    if from.is_null() {
        return Err(Failure::misuse(format!("{name} is missing")));
    }
    let size = length_of(from)?;
    let known = size_of::<T>();
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: the caller's promise; no more bytes than either has.
    unsafe {
        ptr::copy_nonoverlapping(from.cast::<u8>(), value.as_mut_ptr().cast(), size.min(known));
    }
    if let Some(beyond) = size.checked_sub(known) {
        // SAFETY: the caller's promise: the struct has `size` bytes.
        let unknown = unsafe { std::slice::from_raw_parts(from.cast::<u8>().add(known), beyond) };
        if unknown.iter().any(|byte| *byte != 0) {
            return Err(Failure::misuse(format!(
                "{name} has a field that this version of the library does not know; set it to zero, or use a newer \
                 library"
            )));
        }
    }
    // SAFETY: any bytes are a value of it, and zeros are the defaults of fields that the caller's version did not have.
    Ok(unsafe { value.assume_init() })
}

/// The same for a struct that may be left out.
///
/// # Safety
/// As [`read`].
#[allow(unsafe_code)]
pub(crate) unsafe fn optional<T: SizedStruct>(from: *const T) -> Result<Option<T>, Failure> {
    // SAFETY: the caller's promise is the same.
    if from.is_null() { Ok(None) } else { unsafe { read(from).map(Some) } }
}

/// Writes the fields that the caller's version of the struct has; its `size` stays.
///
/// # Safety
/// `to` is NULL, or points to a struct that is as long as its `size` says.
#[allow(unsafe_code)]
pub(crate) unsafe fn write<T: SizedStruct>(to: *mut T, value: &T) -> Result<(), Failure> {
    if to.is_null() {
        return Err(Failure::misuse(format!("{} is missing", T::NAME)));
    }
    let size = length_of(to)?.min(size_of::<T>());
    let behind_size = size_of::<usize>();
    // SAFETY: the caller's promise; both have that many bytes, and `length_of` says that `size` is among them.
    unsafe {
        let from = ptr::from_ref(value).cast::<u8>().add(behind_size);
        ptr::copy_nonoverlapping(from, to.cast::<u8>().add(behind_size), size - behind_size);
    }
    Ok(())
}

/// The `size` of a caller's struct.
fn length_of<T: SizedStruct>(at: *const T) -> Result<usize, Failure> {
    let name = T::NAME;
    if !at.is_aligned() {
        return Err(Failure::misuse(format!("{name} is not aligned")));
    }
    // SAFETY: the caller of `read` and `write` promises a struct, which begins with its size; it is aligned.
    #[allow(unsafe_code)]
    let size = unsafe { at.cast::<usize>().read() };
    match size {
        _ if size < size_of::<usize>()
            || size > MAX_STRUCT
            || !size.is_multiple_of(align_of::<T>()) =>
        {
            Err(Failure::misuse(format!("{name}.size is not the size of the struct")))
        }
        _ => Ok(size),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, unsafe_code)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, Debug, Default)]
    struct Now {
        size: usize,
        first: u64,
        second: u64,
    }

    sized!(Now, "it": u64, u64);

    fn given(words: &[usize]) -> Result<(u64, u64), Failure> {
        // SAFETY: a live array; the first word is at most its length.
        unsafe { read(words.as_ptr().cast::<Now>()) }.map(|it| (it.first, it.second))
    }

    #[test]
    fn a_shorter_struct_has_defaults_and_a_longer_one_may_have_zeros() {
        assert_eq!(given(&[24, 1, 2]).unwrap(), (1, 2));
        assert_eq!(given(&[16, 1, 2]).unwrap(), (1, 0));
        assert_eq!(given(&[8, 1, 2]).unwrap(), (0, 0));
        assert_eq!(given(&[40, 1, 2, 0, 0]).unwrap(), (1, 2));
        assert!(given(&[40, 1, 2, 0, 1]).is_err());
        for bad in [0, 7, 20, 25, MAX_STRUCT + 8, usize::MAX] {
            assert!(given(&[bad, 1, 2, 0, 0]).is_err(), "{bad}");
        }
        // SAFETY: nothing is read of either.
        unsafe {
            assert!(read::<Now>(ptr::null()).is_err());
            assert!(optional::<Now>(ptr::null()).unwrap().is_none());
            assert!(read(ptr::without_provenance::<Now>(1)).is_err());
        }
    }

    #[test]
    fn an_output_fills_only_the_fields_of_the_caller() {
        let value = Now { size: 99, first: 1, second: 2 };
        for (mut words, expected) in [
            ([24_usize, 7, 7, 7], [24, 1, 2, 7]),
            ([16, 7, 7, 7], [16, 1, 7, 7]),
            ([32, 7, 7, 7], [32, 1, 2, 7]),
        ] {
            // SAFETY: a live array; the first word is at most its length.
            unsafe { write(words.as_mut_ptr().cast::<Now>(), &value) }.unwrap();
            assert_eq!(words, expected);
        }
    }
}
