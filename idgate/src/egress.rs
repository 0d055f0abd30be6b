//! Outgoing HTTP: one parser, one resolution, every address checked, and the connection goes to a
//! checked address and nowhere else. No proxies, no reuse of connections.

mod collect;
mod get;
mod gzip;
mod post;
mod resolve;
mod room;
mod stream;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body as HttpBody, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use url::{Host, Position, Url};

pub(crate) use self::get::Wanted;
pub use self::post::{Answer, Post, has_usual_port};
use self::resolve::{Kept, Resolve};
#[cfg(any(test, feature = "internals"))]
use self::resolve::{LookUp, OnThread};
pub use self::room::{Body, Room};
use self::stream::{Capped, Stream};
use crate::address::is_public;
use crate::limits::{LOOKUPS, MAX_ANSWER_HEAD_BYTES, MAX_ANSWER_HEADERS};
use crate::own_fault::{self, Refusal, Shortage};
use crate::range::Cidr;
use crate::tls::{self, UnusableRoots};

/// Why an exchange failed. The vocabulary is fixed, and contains nothing that the remote sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EgressError {
    /// The URL is invalid or may not be requested.
    InvalidUrl,
    /// The name has no address.
    DnsFailed,
    /// An address is not public and not allowed.
    AddressBlocked,
    /// No address accepts the connection.
    ConnectFailed,
    /// There is no TLS with a valid certificate for the name.
    TlsFailed,
    /// The answer is not HTTP, is cut off, or its head is too large.
    Broken,
    /// A status without a usable body: not a 2xx status, or 204 or 206.
    Status(u16),
    /// The answer has no body.
    NoBody,
    /// A redirect without a usable target, or from https to http.
    RedirectRefused,
    /// A redirect to an address that is not public and not allowed, or from a public address to one that is
    /// not public.
    RedirectBlocked,
    /// A redirect after the third one.
    TooManyRedirects,
    /// The wallet's answer has used up its requests.
    NoRequestLeft,
    /// The body has a content coding other than `gzip`, or more than one.
    Encoded,
    /// The body is not one whole `gzip` member.
    BadCoding,
    /// Something follows the body's `gzip` member.
    TrailingBytes,
    /// The body is too large.
    TooLarge,
    /// This machine lacks something that a connection needs: a file descriptor, memory, a port, a
    /// route, or a thread for a name look-up.
    OwnFault,
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
            Self::NoBody => "no_body",
            Self::RedirectRefused => "redirect_refused",
            Self::RedirectBlocked => "redirect_blocked",
            Self::TooManyRedirects => "too_many_redirects",
            Self::NoRequestLeft => "no_request_left",
            Self::Encoded => "content_encoding",
            Self::BadCoding => "bad_gzip",
            Self::TrailingBytes => "bytes_after_gzip",
            Self::TooLarge => "too_large",
            Self::OwnFault => "own_fault",
        })
    }
}

/// The way to outgoing connections, with its restrictions.
#[derive(Clone)]
pub struct Egress {
    /// Ranges that may be reached in addition to public addresses.
    allowed: Vec<Cidr>,
    /// The gateway's own listener, which must never be reached.
    own: Option<SocketAddr>,
    tls: TlsConnector,
    trusts_any: bool,
    resolver: Arc<dyn Resolve>,
    /// The caller's permit, held for as long as a name is looked up.
    turn: Option<Kept>,
    /// The limit for look-ups without a permit, shared with all copies.
    lookups: Arc<Semaphore>,
    descriptors: &'static Shortage,
}

/// The limits of a connection.
#[derive(Clone, Copy)]
struct Costs {
    /// The time for one address, so that a dead one leaves time for the next.
    connect_timeout: Duration,
    /// Bytes read from the socket in total, TLS included.
    received: u64,
    /// The size of the kernel's receive buffer; `None`: the default.
    receive_buffer: Option<u32>,
}

