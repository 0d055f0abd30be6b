//! Outgoing HTTP: one parser, one resolution, every address checked, and the connection goes to a
//! checked address and nowhere else. No proxies, no reuse of connections, no decompression.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

use std::fmt;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_ENCODING, HOST, LOCATION, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use url::{Host, Position, Url};

use super::address::is_public;
use super::tls;
use crate::config::Cidr;

/// Far more than any server of lists sends.
const MAX_HEADERS: usize = 100;
/// For the head of an answer.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// A source that moved has moved once; a loop ends here.
const MAX_REDIRECTS: usize = 3;
/// For one address, so that a dead one leaves time for the next.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1500);

/// Why an exchange came to nothing. A fixed vocabulary: nothing of the remote's own words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EgressError {
    /// No URL that may be asked.
    InvalidUrl,
    /// The name has no address.
    DnsFailed,
    /// An address is not public and not allowed.
    AddressBlocked,
    /// No address takes the connection.
    ConnectFailed,
    /// No TLS with a certificate for the name.
    TlsFailed,
    /// The answer is not HTTP, is cut off, or its head is too large.
    Broken,
    /// Another status than 200.
    Status(u16),
    /// A redirect to another host, from https to http, or one too many.
    RedirectRefused,
    /// The body is encoded, and nobody asked for that.
    Encoded,
    /// The body is too large.
    TooLarge,
}

impl fmt::Display for EgressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidUrl => "invalid_url",
            Self::DnsFailed => "dns_failed",
            Self::AddressBlocked => "address_blocked",
            Self::ConnectFailed => "connect_failed",
            Self::TlsFailed => "tls_failed",
            Self::Broken => "broken_answer",
            Self::Status(status) => return write!(f, "http_status_{status}"),
            Self::RedirectRefused => "redirect_refused",
            Self::Encoded => "content_encoding",
            Self::TooLarge => "too_large",
        })
    }
}

/// The way out of the gateway.
pub struct Egress {
    /// Ranges that may be reached besides public ones.
    allowed: Vec<Cidr>,
    /// The gateway's own listener, which is never reached.
    own: Option<SocketAddr>,
    tls: TlsConnector,
}

/// What one exchange came to.
enum Outcome {
    Body(Bytes),
    Redirect(Url),
}

impl Egress {
    /// A way out to public addresses and those in `allowed`, over TLS with the system's roots and
    /// those in `extra_ca_file`.
    ///
    /// # Errors
    /// The file cannot be used; the text says what to do.
    pub fn new(allowed: Vec<Cidr>, extra_ca_file: Option<&Path>) -> Result<Self, String> {
        Ok(Self { allowed, own: None, tls: tls::connector(extra_ca_file)? })
    }

    /// With the gateway's own listener, to be refused whatever is allowed.
    #[must_use]
    pub fn avoiding(mut self, own: SocketAddr) -> Self {
        self.own = Some(own);
        self
    }

    /// Gets the body at `url`, of at most `limit` bytes. The caller sets the deadline.
    ///
    /// # Errors
    /// There is none, or it may not be asked for.
    pub async fn get(&self, url: &str, accept: &str, limit: usize) -> Result<Bytes, EgressError> {
        let mut url = Url::parse(url).map_err(|_| EgressError::InvalidUrl)?;
        for _ in 0..=MAX_REDIRECTS {
            match self.exchange(&url, accept, limit).await? {
                Outcome::Body(bytes) => return Ok(bytes),
                Outcome::Redirect(next) => url = next,
            }
        }
        Err(EgressError::RedirectRefused)
    }

    async fn exchange(
        &self,
        url: &Url,
        accept: &str,
        limit: usize,
    ) -> Result<Outcome, EgressError> {
        check_url(url)?;
        let addresses = self.check(resolve(url).await?)?;
        let stream = connect(&addresses).await?;
        let request = request(url, accept)?;
        if url.scheme() == "http" {
            return send(stream, request, |response| read(response, url, limit)).await;
        }
        let name = server_name(url)?;
        let stream = self.tls.connect(name, stream).await.map_err(|_| EgressError::TlsFailed)?;
        send(stream, request, |response| read(response, url, limit)).await
    }

