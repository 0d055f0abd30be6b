//! Query parameters: unknown ones are ignored, a known one given twice is refused (decisions 17).

use std::borrow::Cow;

use super::error::HttpError;

/// The value of `name`, if it is there.
pub(crate) fn single<'q>(
    query: Option<&'q str>,
    name: &str,
) -> Result<Option<Cow<'q, str>>, HttpError> {
    // Only what may be it is decoded: a query may have thousands of others.
    let asked = query.unwrap_or_default().split('&').filter(|pair| may_be(pair, name));
    let pairs = asked.flat_map(|pair| form_urlencoded::parse(pair.as_bytes()));
    let mut values = pairs.filter(|(key, _)| key == name).map(|(_, value)| value);
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => Err(HttpError::invalid_request("a query parameter is given twice")),
    }
}

/// Whether a pair, not decoded, may have this name.
fn may_be(pair: &str, name: &str) -> bool {
    let (key, _) = pair.split_once('=').unwrap_or((pair, ""));
    key == name || key.contains(['%', '+'])
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
    }

    #[test]
    fn refuses_a_repeated_one_even_when_encoded() {
        assert!(single(Some("scheme=haip&scheme=haip"), "scheme").is_err());
        assert!(single(Some("scheme=haip&%73cheme=x"), "scheme").is_err());
    }
}
