//! Reads request bodies within a size and a time limit. The declared length is checked before a
//! byte is read, the real one while the body arrives.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_TYPE;
use tokio::sync::Semaphore;

use super::admission::memory::{BodyMemory, Held, Part, Payer};
use super::admission::turns::TooMany;
use super::error::HttpError;
use super::head::only;
use crate::limits::LARGE_ANSWER_BYTES;
use idgate_base::clock::Clock;

/// The most memory that is taken at the start. For a longer body more is taken as it arrives, twice
/// as much each time.
const FIRST: usize = LARGE_ANSWER_BYTES;

/// A whole body.
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    /// The memory that the body holds until it is evaluated; drop it with the last copy of the
    /// body.
    pub(crate) held: Held,
}

/// The limits of a read: size, time and memory budget.
pub(crate) struct Bounds<'a> {
    pub(crate) bytes: usize,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) time: Duration,
    pub(crate) memory: &'a BodyMemory,
    pub(crate) payer: Payer,
    /// Permits to verify a large body.
    pub(crate) verifying: &'a Arc<Semaphore>,
}

/// Why a body was not read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum BodyError {
    /// It is, or declares to be, longer than the limit.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The connection broke, or the transfer coding is wrong.
    Broken,
    /// There is no memory for it now, too many large bodies are being verified, or its client has
    /// too many requests in progress.
    Busy,
    /// The key was revoked, rotated or expired while the body arrived.
    KeyGone,
}

impl From<TooMany> for BodyError {
    fn from(_: TooMany) -> Self {
        Self::Busy
    }
}

impl BodyError {
    /// The refusal where the limit is 64 KiB. It closes the connection, because the rest of the
    /// body is not read.
    pub(crate) fn refuse_64_kib(self) -> HttpError {
        let error = match self {
            Self::TooLarge => HttpError::invalid_request("the body is larger than 64 KiB"),
            Self::TooSlow => HttpError::invalid_request("the body did not arrive in time"),
            Self::Broken => HttpError::invalid_request("the body is incomplete"),
            Self::Busy => HttpError::temporarily_unavailable(),
            Self::KeyGone => HttpError::invalid_api_key(),
        };
        error.closing()
    }
}

/// Reads a whole body. Memory is taken before bytes are kept.
pub(crate) async fn read(body: Incoming, bounds: Bounds<'_>) -> Result<Received, BodyError> {
    let declared = body.size_hint();
    let least = usize::try_from(declared.lower()).unwrap_or(usize::MAX);
    if least > bounds.bytes {
        return Err(BodyError::TooLarge);
    }
    let longest = if declared.exact().is_some() { least } else { bounds.bytes };
    let mut room = Room { held: Held::default(), bytes: 0, longest };
    room.grow(FIRST, &bounds).await?;
    let read = bounds.clock.timeout(bounds.time, collect(body, room, &bounds));
    read.await.unwrap_or(Err(BodyError::TooSlow))
}

/// Whether the single `Content-Type` is `media_type`, with or without parameters.
pub(crate) fn has_content_type(headers: &HeaderMap, media_type: &str) -> bool {
    let essence = content_type(headers).and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(media_type))
}

/// The single `Content-Type`; `None` if it is missing, repeated or not text.
pub(crate) fn content_type(headers: &HeaderMap) -> Option<&str> {
    only(headers, &CONTENT_TYPE)
}

/// Refuses a body that is not declared as JSON.
pub(crate) fn check_is_json(headers: &HeaderMap) -> Result<(), HttpError> {
    match has_content_type(headers, "application/json") {
        true => Ok(()),
        false => Err(HttpError::invalid_request("Content-Type must be application/json")),
    }
}

/// The size for which memory was taken.
struct Room {
    held: Held,
    bytes: usize,
    /// The maximum that can be needed.
    longest: usize,
}

impl Room {
    /// Takes memory for `bytes` in total, capped at the longest possible body.
    async fn grow(&mut self, bytes: usize, bounds: &Bounds<'_>) -> Result<(), BodyError> {
        let bytes = bytes.min(self.longest);
        let more = bytes.saturating_sub(self.bytes);
        let part = if self.bytes == 0 { Part::Small } else { Part::Large };
        let taken = bounds.memory.take(more, part, &bounds.payer).await;
        self.held.and(taken.ok_or(BodyError::Busy)?);
        self.bytes = bytes;
        Ok(())
    }
}

async fn collect(
    mut body: Incoming,
    mut room: Room,
    bounds: &Bounds<'_>,
) -> Result<Received, BodyError> {
    let first = next_data(&mut body).await?.unwrap_or_default();
    if body.is_end_stream() && first.len() <= room.bytes {
        return complete(first, room.held, bounds);
    }
    let mut whole = BytesMut::with_capacity(room.bytes.max(first.len()));
    let mut next = Some(first);
    while let Some(data) = next {
        let length = whole.len().saturating_add(data.len());
        if length > bounds.bytes {
            return Err(BodyError::TooLarge);
        }
        if length > room.bytes {
            let bytes = room.bytes.saturating_mul(2).max(length);
            room.grow(bytes, bounds).await?;
            whole.reserve(room.bytes.saturating_sub(whole.len()));
        }
        whole.extend_from_slice(&data);
        next = next_data(&mut body).await?;
    }
    complete(whole.freeze(), room.held, bounds)
}

/// A permit for a large body is taken only once the body is complete, so that slow senders do not
/// block others.
fn complete(bytes: Bytes, mut held: Held, bounds: &Bounds<'_>) -> Result<Received, BodyError> {
    if bytes.len() > LARGE_ANSWER_BYTES {
        let verifying = bounds.verifying.clone();
        held.with(verifying.try_acquire_owned().map_err(|_| BodyError::Busy)?);
    }
    Ok(Received { bytes, held })
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
    fn a_media_type_may_have_parameters_and_is_case_insensitive() {
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