    /// All of them or none: a mixed answer is what a rebinding attack looks like.
    fn check(&self, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, EgressError> {
        if addresses.is_empty() {
            return Err(EgressError::DnsFailed);
        }
        match addresses.iter().all(|address| self.may_reach(*address)) {
            true => Ok(addresses),
            false => Err(EgressError::AddressBlocked),
        }
    }

    fn may_reach(&self, address: SocketAddr) -> bool {
        let ip = address.ip();
        let allowed = || self.allowed.iter().any(|range| range.contains(ip));
        (is_public(ip) || allowed()) && !self.is_own(address)
    }

    fn is_own(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        // A listener on the unspecified address is on loopback as well, and a connection to the
        // unspecified address goes there.
        let local = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
        self.own.is_some_and(|own| {
            let own_ip = own.ip().to_canonical();
            own.port() == address.port() && (own_ip == ip || (local(own_ip) && local(ip)))
        })
    }
}

fn check_url(url: &Url) -> Result<(), EgressError> {
    let plain = url.username().is_empty() && url.password().is_none();
    match url.scheme() {
        "http" | "https" if plain && url.host().is_some() => Ok(()),
        _ => Err(EgressError::InvalidUrl),
    }
}

/// The one resolution of an exchange.
async fn resolve(url: &Url) -> Result<Vec<SocketAddr>, EgressError> {
    let port = url.port_or_known_default().ok_or(EgressError::InvalidUrl)?;
    match url.host().ok_or(EgressError::InvalidUrl)? {
        Host::Ipv4(address) => Ok(vec![(address, port).into()]),
        Host::Ipv6(address) => Ok(vec![(address, port).into()]),
        Host::Domain(name) => {
            let found = tokio::net::lookup_host((name, port)).await;
            Ok(found.map_err(|_| EgressError::DnsFailed)?.collect())
        }
    }
}

/// To the first of the checked addresses that answers.
async fn connect(checked: &[SocketAddr]) -> Result<TcpStream, EgressError> {
    for address in checked {
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await;
        if let Ok(Ok(stream)) = connected {
            return Ok(stream);
        }
    }
    Err(EgressError::ConnectFailed)
}

fn server_name(url: &Url) -> Result<ServerName<'static>, EgressError> {
    match url.host().ok_or(EgressError::InvalidUrl)? {
        Host::Ipv4(address) => Ok(IpAddr::V4(address).into()),
        Host::Ipv6(address) => Ok(IpAddr::V6(address).into()),
        Host::Domain(name) => {
            ServerName::try_from(name.to_owned()).map_err(|_| EgressError::InvalidUrl)
        }
    }
}

fn request(url: &Url, accept: &str) -> Result<Request<Empty<Bytes>>, EgressError> {
    Request::get(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(ACCEPT, accept)
        .header(USER_AGENT, "idgate")
        .body(Empty::new())
        .map_err(|_| EgressError::InvalidUrl)
}

/// One request over `stream`, and what `read` makes of the answer.
async fn send<S, F>(
    stream: S,
    request: Request<Empty<Bytes>>,
    read: impl FnOnce(Response<Incoming>) -> F,
) -> Result<Outcome, EgressError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    F: Future<Output = Result<Outcome, EgressError>>,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| EgressError::Broken)?;
    // Ends with this exchange, however that ends.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let response = sender.send_request(request).await.map_err(|_| EgressError::Broken)?;
    read(response).await
}

async fn read(
    response: Response<Incoming>,
    url: &Url,
    limit: usize,
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
    collect(response.into_body(), limit).await.map(Outcome::Body)
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

async fn collect(mut body: Incoming, limit: usize) -> Result<Bytes, EgressError> {
    if usize::try_from(body.size_hint().lower()).is_ok_and(|declared| declared > limit) {
        return Err(EgressError::TooLarge);
    }
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| EgressError::Broken)?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len().saturating_add(data.len()) > limit {
            return Err(EgressError::TooLarge);
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}
