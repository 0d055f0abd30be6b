//! Outgoing HTTP: one parser, one resolution, every address checked, and a connection only to a
//! checked address. Proxies are not used, and connections are not reused.

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

/// The reason why an exchange failed. A fixed set of causes, without text from the remote side.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EgressError {
    /// The URL is invalid or not allowed.
    InvalidUrl,
    /// The name has no address.
    DnsFailed,
    /// An address is not public and not allowed.
    AddressBlocked,
    /// No address accepts the connection.
    ConnectFailed,
    /// There is no TLS with a certificate for the name.
    TlsFailed,
    /// The answer is not HTTP, is cut off, or its head is too large.
    Broken,
    /// A status without a usable body where one was requested: not 2xx, or 204 or 206.
    Status(u16),
    /// The answer has no body.
    NoBody,
    /// A redirect without a usable target, or one from https to http.
    RedirectRefused,
    /// A redirect to an address that is neither public nor allowed, or from a public address to one
    /// that is not public.
    RedirectBlocked,
    /// A redirect after the third one.
    TooManyRedirects,
    /// The wallet's answer has caused as many requests as it may.
    NoRequestLeft,
    /// The body has another content coding than `gzip`, or more than one.
    Encoded,
    /// The body is not one whole `gzip` member.
    BadCoding,
    /// There are bytes after the body's `gzip` member.
    TrailingBytes,
    /// The body is too large.
    TooLarge,
    /// The gateway itself lacks a resource for the connection: a file descriptor, memory, a port, a
    /// route, a thread to look a name up on.
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

/// Guarded outgoing HTTP connections.
#[derive(Clone)]
pub struct Egress {
    /// Allowed ranges in addition to public addresses.
    allowed: Vec<Cidr>,
    /// The gateway's own listener, which is never connected to.
    own: Option<SocketAddr>,
    tls: TlsConnector,
    trusts_any: bool,
    resolver: Arc<dyn Resolve>,
    /// The caller's permit, held for as long as a name is looked up.
    turn: Option<Kept>,
    /// For look-ups without a permit, shared by all copies.
    lookups: Arc<Semaphore>,
    descriptors: &'static Shortage,
}

/// The limits of a connection.
#[derive(Clone, Copy)]
struct Costs {
    /// For one address, so that a dead one leaves time for the next.
    connect_timeout: Duration,
    /// Bytes read from the socket in total, including TLS.
    received: u64,
    /// Bytes that the kernel may buffer before we read them; `None`: its default.
    receive_buffer: Option<u32>,
}

impl Egress {
    /// Creates an egress to public addresses and those in `allowed`, over TLS with the system's
    /// roots and those in `extra_roots`, certificates in PEM.
    ///
    /// # Errors
    /// The roots cannot be used; the text says what to do.
    pub fn new(allowed: Vec<Cidr>, extra_roots: Option<&[u8]>) -> Result<Self, UnusableRoots> {
        let (tls, trusts_any) = tls::connector(extra_roots)?;
        let (resolver, descriptors) = (resolve::of_the_system(), &own_fault::DESCRIPTORS);
        let (own, turn, lookups) = (None, None, Arc::new(Semaphore::new(LOOKUPS)));
        Ok(Self { allowed, own, tls, trusts_any, resolver, turn, lookups, descriptors })
    }

    /// Creates another egress with the same TLS configuration, to public addresses and those in
    /// `allowed`.
    #[must_use]
    pub fn sibling(&self, allowed: Vec<Cidr>) -> Self {
        let lookups = Arc::new(Semaphore::new(LOOKUPS));
        Self { allowed, lookups, turn: None, ..self.clone() }
    }

    /// The same egress for a caller with a permit. A look-up holds the permit until it ends, even
    /// after its caller has timed out, because it cannot be cancelled and occupies a thread.
    #[must_use]
    pub fn keeping(&self, turn: Arc<dyn Any + Send + Sync>) -> Self {
        Self { turn: Some(turn), ..self.clone() }
    }

    /// Whether there is any root; without one nothing can be reached over https.
    pub fn trusts_any(&self) -> bool {
        self.trusts_any
    }

    /// Sets the gateway's own listener, which is refused whatever is allowed.
    #[must_use]
    pub fn avoiding(mut self, own: SocketAddr) -> Self {
        self.own = Some(own);
        self
    }

    /// Whether `url` leads only to addresses in the explicitly allowed ranges, and not to the
    /// gateway itself.
    pub async fn is_allowed_explicitly(&self, url: &Url) -> bool {
        if self.allowed.is_empty() {
            return false;
        }
        let addresses = self.resolve(url).await.and_then(|found| self.check(found));
        addresses.is_ok_and(|all| all.iter().all(|address| self.is_in_allowed(address.ip())))
    }

    /// Connects to one of `checked`, with TLS if the URL requires it.
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

    /// The only resolution of an exchange.
    async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, EgressError> {
        let port = url.port_or_known_default().ok_or(EgressError::InvalidUrl)?;
        match url.host().ok_or(EgressError::InvalidUrl)? {
            Host::Ipv4(address) => Ok(vec![(address, port).into()]),
            Host::Ipv6(address) => Ok(vec![(address, port).into()]),
            Host::Domain(name) => {
                let found = self.resolver.resolve(name, port, self.turn_to_look_up()?).await;
                // A resolver without descriptors reports only a failure, and descriptors may be
                // free again by now.
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

    /// Connects to the first of the checked addresses that answers.
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

    /// All addresses must be allowed: a mixed answer is what a rebinding attack looks like.
    fn check(&self, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, EgressError> {
        if addresses.is_empty() {
            return Err(EgressError::DnsFailed);
        }
        match addresses.iter().all(|address| self.may_reach(*address)) {
            true => Ok(addresses),
            false => Err(EgressError::AddressBlocked),
        }
    }

    /// The same check for the target of a redirect: a host on the public internet must not redirect
    /// requests into a network that is only allowed.
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
    /// The same egress, with names resolved by `look_up`.
    pub(crate) fn looking_up(self, look_up: impl LookUp) -> Self {
        Self { resolver: Arc::new(OnThread(look_up)), ..self }
    }
}

/// Only an address of this machine can be bound.
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

/// The request target and the value of `Host`.
fn target_and_host(url: &Url) -> (&str, &str) {
    let target = &url[Position::BeforePath..Position::AfterQuery];
    (target, &url[Position::BeforeHost..Position::AfterPort])
}

/// Sends one request over `stream`, and returns the result of `read` for the answer.
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
    // Stops with this exchange, however it ends.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let response = sender.send_request(request).await.map_err(|_| EgressError::Broken)?;
    read(response).await
}
