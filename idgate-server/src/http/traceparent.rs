//! The `traceparent` header, read only from callers with a valid key: strangers cannot choose the
//! trace of their spans.

use hyper::HeaderMap;

use idgate_base::spans::Parent;

/// The span that the request names as its parent. An invalid header counts as absent, and so do
/// several headers.
pub(super) fn read(headers: &HeaderMap) -> Option<Parent> {
    let mut values = headers.get_all("traceparent").iter();
    let value = values.next()?.to_str().ok()?;
    match values.next() {
        None => Parent::parse(value),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn repeated_headers_are_ignored() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let mut headers = HeaderMap::new();
        assert_eq!(read(&headers), None);
        headers.append("traceparent", HeaderValue::from_static(good));
        assert!(read(&headers).is_some());
        headers.append("traceparent", HeaderValue::from_static(good));
        assert_eq!(read(&headers), None);
    }
}
