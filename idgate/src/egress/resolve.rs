//! Resolves names to addresses.

use std::any::Any;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use tokio::task::spawn_blocking;

/// The addresses of a name, or the reason why there are none.
pub(super) type Resolved<'a> =
    Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// A value held for the duration of an operation, even if no caller waits any more.
pub(super) type Kept = Arc<dyn Any + Send + Sync>;

/// Resolves names.
pub(super) trait Resolve: Send + Sync {
    /// Returns all addresses of `name`, each with `port`. `kept` is held until the look-up ends,
    /// which may be long after the caller has given up.
    fn resolve<'a>(&'a self, name: &'a str, port: u16, kept: Kept) -> Resolved<'a>;
}

/// A blocking look-up of a name.
pub(crate) trait LookUp:
    Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Clone + Send + Sync + 'static
{
}

impl<F> LookUp for F where
    F: Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Clone + Send + Sync + 'static
{
}

/// Looks up on a thread that cannot be cancelled.
pub(super) struct OnThread<F>(pub(super) F);

/// The operating system's resolver.
pub(super) fn of_the_system() -> Arc<dyn Resolve> {
    Arc::new(OnThread(|name: &str, port| Ok((name, port).to_socket_addrs()?.collect())))
}

impl<F: LookUp> Resolve for OnThread<F> {
    fn resolve<'a>(&'a self, name: &'a str, port: u16, kept: Kept) -> Resolved<'a> {
        let (look_up, name) = (self.0.clone(), name.to_owned());
        Box::pin(async move {
            let looking = spawn_blocking(move || {
                let found = look_up(&name, port);
                // Dropped before the result is sent, so that a waiting caller finds this permit
                // free.
                drop(kept);
                found
            });
            looking.await.map_err(io::Error::other)?
        })
    }
}
