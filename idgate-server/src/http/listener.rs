//! Accepts connections: HTTP/1.1 only, with caps per peer and in total, and an orderly shutdown.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use idgate::own_fault::{self, Shortage};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::admission::connections::Slot;
use super::admission::linger::Lingering;
use super::exchange::answer;
use super::gateway::Gateway;
use super::peer;
use super::refusal::Explained;
use super::ws::Upgrade;
use crate::limits::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::log::{Line, What};
use crate::work::stop::stopped;
use idgate_base::clock::Clock;

/// Pause after a failed accept, for example without file descriptors, so that the loop does not
/// spin.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);
/// For handshakes in progress when the listener is about to close.
const LAST_HANDSHAKES: Duration = Duration::from_millis(50);
/// For a request on a connection that is silent when the drain starts: a busy client may have sent
/// it already, and would only see a closed connection.
pub(super) const LAST_REQUESTS: Duration = Duration::from_secs(1);

/// Serves `gateway` on `listener` until `stop` says so or its sender is gone. Then requests in
/// progress get a bounded time to finish.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let mut tasks = JoinSet::new();
    let connections = stop.clone();
    accept(&gateway, &listener, &mut tasks, &connections, stopped(&mut stop)).await;
    gateway.start_draining();
    refuse_handshakes(&listener);
    let last = tokio::time::sleep(LAST_HANDSHAKES);
    accept(&gateway, &listener, &mut tasks, &connections, last).await;
    drop(listener);
    drain(tasks, gateway.limits.drain_timeout).await;
}

/// Accepts connections until `end`.
async fn accept(
    gateway: &Arc<Gateway>,
    listener: &TcpListener,
    tasks: &mut JoinSet<()>,
    stop: &watch::Receiver<bool>,
    end: impl Future<Output = ()>,
) {
    let mut end = pin!(end);
    loop {
        tokio::select! {
            () = end.as_mut() => return,
            Some(_) = tasks.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    if let Some(slot) = admit(gateway, from.ip()) {
                        tasks.spawn(connection(gateway.clone(), stream, slot, stop.clone()));
                    }
                }
                Err(error) => {
                    cannot_accept(gateway, &error, &own_fault::DESCRIPTORS);
                    tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                }
            },
        }
    }
}

/// A place for a connection from `from`; `None`: it is counted as refused, and closed.
fn admit(gateway: &Gateway, from: IpAddr) -> Option<Slot> {
    let trusted = peer::is_trusted(from, &gateway.trusted_proxies);
    match gateway.connections.admit(from, trusted) {
        Ok(slot) => Some(slot),
        Err(full) => {
            refused(gateway, from, full.as_str());
            None
        }
    }
}

/// Counts a connection that got no place.
fn refused(gateway: &Gateway, from: IpAddr, reason: &'static str) {
    gateway.app.store().telemetry().connection_refused(reason);
    gateway.noise.count(peer::Truncated(from).to_string(), What::Connection);
}

/// Usually file descriptors have run out, so a silent stranger is displaced.
pub(super) fn cannot_accept(gateway: &Gateway, error: &io::Error, shortage: &Shortage) {
    gateway.connections.relieve();
    // A DNS lookup that fails in the next moment is due to this shortage, not to the name.
    shortage.note();
    gateway.app.store().telemetry().connection_refused("descriptors");
    if gateway.noise.admits(Line::Fault("none", "descriptors"), gateway.app.now()) {
        tracing::warn!(%error, "cannot accept a connection");
    }
}

/// Drops new handshakes, because connections still in a listener's queue when it closes are cut
/// off. The peer's attempt is dropped now, and refused once the listener is closed.
#[cfg(target_os = "linux")]
fn refuse_handshakes(listener: &TcpListener) {
    use socket2::{SockFilter, SockRef};

    // The flags are byte 13 of a TCP header; SYN without ACK starts a handshake (RFC 9293 3.5).
    const FILTER: [SockFilter; 5] = [
        SockFilter::new(0x30, 0, 0, 13),       // load that byte
        SockFilter::new(0x54, 0, 0, 0x12),     // SYN and ACK of it
        SockFilter::new(0x15, 0, 1, 0x02),     // SYN alone:
        SockFilter::new(0x06, 0, 0, 0),        // drop it
        SockFilter::new(0x06, 0, 0, u32::MAX), // else accept all
    ];
    // If that fails, at worst a connection is cut off without a response.
    let _ = SockRef::from(listener).attach_filter(&FILTER);
}

#[cfg(not(target_os = "linux"))]
fn refuse_handshakes(_: &TcpListener) {}

async fn drain(mut tasks: JoinSet<()>, time: Duration) {
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(time, all).await.is_err() {
        tracing::warn!(open = tasks.len(), "connections were cut off at the end of the drain");
    }
}

/// Serves one connection until it ends, its place is given to another, or its probation ends
/// without a valid key.
async fn connection(
    gateway: Arc<Gateway>,
    stream: TcpStream,
    slot: Slot,
    stop: watch::Receiver<bool>,
) {
    tokio::select! {
        () = serve_one(&gateway, stream, &slot, stop) => {}
        // A request that started in the same moment is still answered.
        () = slot.displaced_in_silence() => {}
        () = slot.probation_failed(&**gateway.clock(), gateway.limits.probation) => {
            refused(&gateway, slot.peer, "no_key");
        }
    }
}

/// Serves a connection, starting with the TLS handshake if there is one. A connection that becomes
/// a stream keeps its place in the counts and in the drain.
async fn serve_one(gateway: &Gateway, stream: TcpStream, slot: &Slot, stop: watch::Receiver<bool>) {
    // Otherwise small responses may wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let stream = Lingering::new(stream, gateway.clock().clone(), gateway.limits.write_timeout);
    let upgrade = match &gateway.tls {
        None => requests(gateway, stream, slot, stop.clone()).await,
        // The same time as for a head, because a head follows.
        Some(tls) => match tls.accept(stream, gateway.limits.header_timeout).await {
            Some(stream) => requests(gateway, stream, slot, stop.clone()).await,
            None => None,
        },
    };
    if let Some(upgrade) = upgrade {
        let _busy = slot.busy();
        upgrade.run(stop).await;
    }
}

/// Answers requests until the connection ends or switches protocols.
pub(super) async fn requests(
    gateway: &Gateway,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    slot: &Slot,
    mut stop: watch::Receiver<bool>,
) -> Option<Upgrade> {
    let upgrade = Mutex::new(None);
    let service = service_fn(|request| async {
        let _busy = slot.busy();
        let (response, becomes) = answer(gateway, slot, request).await;
        *upgrade.lock().unwrap_or_else(PoisonError::into_inner) = becomes;
        Ok::<_, Infallible>(response)
    });
    let served = http1::Builder::new()
        // A client that has sent everything may shut down its side and still wait for the response.
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(gateway.limits.header_timeout)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEAD_BYTES)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(Explained::new(stream)), service)
        .with_upgrades();
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = last_request(&**gateway.clock(), &mut stop) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    note(ended);
    upgrade.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Resolves when a silent connection may be closed: since the drain started, its responses have
/// said `Connection: close`.
async fn last_request(clock: &dyn Clock, stop: &mut watch::Receiver<bool>) {
    stopped(stop).await;
    clock.sleep(LAST_REQUESTS).await;
}

fn note(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
