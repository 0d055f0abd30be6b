//! Who does the arithmetic: AWS-LC, and RustCrypto under Miri, which looks at each access to memory and runs no C.

#[cfg(not(miri))]
pub(crate) use idgate_core::crypto::aws_lc_rs::PROVIDER;
#[cfg(miri)]
pub(crate) use idgate_core::crypto::rustcrypto::PROVIDER;
