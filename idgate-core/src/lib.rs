//! idgate-core decides whether a wallet's answer is genuine. Bytes, time and entropy go in; a
//! verdict comes out. The library starts no threads, never blocks and writes no logs.
//!
//! ```text
//!  wallet bytes ─┐                       ┌─> claims, only inside VerifiedCredential
//!  tenant JSON ──┼─> idgate-core  ───────┼─> Transition { from, session, effects }
//!  now, entropy ─┘   no IO, no clock,    │    (commit, then carry out)
//!                    no randomness       └─> a refusal with its code and clause
//! ```
//!
//! # Getting started
//!
//! Is this person 18? With the feature `os-entropy`, and with `serde` to read claims, this is a
//! complete program:
//!
#![cfg_attr(all(feature = "os-entropy", feature = "rustcrypto"), doc = "```")]
#![cfg_attr(not(all(feature = "os-entropy", feature = "rustcrypto")), doc = "```ignore")]
//! use idgate_core::crypto::rustcrypto::PROVIDER;
//! use idgate_core::{Answer, Credential, Issuer, NewSession, OsEntropy, Profile, Reader, Reason};
//! use idgate_core::{Request, Step, Trust, UnixMillis, Verifier};
//! use std::time::{SystemTime, UNIX_EPOCH};
//!
//! #[derive(serde::Deserialize)]
//! struct Card { age_over_18: bool }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let now = UnixMillis(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis().try_into()?);
//!
//!     // Whom to trust: an issuer, and the key that it signs with.
//!     let key = r#"{"kty": "EC", "crv": "P-256", "x": "axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
//!         "y": "T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}"#;
//!     let trust = Trust::new(PROVIDER, [Issuer::new("https://issuer.example").vct("card").jwk(key)])?;
//!     let builder = Verifier::builder(trust).profiles([Profile::V1_0]);
//!     let verifier = builder.unsigned("https://shop.example").build()?;
//!
//!     // Commit the session to your database, then show the link as a QR code.
//!     let card = Credential::sd_jwt_vc("card", "https://issuer.example");
//!     let asked = Request::of([card.claims(["age_over_18"])]);
//!     let created = verifier.create_session(&asked, NewSession::live(), &mut OsEntropy, now)?;
//!     let info = created.session.info(now);
//!     let link = info.qr_code_url.unwrap_or_default();
//!
//!     // A wallet posts its answer. This one has nothing to show: it declines.
//!     let state = link.split_once("&state=").and_then(|(_, rest)| rest.split('&').next());
//!     let body = format!("error=access_denied&state={}", state.unwrap_or_default());
//!     let content_type = Some("application/x-www-form-urlencoded");
//!     let answer = Answer { to: &info.id, content_type, body: body.as_bytes() };
//!     let mut verification = verifier.begin(&created.session, answer, &mut OsEntropy, now)?;
//!
//!     // Commit `decision.transition`, then send `decision.reply()` to the wallet.
//!     let Step::Done(decision) = verification.step()? else {
//!         return Err("a status list is to be fetched: see `manual::howto`".into());
//!     };
//!     let settled = &decision.transition.session;
//!     let adult = match settled.result(Reader::Backend, now) {
//!         Ok(result) => result.credential::<Card>("card")?.age_over_18,
//!         Err(_) => false,
//!     };
//!     println!("18 or older: {adult}");
//!     assert_eq!((adult, settled.info(now).reason), (false, Some(Reason::WalletError)));
//!     Ok(())
//! }
//! ```
//!
//! With the sample wallet of this repository, an answer from a wallet that holds a credential is
//! verified, and one from a thief is refused:
//!
//! ```
//! # #[cfg(feature = "rustcrypto")] {
//! # use idgate_testkit::{samples, wallet::Wallet};
//! # #[derive(Default)] struct OsEntropy(u8); // counts: this runs where no OS is asked
//! # impl idgate_core::Entropy for OsEntropy {
//! #     fn fill(&mut self, out: &mut [u8]) -> Result<(), idgate_core::EntropyUnavailable> {
//! #         self.0 += 1; Ok(out.fill(self.0))
//! #     }
//! # }
//! # let mut entropy = OsEntropy::default();
//! # let now = UnixMillis(1_795_000_000_000);
//! # let sample = samples::issue_sample(now.0);
//! # let jwk_file = sample.issuer_key.public_jwk().to_string();
//! # let owner = Wallet::new(sample.holder_key).with(sample.credential.clone());
//! # let thief = Wallet::new(sample.issuer_key).with(sample.credential);
//! use idgate_core::crypto::rustcrypto::PROVIDER;
//! use idgate_core::{Answer, Credential, Issuer, NewSession, Profile, Reader, Reason, Request};
//! use idgate_core::{Step, Trust, UnixMillis, Verifier, session::Withheld};
//!
//! let trust = Trust::new(PROVIDER, [Issuer::new("https://issuer.example").jwk(jwk_file)])?;
//! let builder = Verifier::builder(trust).profiles([Profile::Draft]);
//! let verifier = builder.unsigned("https://shop.example").build()?;
//!
//! let card = Credential::sd_jwt_vc("id", "https://issuer.example");
//! let asked = Request::of([card.claims(["age_equal_or_over"])]);
//! let created = verifier.create_session(&asked, NewSession::live(), &mut entropy, now)?;
//! let info = created.session.info(now); // commit the session, then show the link
//! let link = info.qr_code_url.unwrap_or_default();
//!
//! let mut decide = |(content_type, body): (&str, &[u8])| -> Result<_, Box<dyn std::error::Error>> {
//!     let answer = Answer { to: &info.id, content_type: Some(content_type), body };
//!     match verifier.begin(&created.session, answer, &mut entropy, now)?.step()? {
//!         Step::Done(decision) => Ok(decision.transition.session), // commit it, then reply
//!         Step::Need { .. } => Err("a list is to be fetched: see `manual::howto`".into()),
//!     }
//! };
//! # let by_owner = owner.answer_uri(&link, now.0)?.form_body();
//! # let by_thief = thief.answer_uri(&link, now.0)?.form_body();
//! # let by_owner = (&*by_owner.content_type, &*by_owner.bytes);
//! # let by_thief = (&*by_thief.content_type, &*by_thief.bytes);
//! let verified = decide(by_owner)?;
//! let claims: serde_json::Value = verified.result(Reader::Backend, now)?.credential("id")?;
//! assert_eq!(claims["age_equal_or_over"]["18"], true);
//! let refused = decide(by_thief)?; // the same credential without its key: a reason, no claims
//! assert_eq!(refused.info(now).reason, Some(Reason::HolderBindingInvalid));
//! assert_eq!(refused.result(Reader::Backend, now).err(), Some(Withheld::NotVerified));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The [`manual`] says what your program must do around the library, and why: [common
//! tasks](manual::howto), [threats](manual::threats), [defaults](manual::defaults), [the embedder's
//! part](manual::embedding), [standards and wallets](manual::interop).
//!
//! # Where to look
//!
//! - [`Verifier`] creates sessions and takes answers.
//! - [`Session`] is the value that your database stores.
//! - [`Trust`] holds the trusted issuers. [`Trust::verify`] verifies one captured presentation
//!   without a session.
//! - [`verify`] has the steps of a verification and the verdict.
//! - [`webhook`] verifies notifications.
//!
//! The other modules contain the types that these use.
//!
//! # Features
//!
//! - `rustcrypto` (default): [`crypto::rustcrypto`](crypto), pure Rust, also for WebAssembly.
//! - `aws-lc-rs`: [`crypto::aws_lc_rs`](crypto), 2.7 times as fast with ES256; it needs a C compiler.
//! - `os-entropy`: `OsEntropy`, the operating system's random source, which you pass as an argument.
//! - `shell`: the parts that only a program around the whole library needs, for example the gateway or
//!   the C ABI. They are unstable: a patch release may change them.
//! - `internals`, `counting`: for the tests and benches of this repository only. Both are unstable.
//!
//! Both providers may be enabled: a [`Verifier`] uses the [`CryptoProvider`] that it is built with.
//! Features add providers and never change a verdict. Without either, bring your own
//! [`CryptoProvider`].

