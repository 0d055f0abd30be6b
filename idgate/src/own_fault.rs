//! Whether a connection failed because this machine lacks a resource. This is not a fault of the
//! other host, so nothing may follow from it for that host.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

#[cfg(unix)]
use rustix::io::Errno;
use tokio::time::Instant;

/// Resources that a process or its machine can run out of.
#[cfg(unix)]
const SHORTAGES: [Errno; 5] =
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::PERM];
/// The errors for a missing route, here or at a router on the way.
const UNREACHABLE: [ErrorKind; 4] = [
    ErrorKind::NetworkUnreachable,
    ErrorKind::HostUnreachable,
    ErrorKind::NetworkDown,
    ErrorKind::PermissionDenied,
];
/// How long after a shortage of descriptors a failed look-up says nothing about the name: a
/// resolver without a descriptor, or one that still remembers that, does not report why it failed.
const ECHO: Duration = Duration::from_secs(5);

/// The reason why an address accepts no connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Refusal {
    /// This machine lacks a resource.
    Own,
    /// This machine has no route to addresses of this kind. It may have one to the other kind.
    NoRoute,
    /// This machine has no IPv6 at all, like many others.
    NoIpv6,
    /// The address, or the path to it.
    Theirs,
}

impl Refusal {
    /// Classifies `error` for a connection to `address`.
    pub(crate) fn of(error: &io::Error, address: SocketAddr) -> Self {
        // No local port is left; or, in IPv6, no address.
        let lacks_address = error.kind() == ErrorKind::AddrNotAvailable;
        if is_shortage(error) || (lacks_address && address.is_ipv4()) {
            return Self::Own;
        }
        match lacks_address || (UNREACHABLE.contains(&error.kind()) && !has_route(address)) {
            false => Self::Theirs,
            true if address.is_ipv4() => Self::NoRoute,
            true => Self::NoIpv6,
        }
    }

    /// Whether all refusals together are our own fault: one shortage makes the others meaningless,
    /// and one address that could be tried outweighs those that could not.
    pub(crate) fn is_own(all: &[Self]) -> bool {
        let has = |refusal| all.contains(&refusal);
        has(Self::Own) || (has(Self::NoRoute) && !has(Self::Theirs))
    }
}

/// Whether `error` means that the process or the machine ran out of a resource, or may not connect
/// out.
fn is_shortage(error: &io::Error) -> bool {
    #[cfg(unix)]
    let lacks = is(error, &SHORTAGES);
    #[cfg(not(unix))]
    let lacks = error.kind() == ErrorKind::OutOfMemory;
    lacks
}

#[cfg(unix)]
fn is(error: &io::Error, causes: &[Errno]) -> bool {
    causes.iter().any(|cause| error.raw_os_error() == Some(cause.raw_os_error()))
}

/// Connecting a datagram socket looks up the route and sends nothing.
fn has_route(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    UdpSocket::bind((any, 0)).and_then(|socket| socket.connect(address)).is_ok()
}

/// The time when this process last had no file descriptor left.
#[derive(Debug)]
pub struct Shortage(Mutex<Option<Instant>>);

/// Shortages seen by any part of this process.
pub static DESCRIPTORS: Shortage = Shortage::none();

impl Shortage {
    /// Creates a record without a shortage.
    pub const fn none() -> Self {
        Self(Mutex::new(None))
    }

    /// Records `error` if it is such a shortage; returns whether it shows any shortage of this
    /// machine.
    pub fn observe(&self, error: &io::Error) -> bool {
        #[cfg(unix)]
        if is(error, &[Errno::MFILE, Errno::NFILE]) {
            self.note();
        }
        is_shortage(error)
    }

    /// Records a shortage now.
    pub fn note(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether there is a shortage, or was one recently. It also checks directly.
    pub fn is_felt(&self) -> bool {
        if let Err(error) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            && self.observe(&error)
        {
            return true;
        }
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|since| since.elapsed() < ECHO)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const V4: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 443);
    const V6: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 443);

    fn refusal(cause: Errno, address: SocketAddr) -> Refusal {
        Refusal::of(&io::Error::from_raw_os_error(cause.raw_os_error()), address)
    }

    #[test]
    fn shortages_of_this_machine_are_its_own_fault() {
        for cause in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS, Errno::PERM] {
            assert_eq!(refusal(cause, V4), Refusal::Own, "{cause}");
            assert_eq!(refusal(cause, V6), Refusal::Own, "{cause}");
        }
        for cause in [Errno::CONNREFUSED, Errno::CONNRESET, Errno::TIMEDOUT] {
            assert_eq!(refusal(cause, V4), Refusal::Theirs, "{cause}");
        }
    }

    #[test]
    fn no_address_to_connect_from_is_an_own_fault_in_ipv4_and_no_ipv6_in_ipv6() {
        assert_eq!(refusal(Errno::ADDRNOTAVAIL, V4), Refusal::Own);
        assert_eq!(refusal(Errno::ADDRNOTAVAIL, V6), Refusal::NoIpv6);
    }

    #[test]
    fn a_router_without_a_route_is_not_an_own_fault() {
        // There is a route to loopback, so the error comes from elsewhere.
        for cause in [Errno::NETUNREACH, Errno::HOSTUNREACH, Errno::NETDOWN, Errno::ACCESS] {
            assert_eq!(refusal(cause, V4), Refusal::Theirs, "{cause}");
        }
    }

    #[test]
    fn one_shortage_outweighs_other_refusals_and_one_address_that_was_tried_outweighs_no_route() {
        use Refusal::{NoIpv6, NoRoute, Own, Theirs};
        for own in [&[Own, Theirs][..], &[Theirs, Own], &[NoRoute], &[NoIpv6, NoRoute], &[Own]] {
            assert!(Refusal::is_own(own), "{own:?}");
        }
        for theirs in [&[Theirs][..], &[Theirs, NoRoute], &[NoIpv6, Theirs], &[NoIpv6], &[]] {
            assert!(!Refusal::is_own(theirs), "{theirs:?}");
        }
    }

    #[test]
    fn a_shortage_is_felt_for_a_while() {
        let shortage = Shortage::none();
        assert!(!shortage.is_felt());
        shortage.note();
        assert!(shortage.is_felt());
    }
}
