//! Accepting connections: HTTP/1.1 only, with caps per peer and in total, and an orderly end.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::exchange::answer;
use super::linger::Lingering;
use super::refusal::Explained;
use super::ws::Upgrade;
use super::{Gateway, peer};

/// Far more than any client in use sends; more is answered 431.
const MAX_HEADERS: usize = 64;
/// For a request's head: a longer one is answered 431.
const MAX_BUFFER: usize = 32 * 1024;
/// After an accept that failed, as for want of file descriptors, so that it does not spin.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Serves `gateway` on `listener` until `stop` says so or its sender is gone; then lets requests
/// under way finish, for a bounded time.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let connections = Arc::new(Connections::default());
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            () = stopped(&mut stop) => break,
            Some(_) = tasks.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    if let Some(slot) = connections.admit(&gateway, from.ip()) {
                        tasks.spawn(connection(gateway.clone(), stream, slot, stop.clone()));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                }
            },
        }
    }
    drop(listener);
    gateway.start_draining();
    drain(tasks, gateway.limits.drain_timeout).await;
}

/// Resolves when `stop` says so, or when nobody is left to say it.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn drain(mut tasks: JoinSet<()>, time: Duration) {
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(time, all).await.is_err() {
        tracing::warn!(open = tasks.len(), "connections were cut off at the end of the drain");
    }
}

/// Serves one connection, from the TLS handshake if there is one. One that becomes a stream stays
/// in its place in the counts, and in the drain.
async fn connection(
    gateway: Arc<Gateway>,
    stream: TcpStream,
    slot: Slot,
    stop: watch::Receiver<bool>,
) {
    // Without it, small answers may wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let stream = Lingering::new(stream, gateway.limits.write_timeout);
    let upgrade = match &gateway.tls {
        None => requests(&gateway, stream, slot.peer, stop.clone()).await,
        // As long as a head may take, because one comes after it.
        Some(tls) => match tls.accept(stream, gateway.limits.header_timeout).await {
            Some(stream) => requests(&gateway, stream, slot.peer, stop.clone()).await,
            None => None,
        },
    };
    if let Some(upgrade) = upgrade {
        upgrade.run(stop).await;
    }
}

/// Answers requests until the connection ends or becomes something else.
async fn requests(
    gateway: &Gateway,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: IpAddr,
    mut stop: watch::Receiver<bool>,
) -> Option<Upgrade> {
    let upgrade = Mutex::new(None);
    let service = service_fn(|request| async {
        let (response, becomes) = answer(gateway, peer, request).await;
        *upgrade.lock().unwrap_or_else(PoisonError::into_inner) = becomes;
        Ok::<_, Infallible>(response)
    });
    let served = http1::Builder::new()
        // Who has said everything may shut down that side and still wait for the answer.
        .half_close(true)
        .timer(TokioTimer::new())
        .header_read_timeout(gateway.limits.header_timeout)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_BUFFER)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(TokioIo::new(Explained::new(stream)), service)
        .with_upgrades();
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stopped(&mut stop) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    note(ended);
    upgrade.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn note(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Open connections: in total, and per peer that is capped.
#[derive(Default)]
struct Connections(Mutex<Open>);

#[derive(Default)]
struct Open {
    total: usize,
    per_peer: HashMap<IpAddr, usize>,
}

/// A counted connection; dropping it frees its place.
struct Slot {
    connections: Arc<Connections>,
    peer: IpAddr,
    /// `None` for a trusted proxy, which is not capped.
    counted_as: Option<IpAddr>,
}

impl Connections {
    /// A place for a connection of `peer`; `None` when there is none left.
    fn admit(self: &Arc<Self>, gateway: &Gateway, peer: IpAddr) -> Option<Slot> {
        let peer = peer.to_canonical();
        let counted_as =
            (!peer::is_trusted(peer, &gateway.trusted_proxies)).then(|| peer::limit_key(peer));
        let mut open = self.open();
        if open.total >= gateway.limits.connections {
            return None;
        }
        if let Some(key) = counted_as {
            let count = open.per_peer.entry(key).or_default();
            if *count >= gateway.limits.connections_per_peer {
                return None;
            }
            *count = count.saturating_add(1);
        }
        open.total = open.total.saturating_add(1);
        Some(Slot { connections: self.clone(), peer, counted_as })
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.total = open.total.saturating_sub(1);
        let Some(key) = self.counted_as else { return };
        if let Some(count) = open.per_peer.get_mut(&key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                open.per_peer.remove(&key);
            }
        }
    }
}
