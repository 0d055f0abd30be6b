//! What callers have not freed yet, for their tests.

use crate::{bytes, handles};

/// How many handles and bytes of this process were given and not freed yet. 0 at the end of a
/// program that leaks nothing: leak checkers do not see them, as idgate remembers each.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_in_use() -> usize {
    handles::in_use().saturating_add(bytes::in_use())
}
