//! From names to addresses.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

/// The addresses of a name, or why there are none.
pub(super) type Resolved<'a> =
    Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// Whoever knows names.
pub(super) trait Resolve: Send + Sync {
    /// All addresses of `name`, each with `port`.
    fn resolve<'a>(&'a self, name: &'a str, port: u16) -> Resolved<'a>;
}

/// The operating system.
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str, port: u16) -> Resolved<'a> {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) })
    }
}
