//! Reads a body, compressed or not, up to its limit, and counts the memory of large bodies.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body as _, Incoming};
use hyper::header::CONTENT_ENCODING;
use tokio::task::yield_now;

use super::EgressError;
use super::gzip::Gzip;
use super::room::{Body, Room, Taken};
use crate::limits::SMALL_BODY_BYTES;

/// The content coding of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Coding {
    Identity,
    Gzip,
}

impl Coding {
    /// The coding in `headers`: none, or a requested one, in upper or lower case (RFC 9110 8.4).
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, EgressError> {
        let mut coding = Self::Identity;
        for value in headers.get_all(CONTENT_ENCODING) {
            let value = value.to_str().map_err(|_| EgressError::Encoded)?;
            for name in value.split(',').map(str::trim) {
                let is_gzip = ["gzip", "x-gzip"].iter().any(|it| name.eq_ignore_ascii_case(it));
                coding = match coding {
                    _ if name.is_empty() || name.eq_ignore_ascii_case("identity") => coding,
                    Self::Identity if is_gzip => Self::Gzip,
                    _ => return Err(EgressError::Encoded),
                };
            }
        }
        Ok(coding)
    }
}

/// The decoded body, of at most `limit` bytes.
pub(super) async fn collect(
    mut body: Incoming,
    coding: Coding,
    limit: usize,
    room: &Room,
) -> Result<Body, EgressError> {
    let declared = body.size_hint();
    let least = usize::try_from(declared.lower()).unwrap_or(usize::MAX);
    let mut longest = limit;
    if coding == Coding::Identity {
        if least > limit {
            return Err(EgressError::TooLarge);
        }
        if declared.exact().is_some() {
            longest = least;
        }
    }
    let mut whole = Whole::new(limit, longest, room);
    let mut gzip = (coding == Coding::Gzip).then(Gzip::new);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| EgressError::Broken)?;
        let Ok(data) = frame.into_data() else { continue };
        match &mut gzip {
            Some(gzip) => inflate(gzip, &data, &mut whole).await?,
            None => whole.add(&data)?,
        }
    }
    gzip.map_or(Ok(()), |gzip| gzip.end())?;
    whole.into_body()
}

async fn inflate(gzip: &mut Gzip, data: &Bytes, whole: &mut Whole<'_>) -> Result<(), EgressError> {
    let mut rest: &[u8] = data;
    while !rest.is_empty() || gzip.has_more() {
        let (read, part) = gzip.step(rest)?;
        whole.add(part)?;
        rest = rest.get(read..).unwrap_or_default();
        // A few bytes may take long to inflate, and other tasks wait for this thread.
        yield_now().await;
    }
    Ok(())
}

/// The part of a body that was received so far.
struct Whole<'r> {
    bytes: BytesMut,
    limit: usize,
    /// The largest possible length.
    longest: usize,
    room: &'r Room,
    held: Vec<Taken>,
    /// The number of bytes for which memory is reserved.
    taken: usize,
}

impl<'r> Whole<'r> {
    fn new(limit: usize, longest: usize, room: &'r Room) -> Self {
        let (bytes, held) = (BytesMut::new(), Vec::new());
        Self { bytes, limit, longest, room, held, taken: SMALL_BODY_BYTES }
    }

    fn add(&mut self, data: &[u8]) -> Result<(), EgressError> {
        let length = self.bytes.len().saturating_add(data.len());
        if length > self.limit {
            return Err(EgressError::TooLarge);
        }
        if length > self.taken {
            // Doubles each time, so that a slow sender does not reserve memory that others need.
            let enough = length.max(self.taken.saturating_mul(2)).min(self.longest.max(length));
            // The body is no longer small, so it reserves memory now.
            let before = if self.held.is_empty() { 0 } else { self.taken };
            self.held.push(self.room.take(enough.saturating_sub(before))?);
            self.taken = enough;
            self.bytes.reserve(enough.saturating_sub(self.bytes.len()));
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }

    fn into_body(self) -> Result<Body, EgressError> {
        match self.bytes.is_empty() {
            true => Err(EgressError::NoBody),
            false => Ok(Body { bytes: self.bytes.freeze(), _room: self.held }),
        }
    }
}
