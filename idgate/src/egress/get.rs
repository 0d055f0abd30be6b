//! Fetches a status list, a CRL or a trusted list. It follows redirects, and checks each of them.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HOST, LOCATION, USER_AGENT};
use hyper::{Request, Response};
use idgate_core::limits::MAX_XML_LIST_BYTES;
use url::Url;

use super::collect::{Coding, collect};
use super::room::{Body, Room};
use super::{Costs, Egress, EgressError, check_url, send, target_and_host};
use crate::limits::{FETCH_CONNECT_TIME, MAX_FETCH_OVERHEAD_BYTES, MAX_REDIRECTS};
use crate::requests::Requests;

/// One request, repeated at each address that a redirect leads to.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// One media type; `None`: any.
    pub(crate) accept: Option<&'a str>,
    /// The longest body, in bytes.
    pub(crate) limit: usize,
    /// The memory for a large body.
    pub(crate) room: &'a Room,
    /// The requests that are left; each redirect takes one.
    pub(crate) requests: &'a Requests,
}

/// The outcome of one exchange.
enum Outcome {
    Body(Body),
    Redirect(Url),
}

impl Egress {
    /// Fetches the body at `url`, of at most `limit` bytes after inflation, for which there must be
    /// `room`. `accept` is one media type, because some hosts compare the whole header. Follows up
    /// to three redirects. The caller sets the deadline for the whole fetch.
    ///
    /// # Errors
    /// There is none, or it may not be requested.
    pub async fn fetch(
        &self,
        url: &str,
        accept: &str,
        limit: usize,
        room: &Room,
    ) -> Result<Body, EgressError> {
        let requests = &Requests::of(MAX_REDIRECTS);
        self.fetch_wanted(url, Wanted { accept: Some(accept), limit, room, requests }).await
    }

    /// Fetches the trusted list at `url`, only over https, whatever its media type. Follows up to
    /// three redirects. The caller sets the deadline.
    ///
    /// # Errors
    /// There is none, or it may not be requested.
    pub async fn fetch_list(&self, url: &str, room: &Room) -> Result<Body, EgressError> {
        if Url::parse(url).is_ok_and(|url| url.scheme() != "https") {
            return Err(EgressError::InvalidUrl);
        }
        let (limit, requests) = (MAX_XML_LIST_BYTES, &Requests::of(MAX_REDIRECTS));
        self.fetch_wanted(url, Wanted { accept: None, limit, room, requests }).await
    }

    /// Fetches `wanted` from `url`. The caller counts the first request.
    pub(crate) async fn fetch_wanted(
        &self,
        url: &str,
        wanted: Wanted<'_>,
    ) -> Result<Body, EgressError> {
        let first = Url::parse(url).map_err(|_| EgressError::InvalidUrl)?;
        let mut url = first.clone();
        let fetched = self.follow(&mut url, wanted).await;
        if let (Err(error), Some(to)) = (&fetched, url.host_str())
            && url.host() != first.host()
        {
            // Logs only the hosts, because a path may identify a credential.
            let host = first.host_str().unwrap_or_default();
            tracing::warn!(host, to, %error, "a redirect led to nothing");
        }
        fetched
    }

    /// The body at `url`, following redirects. Afterwards `url` is the last address that was asked.
    async fn follow(&self, url: &mut Url, wanted: Wanted<'_>) -> Result<Body, EgressError> {
        check_url(url)?;
        let mut addresses = self.check(self.resolve(url).await?)?;
        for _ in 0..MAX_REDIRECTS {
            let next = match self.exchange(url, &addresses, wanted).await? {
                Outcome::Body(body) => return Ok(body),
                Outcome::Redirect(next) => next,
            };
            check_url(&next)?;
            if !wanted.requests.take() {
                return Err(EgressError::NoRequestLeft);
            }
            *url = next;
            addresses = self.check_hop(&addresses, self.resolve(url).await?)?;
        }
        match self.exchange(url, &addresses, wanted).await? {
            Outcome::Body(body) => Ok(body),
            Outcome::Redirect(_) => Err(EgressError::TooManyRedirects),
        }
    }

    /// Sends one request to one of `addresses`, which were checked.
    async fn exchange(
        &self,
        url: &Url,
        addresses: &[SocketAddr],
        wanted: Wanted<'_>,
    ) -> Result<Outcome, EgressError> {
        // Chunks of a few bytes double the number of bytes.
        let received = wanted.limit.saturating_mul(2).saturating_add(MAX_FETCH_OVERHEAD_BYTES);
        let costs = Costs {
            connect_timeout: FETCH_CONNECT_TIME,
            received: u64::try_from(received).unwrap_or(u64::MAX),
            receive_buffer: None,
        };
        let stream = self.open(url, addresses, costs).await?;
        let request = request(url, wanted.accept)?;
        send(stream, request, |response| read(response, url, wanted)).await
    }
}

/// The request. It is the same at every address: only the `Location` of an answer affects the next
/// request.
fn request(url: &Url, accept: Option<&str>) -> Result<Request<Empty<Bytes>>, EgressError> {
    let (target, host) = target_and_host(url);
    let mut request = Request::get(target)
        .header(HOST, host)
        .header(ACCEPT_ENCODING, "gzip")
        .header(USER_AGENT, "idgate");
    if let Some(accept) = accept {
        request = request.header(ACCEPT, accept);
    }
    request.body(Empty::new()).map_err(|_| EgressError::InvalidUrl)
}

async fn read(
    response: Response<Incoming>,
    url: &Url,
    wanted: Wanted<'_>,
) -> Result<Outcome, EgressError> {
    match response.status().as_u16() {
        // 204 has no body, and 206 has a part of one.
        status @ (204 | 206) => return Err(EgressError::Status(status)),
        200..=299 => {}
        301 | 302 | 303 | 307 | 308 => return target(&response, url).map(Outcome::Redirect),
        status => return Err(EgressError::Status(status)),
    }
    let coding = Coding::of(response.headers())?;
    collect(response.into_body(), coding, wanted.limit, wanted.room).await.map(Outcome::Body)
}

/// The target of a redirect: another address that may be requested, and not from TLS to plain http.
fn target(response: &Response<Incoming>, from: &Url) -> Result<Url, EgressError> {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let to = location.and_then(|location| from.join(location).ok());
    let to = to.ok_or(EgressError::RedirectRefused)?;
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => Ok(to),
        _ => Err(EgressError::RedirectRefused),
    }
}
