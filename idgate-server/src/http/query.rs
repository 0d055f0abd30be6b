//! Query parameters: unknown ones are ignored, a repeated known one is refused (decisions 17).

use std::borrow::Cow;

use super::error::HttpError;

/// The value of `name`, if it is there.
pub(crate) fn single<'q>(
    query: Option<&'q str>,
    name: &str,
) -> Result<Option<Cow<'q, str>>, HttpError> {
    let pairs = query.unwrap_or_default().as_bytes().split(|byte| *byte == b'&');
    let asked = pairs.filter(|pair| has_name(pair, name));
    let mut values = asked.filter_map(|pair| form_urlencoded::parse(pair).next()).map(|it| it.1);
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => Err(HttpError::invalid_request("a query parameter must not be repeated")),
    }
}

/// Whether a pair, as sent, has this name. Stops at the first byte that differs, because a query
/// may have thousands of pairs and its sender controls their cost.
fn has_name(mut pair: &[u8], name: &str) -> bool {
    name.bytes().all(|byte| next_byte(&mut pair) == Some(byte)) && matches!(pair, [] | [b'=', ..])
}

/// Takes the next byte of a name, which may be percent-encoded.
fn next_byte(name: &mut &[u8]) -> Option<u8> {
    let (byte, rest) = match **name {
        [] | [b'=', ..] => return None,
        [b'+', ref rest @ ..] => (b' ', rest),
        [first, ref rest @ ..] => escaped(first, rest).unwrap_or((first, rest)),
    };
    *name = rest;
    Some(byte)
}

fn escaped(first: u8, rest: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, rest) = rest.split_first_chunk::<2>().filter(|_| first == b'%')?;
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    let byte = u8::try_from(high?.checked_mul(16)?.checked_add(low?)?).ok()?;
    Some((byte, rest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn finds_one_and_ignores_others() {
        assert_eq!(single(None, "scheme").unwrap(), None);
        assert_eq!(single(Some("a=1&a=2"), "scheme").unwrap(), None);
        assert_eq!(single(Some("a=1&sch%65me=haip"), "scheme").unwrap().as_deref(), Some("haip"));
        assert_eq!(single(Some("scheme"), "scheme").unwrap().as_deref(), Some(""));
        assert_eq!(single(Some("&&scheme=a%3Db&"), "scheme").unwrap().as_deref(), Some("a=b"));
        assert_eq!(single(Some("a+b=1&scheme2=2&=3"), "a b").unwrap().as_deref(), Some("1"));
        for other in ["a%2Bb=1", "a%=1", "a+=1", "+a=1", "a%FFb=1", "=a"] {
            assert_eq!(single(Some(other), "a").unwrap(), None, "{other}");
            assert_eq!(single(Some(other), "a b").unwrap(), None, "{other}");
        }
    }

    /// Every text of up to six of these, so that escapes are truncated, doubled, and invalid.
    #[test]
    fn names_are_read_as_form_urlencoded_reads_them() {
        let mut texts = vec![String::new()];
        for length in 0..6 {
            let longest: Vec<_> =
                texts.iter().filter(|text| text.len() == length).cloned().collect();
            for text in longest {
                texts.extend(["a", "%", "6", "1", "+", "=", "&"].map(|next| text.clone() + next));
            }
        }
        for text in texts {
            for name in ["a", "a ", "%6"] {
                let values = form_urlencoded::parse(text.as_bytes());
                let values: Vec<_> = values.filter(|(key, _)| key == name).collect();
                match single(Some(&text), name) {
                    Ok(value) => {
                        assert!(values.len() < 2, "{text}");
                        assert_eq!(value.as_ref(), values.first().map(|it| &it.1), "{text}");
                    }
                    Err(_) => assert!(values.len() > 1, "{text}"),
                }
            }
        }
    }

    #[test]
    fn refuses_a_repeated_one_even_when_encoded() {
        assert!(single(Some("scheme=haip&scheme=haip"), "scheme").is_err());
        assert!(single(Some("scheme=haip&%73cheme=x"), "scheme").is_err());
    }
}
