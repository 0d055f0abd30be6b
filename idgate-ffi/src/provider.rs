//! The cryptographic back end: AWS-LC, or RustCrypto under Miri, which checks each memory access and runs no C.

#[cfg(not(miri))]
pub(crate) use idgate_core::crypto::aws_lc_rs::PROVIDER;
#[cfg(miri)]
pub(crate) use idgate_core::crypto::rustcrypto::PROVIDER;
