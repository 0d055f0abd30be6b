//! Getting a status list or a CRL: redirects stay on the host, and each is checked again.

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, CONTENT_ENCODING, HOST, LOCATION, USER_AGENT};
use hyper::{Request, Response};
use idgate_core::limits::MAX_TRUSTED_LIST_BYTES;
use url::Url;

use super::room::{Body, Room};
use super::{Costs, Egress, EgressError, check_url, send, target_and_host};
use crate::limits::{
    FETCH_CONNECT_TIME, MAX_FETCH_OVERHEAD_BYTES, MAX_REDIRECTS, SMALL_BODY_BYTES,
};

/// What one exchange came to.
enum Outcome {
    Body(Body),
    Redirect(Url),
}

impl Egress {
    /// Fetches the body at `url`, of at most `limit` bytes, for which there must be room. The caller
    /// sets the deadline.
    ///
    /// # Errors
    /// There is none, or it may not be asked for.
    pub async fn fetch(
        &self,
        url: &str,
        accept: &str,
        limit: usize,
        room: &Room,
    ) -> Result<Body, EgressError> {
        let mut url = Url::parse(url).map_err(|_| EgressError::InvalidUrl)?;
        for _ in 0..=MAX_REDIRECTS {
            match self.exchange(&url, accept, limit, room).await? {
                Outcome::Body(body) => return Ok(body),
                Outcome::Redirect(next) => url = next,
            }
        }
        Err(EgressError::RedirectRefused)
    }

    /// Fetches the trusted list at `url`: over https alone, at most one redirect.
    ///
    /// # Errors
    /// There is none, or it may not be asked for.
    pub async fn fetch_list(&self, url: &str, room: &Room) -> Result<Body, EgressError> {
        let url = Url::parse(url).map_err(|_| EgressError::InvalidUrl)?;
        if url.scheme() != "https" {
            return Err(EgressError::InvalidUrl);
        }
        let limit = MAX_TRUSTED_LIST_BYTES;
        match self.exchange(&url, "*/*", limit, room).await? {
            Outcome::Body(body) => Ok(body),
            Outcome::Redirect(next) => match self.exchange(&next, "*/*", limit, room).await? {
                Outcome::Body(body) => Ok(body),
                Outcome::Redirect(_) => Err(EgressError::RedirectRefused),
            },
        }
    }

    async fn exchange(
        &self,
        url: &Url,
        accept: &str,
        limit: usize,
        room: &Room,
    ) -> Result<Outcome, EgressError> {
        check_url(url)?;
        let addresses = self.check(self.resolve(url).await?)?;
        // Chunks of a few bytes cost as much again as what they carry.
        let received = limit.saturating_mul(2).saturating_add(MAX_FETCH_OVERHEAD_BYTES);
        let costs = Costs {
            connect_timeout: FETCH_CONNECT_TIME,
            received: u64::try_from(received).unwrap_or(u64::MAX),
            receive_buffer: None,
        };
        let stream = self.open(url, &addresses, costs).await?;
        send(stream, request(url, accept)?, |response| read(response, url, limit, room)).await
    }
}

fn request(url: &Url, accept: &str) -> Result<Request<Empty<Bytes>>, EgressError> {
    let (target, host) = target_and_host(url);
    Request::get(target)
        .header(HOST, host)
        .header(ACCEPT, accept)
        .header(USER_AGENT, "idgate")
        .body(Empty::new())
        .map_err(|_| EgressError::InvalidUrl)
}

async fn read(
    response: Response<Incoming>,
    url: &Url,
    limit: usize,
    room: &Room,
) -> Result<Outcome, EgressError> {
    match response.status().as_u16() {
        200 => {}
        301 | 302 | 303 | 307 | 308 => return follow(&response, url).map(Outcome::Redirect),
        status => return Err(EgressError::Status(status)),
    }
    let encodings = response.headers().get_all(CONTENT_ENCODING).iter();
    if encodings.into_iter().any(|encoding| encoding != "identity") {
        return Err(EgressError::Encoded);
    }
    collect(response.into_body(), limit, room).await.map(Outcome::Body)
}

/// Where a redirect leads: to the same host, and not away from TLS.
fn follow(response: &Response<Incoming>, from: &Url) -> Result<Url, EgressError> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let to = location.and_then(|location| from.join(location).ok());
    let to = to.ok_or(EgressError::RedirectRefused)?;
    let weaker = from.scheme() == "https" && to.scheme() != "https";
    match to.host() == from.host() && !weaker {
        true => Ok(to),
        false => Err(EgressError::RedirectRefused),
    }
}

async fn collect(mut body: Incoming, limit: usize, room: &Room) -> Result<Body, EgressError> {
    let declared = body.size_hint();
    let least = usize::try_from(declared.lower()).unwrap_or(usize::MAX);
    if least > limit {
        return Err(EgressError::TooLarge);
    }
    let longest = if declared.exact().is_some() { least } else { limit };
    let (mut held, mut taken) = (Vec::new(), SMALL_BODY_BYTES);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| EgressError::Broken)?;
        let Ok(data) = frame.into_data() else { continue };
        let length = whole.len().saturating_add(data.len());
        if length > limit {
            return Err(EgressError::TooLarge);
        }
        if length > taken {
            // Twice as much each time: who sends slowly keeps no room from others.
            let enough = length.max(taken.saturating_mul(2)).min(longest.max(length));
            // What was small so far takes its room now.
            let before = if held.is_empty() { 0 } else { taken };
            held.push(room.take(enough.saturating_sub(before))?);
            taken = enough;
            whole.reserve(enough.saturating_sub(whole.len()));
        }
        whole.extend_from_slice(&data);
    }
    Ok(Body { bytes: whole.freeze(), _room: held })
}
