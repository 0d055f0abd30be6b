//! The number of handles and bytes that callers have not freed yet, for leak tests.

use crate::{bytes, handles};

/// Gives the number of handles and bytes of this process that you have not freed yet. It is 0 at the end of a
/// program that leaks nothing. Leak checkers do not see them, because the library keeps a reference to each.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_in_use() -> usize {
    handles::in_use().saturating_add(bytes::in_use())
}
