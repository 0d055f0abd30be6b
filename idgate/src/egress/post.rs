//! Posts a webhook: one exchange, no redirects, and little more than the status of the answer.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{HOST, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response};
use url::Url;

use super::{Costs, Egress, EgressError, check_url, send, target_and_host};
use crate::limits::{MAX_RECEIVED_BYTES, MAX_RECEIVER_BODY_BYTES, WEBHOOK_CONNECT_TIME};

/// The kernel's receive buffer, for a peer that sends endlessly; Linux doubles it.
const RECEIVE_BUFFER: u32 = 16 * 1024;

/// Ports on which only HTTPS listens.
const HTTPS_PORTS: [u16; 2] = [443, 8443];

/// A message to post.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // written by callers
pub struct Post<'a> {
    /// The receiver's URL.
    pub url: &'a str,
    /// Names and values, in addition to HTTP's own headers.
    pub headers: &'a [(&'static str, String)],
    /// The body.
    pub body: &'a str,
}

/// The receiver's answer.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(clippy::exhaustive_structs)] // all that is kept of one
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its `Retry-After`, unparsed.
    pub retry_after: Option<String>,
}

impl Egress {
    /// Posts `message`. The caller sets the deadline, which also covers the answer's body.
    ///
    /// # Errors
    /// There is no answer, or the receiver may not be reached.
    pub async fn post(&self, message: Post<'_>) -> Result<Answer, EgressError> {
        let url = Url::parse(message.url).map_err(|_| EgressError::InvalidUrl)?;
        check_url(&url)?;
        let addresses = self.check(self.resolve(&url).await?)?;
        if !has_usual_port(&url)
            && !addresses.iter().all(|address| self.is_in_allowed(address.ip()))
        {
            return Err(EgressError::AddressBlocked);
        }
        let costs = Costs {
            connect_timeout: WEBHOOK_CONNECT_TIME,
            received: MAX_RECEIVED_BYTES,
            receive_buffer: Some(RECEIVE_BUFFER),
        };
        let request = request(&url, message)?;
        let stream = self.open(&url, &addresses, costs).await?;
        send(stream, request, read).await
    }
}

fn request(url: &Url, message: Post<'_>) -> Result<Request<Full<Bytes>>, EgressError> {
    let (target, host) = target_and_host(url);
    let request = Request::post(target)
        .header(HOST, host)
        .header(USER_AGENT, concat!("idgate/", env!("CARGO_PKG_VERSION")));
    let request =
        message.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
    let body = Full::new(Bytes::copy_from_slice(message.body.as_bytes()));
    request.body(body).map_err(|_| EgressError::InvalidUrl)
}

async fn read(response: Response<Incoming>) -> Result<Answer, EgressError> {
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let answer =
        Answer { status: response.status().as_u16(), retry_after: retry_after.map(str::to_owned) };
    let mut body = response.into_body();
    let mut read = 0_usize;
    // The status decides. An incomplete or endless body does not change the outcome.
    while let Some(Ok(frame)) = body.frame().await {
        read = read.saturating_add(frame.data_ref().map_or(0, Bytes::len));
        if read >= MAX_RECEIVER_BODY_BYTES {
            break;
        }
    }
    Ok(answer)
}

/// Whether `url` has a port of HTTPS, or HTTP's own port, on which nothing else listens.
pub fn has_usual_port(url: &Url) -> bool {
    let port = url.port_or_known_default();
    match url.scheme() {
        "http" => port == Some(80) || port.is_some_and(|port| HTTPS_PORTS.contains(&port)),
        _ => port.is_some_and(|port| HTTPS_PORTS.contains(&port)),
    }
}
