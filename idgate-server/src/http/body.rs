//! Request bodies, read to a limit and within a time: the declared length is judged before a byte
//! is read, the real one while it arrives.

use std::net::IpAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_TYPE;
use tokio::sync::OwnedSemaphorePermit;

use super::error::HttpError;
use super::large::Large;

/// Bodies up to here are free; longer ones take a place while they are held.
const LARGE_FROM: usize = 64 * 1024;

/// A whole body.
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    /// There for a large one; to be dropped with it.
    pub(crate) places: Option<Places>,
}

/// What a large body takes until it is judged: a place among its peer's, one among all.
pub(crate) struct Places {
    _arrived: Option<OwnedSemaphorePermit>,
    _verifying: OwnedSemaphorePermit,
}

/// How much may be read, how long, and out of which budget.
pub(crate) struct Bounds<'a> {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
    pub(crate) large: &'a Large,
    /// Whose place a large one takes; `None` for a trusted proxy, which has no limit.
    pub(crate) peer: Option<IpAddr>,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BodyError {
    /// It is, or says it will be, longer than the limit.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The connection broke, or the transfer coding is wrong.
    Broken,
    /// It is large, and too many large ones are held already.
    Busy,
}

impl BodyError {
    /// The refusal where a body may have 64 KiB. The connection ends with it: the rest of the body
    /// is not read.
    pub(crate) fn refuse_64_kib(self) -> HttpError {
        let error = match self {
            Self::TooLarge => HttpError::invalid_request("the body is larger than 64 KiB"),
            Self::TooSlow => HttpError::invalid_request("the body did not arrive in time"),
            Self::Broken => HttpError::invalid_request("the body is incomplete"),
            Self::Busy => HttpError::temporarily_unavailable(),
        };
        error.closing()
    }
}

/// Reads a whole body.
pub(crate) async fn read(body: Incoming, bounds: Bounds<'_>) -> Result<Received, BodyError> {
    let declared = usize::try_from(body.size_hint().lower());
    if declared.is_ok_and(|declared| declared <= bounds.bytes) {
        let read = tokio::time::timeout(bounds.time, collect(body, &bounds));
        return read.await.unwrap_or(Err(BodyError::TooSlow));
    }
    Err(BodyError::TooLarge)
}

/// Whether the one `Content-Type` is `media_type`, with or without parameters.
pub(crate) fn has_content_type(headers: &HeaderMap, media_type: &str) -> bool {
    let essence = content_type(headers).and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(media_type))
}

/// The one `Content-Type`; none when it is missing, repeated or not text.
pub(crate) fn content_type(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()
}

async fn collect(mut body: Incoming, bounds: &Bounds<'_>) -> Result<Received, BodyError> {
    let bytes = next_data(&mut body).await?.unwrap_or_default();
    let mut place = admit(bytes.len(), None, bounds).await?;
    if body.is_end_stream() {
        return complete(bytes, place, bounds);
    }
    let mut whole = BytesMut::from(bytes);
    while let Some(data) = next_data(&mut body).await? {
        place = admit(whole.len().saturating_add(data.len()), place, bounds).await?;
        whole.extend_from_slice(&data);
    }
    complete(whole.freeze(), place, bounds)
}

/// Whether a body may grow to `length`.
async fn admit(
    length: usize,
    held: Option<OwnedSemaphorePermit>,
    bounds: &Bounds<'_>,
) -> Result<Option<OwnedSemaphorePermit>, BodyError> {
    if length > bounds.bytes {
        return Err(BodyError::TooLarge);
    }
    match bounds.peer {
        Some(peer) if length > LARGE_FROM && held.is_none() => {
            bounds.large.arrive(peer).await.map(Some).ok_or(BodyError::Busy)
        }
        _ => Ok(held),
    }
}

/// A large body may be verified only now that it is there: who sends slowly holds up nobody.
fn complete(
    bytes: Bytes,
    arrived: Option<OwnedSemaphorePermit>,
    bounds: &Bounds<'_>,
) -> Result<Received, BodyError> {
    if bytes.len() <= LARGE_FROM {
        return Ok(Received { bytes, places: None });
    }
    let verifying = bounds.large.verify().ok_or(BodyError::Busy)?;
    Ok(Received { bytes, places: Some(Places { _arrived: arrived, _verifying: verifying }) })
}

async fn next_data(body: &mut Incoming) -> Result<Option<Bytes>, BodyError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(values: &[&'static str]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for value in values {
            map.append(CONTENT_TYPE, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn a_media_type_may_have_parameters_and_any_case() {
        for good in ["application/json", "Application/JSON ; charset=utf-8"] {
            assert!(has_content_type(&headers(&[good]), "application/json"), "{good}");
        }
    }

    #[test]
    fn another_missing_or_repeated_media_type_is_none() {
        for bad in [
            &[][..],
            &[""],
            &["text/json"],
            &["application/json5"],
            &["text/plain; application/json"],
            &["application/json", "application/json"],
        ] {
            assert!(!has_content_type(&headers(bad), "application/json"), "{bad:?}");
        }
    }
}