impl Egress {
    /// Connects to public addresses and to those in `allowed`. TLS trusts the system's roots and
    /// those in `extra_roots`, which are certificates in PEM.
    ///
    /// # Errors
    /// The roots cannot be used; the message says what to do.
    pub fn new(allowed: Vec<Cidr>, extra_roots: Option<&[u8]>) -> Result<Self, UnusableRoots> {
        let (tls, trusts_any) = tls::connector(extra_roots)?;
        let (resolver, descriptors) = (resolve::of_the_system(), &own_fault::DESCRIPTORS);
        let (own, turn, lookups) = (None, None, Arc::new(Semaphore::new(LOOKUPS)));
        Ok(Self { allowed, own, tls, trusts_any, resolver, turn, lookups, descriptors })
    }

    /// Another value with the same TLS roots, for public addresses and those in `allowed`.
    #[must_use]
    pub fn sibling(&self, allowed: Vec<Cidr>) -> Self {
        let lookups = Arc::new(Semaphore::new(LOOKUPS));
        Self { allowed, lookups, turn: None, ..self.clone() }
    }

    /// The same for a caller that holds a permit. A name look-up keeps the permit until its end,
    /// even after the caller's time is over, because it cannot be cancelled and occupies a thread.
    #[must_use]
    pub fn keeping(&self, turn: Arc<dyn Any + Send + Sync>) -> Self {
        Self { turn: Some(turn), ..self.clone() }
    }

    /// Whether there is any root. Without one, https is not possible.
    pub fn trusts_any(&self) -> bool {
        self.trusts_any
    }

    /// Sets the gateway's own listener, which is refused whatever is allowed.
    #[must_use]
    pub fn avoiding(mut self, own: SocketAddr) -> Self {
        self.own = Some(own);
        self
    }

    /// Whether `url` leads only to addresses in the additionally allowed ranges, and not to the
    /// gateway itself.
    pub async fn is_allowed_explicitly(&self, url: &Url) -> bool {
        if self.allowed.is_empty() {
            return false;
        }
        let addresses = self.resolve(url).await.and_then(|found| self.check(found));
        addresses.is_ok_and(|all| all.iter().all(|address| self.is_in_allowed(address.ip())))
    }

    /// A connection to one of `checked`, with TLS if the URL says so.
    async fn open(
        &self,
        url: &Url,
        checked: &[SocketAddr],
        costs: Costs,
    ) -> Result<Box<dyn Stream>, EgressError> {
        let stream = Capped::new(self.connect(checked, costs).await?, costs.received);
        if url.scheme() == "http" {
            return Ok(Box::new(stream));
        }
        let name = server_name(url)?;
        let stream = self.tls.connect(name, stream).await.map_err(|_| EgressError::TlsFailed)?;
        Ok(Box::new(stream))
    }

    /// The only name resolution of an exchange.
    async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, EgressError> {
        let port = url.port_or_known_default().ok_or(EgressError::InvalidUrl)?;
        match url.host().ok_or(EgressError::InvalidUrl)? {
            Host::Ipv4(address) => Ok(vec![(address, port).into()]),
            Host::Ipv6(address) => Ok(vec![(address, port).into()]),
            Host::Domain(name) => {
                let found = self.resolver.resolve(name, port, self.turn_to_look_up()?).await;
                // A resolver without descriptors reports only that it failed, and there may be
                // descriptors again by now.
                found.map_err(|error| {
                    match self.descriptors.observe(&error) || self.descriptors.is_felt() {
                        true => EgressError::OwnFault,
                        false => EgressError::DnsFailed,
                    }
                })
            }
        }
    }

    fn turn_to_look_up(&self) -> Result<Kept, EgressError> {
        let Some(turn) = &self.turn else {
            let one = self.lookups.clone().try_acquire_owned();
            return Ok(Arc::new(one.map_err(|_| EgressError::OwnFault)?));
        };
        Ok(turn.clone())
    }

