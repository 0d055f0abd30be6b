//! Name resolution.

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

/// A value that is held until an operation ends, even if its caller has given up.
pub(super) type Kept = Arc<dyn Any + Send + Sync>;

/// A resolver.
pub(super) trait Resolve: Send + Sync {
    /// All addresses of `name`, each with `port`. `kept` is held until the look-up ends, which may
    /// be long after its caller has given up.
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

/// Resolves names on a thread that cannot be cancelled.
pub(super) struct OnThread<F>(pub(super) F);

/// The resolver of the operating system.
pub(super) fn of_the_system() -> Arc<dyn Resolve> {
    Arc::new(OnThread(|name: &str, port| Ok((name, port).to_socket_addrs()?.collect())))
}

impl<F: LookUp> Resolve for OnThread<F> {
    fn resolve<'a>(&'a self, name: &'a str, port: u16, kept: Kept) -> Resolved<'a> {
        let (look_up, name) = (self.0.clone(), name.to_owned());
        Box::pin(async move {
            let looking = spawn_blocking(move || {
                let found = look_up(&name, port);
                // Released before the result is sent, so that the next caller finds this permit.
                drop(kept);
                found
            });
            looking.await.map_err(io::Error::other)?
        })
    }
}
