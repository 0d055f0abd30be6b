//! Sample issuer, sample wallet and virtual time, for `idgate demo`, the tests, the benches and the
//! examples.
//!
//! It shares no code with `idgate-core`. It implements the formats a second time, so a mistake in one
//! implementation shows as a disagreement.
//!
//! ```
//! use idgate_testkit::{samples, wallet::Wallet};
//!
//! let sample = samples::issue_sample(1_790_000_000_000);
//! let wallet = Wallet::new(sample.holder_key).with(sample.credential);
//! assert_eq!(wallet.credentials().len(), 1);
//! ```

// Tools for programs of this repository: their public fields are meant to be set and matched.
#![allow(clippy::exhaustive_enums, clippy::exhaustive_structs)]

pub mod claim;
pub mod codec;
#[cfg(feature = "costs")]
pub mod costs;
pub mod der;
pub mod disclosure;
pub mod gzip;
pub mod hpke;
pub mod iso_mdoc;
pub mod issuer;
pub mod jwe;
pub mod jws;
pub mod keys;
#[cfg(feature = "limbo")]
pub mod limbo;
pub mod master_list;
pub mod mdoc;
pub mod openid4vci;
pub mod openid4vp;
pub mod patience;
pub mod request;
pub mod request_object;
pub mod samples;
pub mod seed;
#[cfg(feature = "spec-cases")]
pub mod spec_cases;
pub mod status;
pub mod time;
pub mod trusted_list;
pub mod wallet;
pub mod x509;
pub mod xml_list;
