//! The wallet against requests of its own: each check has a request that it alone finds fault with.

mod answers;
mod findings;
mod verifier;
