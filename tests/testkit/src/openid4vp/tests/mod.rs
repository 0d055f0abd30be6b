//! The wallet against made-up requests: for each check there is a request that fails only this check.

mod answers;
mod findings;
mod verifier;