#![warn(missing_docs)]
#![cfg_attr(
    not(feature = "shell"),
    allow(
        unreachable_pub,
        unused_imports,
        dead_code,
        reason = "public and used with that feature"
    )
)]

extern crate alloc;

mod claims;
mod codec;
mod cose;
pub mod crypto;
mod discovery;
mod entropy;
pub mod error;
mod formats;
mod ids;
#[cfg(not(feature = "internals"))]
#[allow(unreachable_pub, reason = "public with that feature")]
mod jose;
#[cfg(feature = "internals")]
pub mod jose;
pub mod limits;
pub mod manual;
mod mode;
mod profile;
mod reply;
mod request;
mod response;
pub mod revocation;
pub mod session;
#[cfg(feature = "shell")]
pub mod shell;
pub mod time;
pub mod trust;
mod verifier;
pub mod verify;
pub mod webhook;
#[cfg(not(feature = "counting"))]
mod work;
#[cfg(feature = "counting")]
pub mod work;

pub use self::claims::ClaimsError;
pub use self::crypto::CryptoProvider;
pub use self::discovery::{DID_DOCUMENT_PATH, JWKS_PATH};
#[cfg(feature = "os-entropy")]
pub use self::entropy::OsEntropy;
pub use self::entropy::{Entropy, EntropyUnavailable};
pub use self::error::{ErrorCode, Reason, WalletError};
pub use self::ids::{ClaimPath, CredentialFormat, IssuerId, SessionId, TenantId};
pub use self::mode::Mode;
pub use self::reply::HttpReply;
pub use self::request::{
    Credential, DcApiRequests, Profile, RegistrationCertificate, RegistrationError, Request,
    Scheme, TransactionData,
};
pub use self::response::Answer;
pub use self::revocation::{Need, Supplied};
pub use self::session::{Effect, Reader, Revision, Session, SessionInfo, Status, Transition};
pub use self::time::UnixMillis;
pub use self::trust::{Issuer, Trust, TrustError};
pub use self::verifier::{
    Asked, DcApi, NewSession, RequestObject, ResponseMode, Verifier, VerifierBuilder,
};
pub use self::verify::presentation::Expected;
pub use self::verify::{
    Decision, Presentation, PresentationStep, Refused, Sent, Step, Transcript, Verification,
    Verified,
};

#[cfg(test)]
mod tests {
    /// Hidden lines would be missing for readers who copy the example.
    #[test]
    fn the_first_example_has_no_hidden_lines() {
        let text = include_str!("lib.rs");
        let (_, example) = text.split_once("doc = \"```ignore\")]").unwrap();
        let (example, _) = example.split_once("//! ```").unwrap();
        assert!(example.lines().count() > 30 && !example.contains("\n//! # "), "{example}");
        assert!(example.contains("fn main()"));
    }
}
