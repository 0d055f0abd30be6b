//! From names to addresses.

use std::any::Any;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use tokio::task::spawn_blocking;

/// The addresses of a name, or why there are none.
pub(super) type Resolved<'a> =
    Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// What is held for as long as something takes, whoever waits for it.
pub(super) type Kept = Arc<dyn Any + Send + Sync>;

/// Whoever knows names.
pub(super) trait Resolve: Send + Sync {
    /// All addresses of `name`, each with `port`. `kept` is, until the look-up is over, and that may be
    /// long after nobody waits for it any more.
    fn resolve<'a>(&'a self, name: &'a str, port: u16, kept: Kept) -> Resolved<'a>;
}

/// Looks a name up, and takes its time.
pub(crate) trait LookUp:
    Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Clone + Send + Sync + 'static
{
}

impl<F> LookUp for F where
    F: Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Clone + Send + Sync + 'static
{
}

/// On a thread that nobody can call back.
pub(super) struct OnThread<F>(pub(super) F);

/// The operating system.
pub(super) fn of_the_system() -> Arc<dyn Resolve> {
    Arc::new(OnThread(|name: &str, port| Ok((name, port).to_socket_addrs()?.collect())))
}

impl<F: LookUp> Resolve for OnThread<F> {
    fn resolve<'a>(&'a self, name: &'a str, port: u16, kept: Kept) -> Resolved<'a> {
        let (look_up, name) = (self.0.clone(), name.to_owned());
        Box::pin(async move {
            let looking = spawn_blocking(move || {
                let found = look_up(&name, port);
                // Before anybody hears of it: who then asks for a turn finds this one.
                drop(kept);
                found
            });
            looking.await.map_err(io::Error::other)?
        })
    }
}
