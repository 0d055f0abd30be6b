//! Randomness of the operating system.

use idgate_core::entropy::{Entropy, EntropyUnavailable};

pub(crate) struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        getrandom::fill(out).map_err(|_| EntropyUnavailable::new())
    }
}
