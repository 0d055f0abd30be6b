//! The certificates in a header's `x5c` (RFC 7515 4.1.6), decoded from base64 but not parsed.

use alloc::vec::Vec;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::codec::json::Value;
use crate::limits::MAX_CERTIFICATES;

/// The errors for an `x5c` that cannot be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum X5cError {
    /// Not an array of one or more certificates in standard base64.
    Malformed,
    /// More than [`MAX_CERTIFICATES`].
    TooMany,
}

/// Returns the certificates in the header's `x5c`, leaf first; `None` if the header has no such
/// member.
///
/// # Errors
/// The member cannot be used. It must be standard base64 with padding, not base64url.
pub(crate) fn x5c(header: Value<'_, '_>) -> Result<Option<Vec<Vec<u8>>>, X5cError> {
    let Some(member) = header.get("x5c") else { return Ok(None) };
    let mut chain = Vec::new();
    for certificate in member.elements().ok_or(X5cError::Malformed)? {
        if chain.len() == MAX_CERTIFICATES {
            return Err(X5cError::TooMany);
        }
        let text = certificate.as_str().ok_or(X5cError::Malformed)?;
        chain.push(STANDARD.decode(text.as_bytes()).map_err(|_| X5cError::Malformed)?);
    }
    if chain.is_empty() { Err(X5cError::Malformed) } else { Ok(Some(chain)) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::string::String;
    use alloc::{format, vec};

    use super::*;
    use crate::codec::json::Tape;

    fn read(header: &str) -> Result<Option<Vec<Vec<u8>>>, X5cError> {
        let mut tape = Tape::default();
        let id = tape.parse(header.as_bytes()).unwrap();
        x5c(tape.value(id))
    }

    #[test]
    fn certificates_are_standard_base64_leaf_first() {
        assert_eq!(read("{}"), Ok(None));
        let two = read(r#"{"x5c":["+/8=","\u002B\/8A"]}"#);
        assert_eq!(two, Ok(Some(vec![vec![0xfb, 0xff], vec![0xfb, 0xff, 0x00]])));
    }

    #[test]
    fn values_other_than_lists_of_standard_base64_are_malformed() {
        for x5c in [
            "null",
            "[]",
            "{}",
            r#""+/8=""#,
            "[1]",
            "[null]",
            r#"[["+/8="]]"#,
            r#"["-_8="]"#,
            r#"["+/8"]"#,
            r#"["+/9="]"#,
            r#"["+/ 8="]"#,
            r#"["+/8=\n"]"#,
            r#"["+/8=",7]"#,
        ] {
            assert_eq!(read(&format!(r#"{{"x5c":{x5c}}}"#)), Err(X5cError::Malformed), "{x5c}");
        }
    }

    #[test]
    fn at_most_ten_certificates_are_accepted() {
        let many = |count: usize| {
            let certificates: Vec<String> = vec![r#""AA==""#.into(); count];
            read(&format!(r#"{{"x5c":[{}]}}"#, certificates.join(",")))
        };
        assert_eq!(many(10).unwrap().unwrap().len(), 10);
        assert_eq!(many(11), Err(X5cError::TooMany));
    }
}
