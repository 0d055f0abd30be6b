//! What an embedder supplies: the time, random bytes, and a store. The programs are in `src/bin`.

mod store;

use std::time::{SystemTime, UNIX_EPOCH};

use idgate_core::UnixMillis;
use idgate_core::entropy::{Entropy, EntropyUnavailable};

pub use self::store::Store;

/// The operating system's clock.
#[allow(clippy::disallowed_methods)] // the embedder's side of "time is an argument"
pub fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The operating system's random source.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_structs)] // a sample
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        getrandom::fill(out).map_err(|_| EntropyUnavailable::new())
    }
}
