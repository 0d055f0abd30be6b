//! Hexadecimal digits, for people and for hashes in results.

use alloc::string::String;
use core::fmt::Write as _;

use crate::work;

/// Two lower-case digits for each byte.
pub(crate) fn encode(bytes: &[u8]) -> String {
    work::steps(8 * bytes.len());
    let room = String::with_capacity(bytes.len().saturating_mul(2));
    bytes.iter().fold(room, |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}
