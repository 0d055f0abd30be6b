//! The `Idempotency-Key` of a request (decisions 4).

use hyper::HeaderMap;
use hyper::header::HeaderName;

use super::error::HttpError;
use super::head::only;
use crate::limits::MAX_IDEMPOTENCY_KEY_CHARS;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The key, if there is one: 1 to 255 visible ASCII characters.
pub(crate) fn read(headers: &HeaderMap) -> Result<Option<&str>, HttpError> {
    if !headers.contains_key(IDEMPOTENCY_KEY) {
        return Ok(None);
    }
    let key = only(headers, &IDEMPOTENCY_KEY).filter(|key| {
        (1..=MAX_IDEMPOTENCY_KEY_CHARS).contains(&key.len())
            && key.bytes().all(|byte| byte.is_ascii_graphic())
    });
    key.map(Some).ok_or_else(|| {
        HttpError::invalid_request(
            "Idempotency-Key must be given once and have 1 to 255 visible ASCII characters",
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(values: &[&[u8]]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for value in values {
            map.append("idempotency-key", HeaderValue::from_bytes(value).unwrap());
        }
        map
    }

    #[test]
    fn a_key_has_1_to_255_visible_ascii_characters() {
        assert_eq!(read(&HeaderMap::new()).unwrap(), None);
        let longest = "~".repeat(255);
        for good in ["!", "order-4711", &longest] {
            assert_eq!(read(&headers(&[good.as_bytes()])).unwrap(), Some(good));
        }
        let too_long = "k".repeat(256);
        for bad in [
            &[&b""[..]][..],
            &[b"a b"],
            &[b"a\tb"],
            &[b"\xff"],
            &["é".as_bytes()],
            &[too_long.as_bytes()],
            &[b"a", b"a"],
            &[b"a", b""],
        ] {
            assert!(read(&headers(bad)).is_err(), "{bad:?}");
        }
    }
}