    /// Connects to the first checked address that answers.
    async fn connect(
        &self,
        checked: &[SocketAddr],
        costs: Costs,
    ) -> Result<TcpStream, EgressError> {
        let mut refusals = Vec::with_capacity(checked.len());
        for address in checked {
            let connecting = async {
                let socket = socket_for(*address, costs.receive_buffer)?;
                socket.connect(*address).await
            };
            refusals.push(match tokio::time::timeout(costs.connect_timeout, connecting).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => {
                    self.descriptors.observe(&error);
                    Refusal::of(&error, *address)
                }
                Err(_late) => Refusal::Theirs,
            });
        }
        match Refusal::is_own(&refusals) {
            true => Err(EgressError::OwnFault),
            false => Err(EgressError::ConnectFailed),
        }
    }

    /// Accepts all addresses or none, because a mixed answer may be a DNS rebinding attack.
    fn check(&self, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, EgressError> {
        if addresses.is_empty() {
            return Err(EgressError::DnsFailed);
        }
        match addresses.iter().all(|address| self.may_reach(*address)) {
            true => Ok(addresses),
            false => Err(EgressError::AddressBlocked),
        }
    }

    /// The same for the target of a redirect. A host on the public internet must not redirect a
    /// request into a network that is merely allowed.
    fn check_hop(
        &self,
        from: &[SocketAddr],
        to: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, EgressError> {
        let all = self.check(to).map_err(|error| match error {
            EgressError::AddressBlocked => EgressError::RedirectBlocked,
            error => error,
        })?;
        let is_of_public = from.iter().any(|address| is_public(address.ip()));
        match is_of_public && !all.iter().all(|address| is_public(address.ip())) {
            true => Err(EgressError::RedirectBlocked),
            false => Ok(all),
        }
    }

    fn may_reach(&self, address: SocketAddr) -> bool {
        let ip = address.ip();
        (is_public(ip) || self.is_in_allowed(ip)) && !self.is_own(address)
    }

    fn is_in_allowed(&self, ip: IpAddr) -> bool {
        self.allowed.iter().any(|range| range.contains(ip))
    }

    fn is_own(&self, address: SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        // A connection to the unspecified address goes to loopback.
        let loopback = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
        self.own.is_some_and(|own| {
            let own_ip = own.ip().to_canonical();
            let same = own_ip == ip || (loopback(own_ip) && loopback(ip));
            // A listener on the unspecified address is on every address of the machine.
            let everywhere = own_ip.is_unspecified();
            own.port() == address.port() && (same || (everywhere && is_of_this_machine(ip)))
        })
    }
}

#[cfg(any(test, feature = "internals"))]
impl Egress {
    /// The same value with `look_up` as its resolver.
    pub(crate) fn looking_up(self, look_up: impl LookUp) -> Self {
        Self { resolver: Arc::new(OnThread(look_up)), ..self }
    }
}

/// Whether `ip` is an address of this machine: only these can be bound.
fn is_of_this_machine(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

fn check_url(url: &Url) -> Result<(), EgressError> {
    let plain = url.username().is_empty() && url.password().is_none();
    match url.scheme() {
        "http" | "https" if plain && url.host().is_some() => Ok(()),
        _ => Err(EgressError::InvalidUrl),
    }
}

fn socket_for(address: SocketAddr, receive_buffer: Option<u32>) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    if let Some(size) = receive_buffer {
        socket.set_recv_buffer_size(size)?;
    }
    Ok(socket)
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

/// The values of the request line and of `Host`.
fn target_and_host(url: &Url) -> (&str, &str) {
    let target = &url[Position::BeforePath..Position::AfterQuery];
    (target, &url[Position::BeforeHost..Position::AfterPort])
}

/// Sends one request over `stream`, and returns what `read` makes of the answer.
async fn send<B, T, F>(
    stream: Box<dyn Stream>,
    request: Request<B>,
    read: impl FnOnce(Response<Incoming>) -> F,
) -> Result<T, EgressError>
where
    B: HttpBody<Data = bytes::Bytes, Error = std::convert::Infallible> + Send + 'static,
    F: Future<Output = Result<T, EgressError>>,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(MAX_ANSWER_HEADERS)
        .max_buf_size(MAX_ANSWER_HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| EgressError::Broken)?;
    // The driver ends with this exchange, however that ends.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let response = sender.send_request(request).await.map_err(|_| EgressError::Broken)?;
    read(response).await
}
