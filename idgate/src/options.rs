//! Options for outgoing connections.

use std::sync::Arc;

use crate::egress::Egress;
use crate::fetch::Fetcher;
use crate::range::Cidr;
use crate::tls::UnusableRoots;

/// Options for fetching. The default reaches public addresses and trusts the roots of the operating
/// system.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use idgate::{Cidr, FetchOptions, Fetcher};
/// let fetcher = Fetcher::new(FetchOptions::default().allow(Cidr::parse("10.1.0.0/16")?))?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "pass it to Fetcher::new"]
pub struct FetchOptions {
    allowed: Vec<Cidr>,
    roots: Option<Vec<u8>>,
}

impl FetchOptions {
    /// Allows sources in this range of non-public addresses, for example status lists in your own
    /// network.
    pub fn allow(mut self, range: Cidr) -> Self {
        self.allowed.push(range);
        self
    }

    /// Also trusts these roots for TLS: certificates in PEM.
    pub fn roots(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots = Some(pem.into());
        self
    }

    pub(crate) fn egress(self) -> Result<Egress, UnusableRoots> {
        Egress::new(self.allowed, self.roots.as_deref())
    }
}

impl Fetcher {
    /// Creates a fetcher with an empty cache.
    ///
    /// # Errors
    /// The roots contain no usable certificate.
    pub fn new(options: FetchOptions) -> Result<Arc<Self>, UnusableRoots> {
        Ok(Arc::new(Self::over(options.egress()?)))
    }
}
