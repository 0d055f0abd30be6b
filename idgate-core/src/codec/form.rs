//! `application/x-www-form-urlencoded` by RFC 6749: percent-decoding must be valid and give UTF-8,
//! and there may be at most [`MAX_FORM_PARAMETERS`] parameters. With lenient decoders two parties
//! could read one body differently.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use crate::limits::MAX_FORM_PARAMETERS;
use crate::work;

/// The error for a body that is not well-formed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // carries nothing, ever
pub struct NotAForm;

/// The line breaks that some tools append to a body. A form percent-encodes line breaks, so an
/// unencoded one is not part of a value.
pub const LINE_BREAKS: [char; 2] = ['\r', '\n'];

/// The message for a body that ends with an unencoded line break.
pub const LINE_BREAK_BEHIND: &str =
    "a line break (CR or LF) follows the form; send the body without it";

/// The pairs of `body` in order. A pair without `=` has an empty value.
///
/// # Errors
/// A pair's percent-encoding is invalid, or does not give UTF-8, or there are too many.
pub fn pairs(body: &str) -> impl Iterator<Item = Result<(Cow<'_, str>, Cow<'_, str>), NotAForm>> {
    let numbered = body.split('&').take(MAX_FORM_PARAMETERS + 1).enumerate();
    numbered.filter(|(at, pair)| !pair.is_empty() || *at == MAX_FORM_PARAMETERS).map(
        |(at, pair)| {
            work::steps(8 + pair.len() / 8);
            if at == MAX_FORM_PARAMETERS {
                return Err(NotAForm);
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        },
    )
}

/// Appends `name=value` to a query. A space is `%20`, never `+`: wallets interpret `+` differently,
/// and all agree on `%20`.
pub(crate) fn push_pair(query: &mut String, name: &str, value: &str) {
    if !query.is_empty() {
        query.push('&');
    }
    query.push_str(name);
    query.push('=');
    for part in form_urlencoded::byte_serialize(value.as_bytes()) {
        query.push_str(if part == "+" { "%20" } else { part });
    }
}

fn decode(text: &str) -> Result<Cow<'_, str>, NotAForm> {
    // Each character is read once, and again if something is decoded.
    work::steps(text.len());
    if !text.contains(['%', '+']) {
        return Ok(Cow::Borrowed(text));
    }
    work::steps(text.len());
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (hex(bytes.next())?, hex(bytes.next())?);
                high << 4 | low
            }
            other => other,
        });
    }
    String::from_utf8(decoded).map(Cow::Owned).map_err(|_| NotAForm)
}

fn hex(digit: Option<u8>) -> Result<u8, NotAForm> {
    let value = digit.and_then(|digit| char::from(digit).to_digit(16)).ok_or(NotAForm)?;
    u8::try_from(value).map_err(|_| NotAForm)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(body: &str) -> Vec<(String, String)> {
        pairs(body)
            .map(|pair| pair.map(|(name, value)| (name.into_owned(), value.into_owned())).unwrap())
            .collect()
    }

    #[test]
    fn names_and_values_are_decoded() {
        let pair = |name: &str, value: &str| (String::from(name), String::from(value));
        assert_eq!(
            read("a=1&b=+x%2B%c3%A9&c=&d&&%61=2=3"),
            [pair("a", "1"), pair("b", " x+é"), pair("c", ""), pair("d", ""), pair("a", "2=3"),]
        );
        assert!(read("").is_empty());
    }

    #[test]
    fn a_form_has_at_most_64_parameters() {
        for parameter in ["a=1&", "a&", "&"] {
            let most = parameter.repeat(MAX_FORM_PARAMETERS - 1);
            assert!(pairs(&most).all(|pair| pair.is_ok()), "{parameter}");
            let beyond = parameter.repeat(1 << 20);
            assert_eq!(pairs(&beyond).last(), Some(Err(NotAForm)), "{parameter}");
            assert!(pairs(&beyond).count() <= MAX_FORM_PARAMETERS + 1);
        }
    }

    #[test]
    fn a_space_in_a_query_is_never_a_plus() {
        let mut query = String::new();
        push_pair(&mut query, "a", "x  y+z&é");
        push_pair(&mut query, "b", "");
        assert_eq!(query, "a=x%20%20y%2Bz%26%C3%A9&b=");
        assert_eq!(read(&query), [("a".into(), "x  y+z&é".into()), ("b".into(), "".into())]);
    }

    #[test]
    fn malformed_percent_escapes_are_refused() {
        for bad in ["a=%", "a=%4", "a=%zz", "a=%4g", "%=a", "a=%+1", "a=%\u{e9}1"] {
            assert_eq!(pairs(bad).next(), Some(Err(NotAForm)), "{bad}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_refused() {
        for bad in ["a=%ff", "a=%c3", "a=%ed%a0%80", "%c0%80=a"] {
            assert_eq!(pairs(bad).next(), Some(Err(NotAForm)), "{bad}");
        }
    }
}
