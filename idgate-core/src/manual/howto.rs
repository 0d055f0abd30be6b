//! Short guides to common tasks.
//!
//! # Trust an issuer
//!
//! Trust an issuer of SD-JWT VC by its key, and an issuer of mdocs by its root. Name the types:
//! without `vct` every credential of that issuer is accepted.
//!
//! ```no_run
//! use idgate_core::crypto::rustcrypto::PROVIDER;
//! use idgate_core::{Issuer, Trust};
//!
//! let pid = Issuer::new("https://issuer.example")
//!     .vct("urn:eudi:pid:1")
//!     .jwk(std::fs::read("issuer.jwk.json")?);
//! let licence = Issuer::new("https://dmv.example")
//!     .doc_type("org.iso.18013.5.1.mDL")
//!     .iaca_roots(std::fs::read("iaca.pem")?);
//!
//! let trust = Trust::new(PROVIDER, [pid, licence])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Issuer::master_list`](crate::Issuer::master_list), [`Issuer::vical`](crate::Issuer::vical) and
//! [`Issuer::trusted_list`](crate::Issuer::trusted_list) take lists of roots. When a file changes,
//! build a new `Trust` from it with another [version](crate::Trust::with_version), and a verifier
//! with that trust.
//!
//! # Verify an answer and check revocation
//!
//! ```
//! use idgate_core::error::NotAnAnswer;
//! use idgate_core::{Decision, Entropy, Need, Session, Step, Supplied, Transition};
//! use idgate_core::{Answer, UnixMillis, Verifier};
//!
//! fn decide(
//!     verifier: &Verifier,
//!     session: &Session,
//!     answer: Answer<'_>,
//!     entropy: &mut dyn Entropy,
//!     now: impl Fn() -> UnixMillis,
//!     commit: impl Fn(Transition) -> Result<(), NotAnAnswer>, // SessionClosed: a lost race
//!     fetch: impl Fn(&Need) -> Option<Vec<u8>>,
//! ) -> Result<Decision, NotAnAnswer> {
//!     let mut verification = verifier.begin(session, answer, entropy, now())?;
//!     let mut held = false;
//!     loop {
//!         let (hold, needs) = match verification.step()? {
//!             Step::Done(decision) => return Ok(*decision), // commit its transition, then reply
//!             Step::Need { hold, needs } => (hold, needs),
//!         };
//!         if !std::mem::replace(&mut held, true) {
//!             commit(*hold)?; // VERIFYING: until it ends, another answer gets 409
//!         }
//!         for need in needs { // a real program fetches them in parallel
//!             let body = fetch(&need);
//!             let what = body.as_deref().map_or(Supplied::Unavailable, Supplied::Bytes);
//!             verification.supply(&need, what, now());
//!         }
//!     }
//! }
//! ```
//!
//! `BlockingFetcher` of the crate `idgate` is this loop with a fetcher that checks and pins
//! addresses and caches results. Use `Fetcher` if you have your own tokio runtime.
//!
//! [`Verification::supply`](crate::Verification::supply) returns the source if it is authentic.
//! Keep it until its [`fresh_until`](crate::revocation::VerifiedSource::fresh_until), and offer it
//! to [`Verification::reuse`](crate::Verification::reuse) before you fetch.
//!
//! # Ask with the Digital Credentials API
//!
//! Your page can ask its browser for credentials (W3C Digital Credentials API, OpenID4VP A):
//!
//! 1. Name the origins of your pages in the request.
//! 2. Pass the result of [`Verifier::dc_api_requests`] to the page.
//! 3. Send the browser's answer from the page to your server.
//! 4. Pass it to [`Verifier::begin`] as [`Answer::dc_api`]. The rest is as above.
//!
//! [`Verifier::dc_api_requests`]: crate::Verifier::dc_api_requests
//! [`Answer::dc_api`]: crate::Answer::dc_api
//! [`Verifier::begin`]: crate::Verifier::begin
//!
//! ```
//! use idgate_core::crypto::SoftwareSigner;
//! use idgate_core::error::ConfigError;
//! use idgate_core::{Credential, DcApi, Profile, Request, Session, Trust, UnixMillis, Verifier};
//!
//! fn verifier(trust: Trust, signer: SoftwareSigner) -> Result<Verifier, ConfigError> {
//!     let builder = Verifier::builder(trust).profiles([Profile::V1_0]);
//!     // Signed requests, and unsigned ones for wallets that do not support signatures.
//!     builder.signed("https://shop.example", signer).dc_api(DcApi::Signed).build()
//! }
//!
//! fn for_the_shop(asked: Credential) -> Request {
//!     Request::of([asked]).dc_api(["https://shop.example"])
//! }
//!
//! /// For `navigator.credentials.get({digital: …})`.
//! fn digital(verifier: &Verifier, session: &Session, now: UnixMillis) -> Option<String> {
//!     Some(verifier.dc_api_requests(session, now).ok()?.to_json())
//! }
//! ```
//!
//! The session also has links, for browsers that do not support the API. The first answer settles
//! the session. `verification_details` has the page that asked as `origin`. This is the value that
//! the holder signed; it is never taken from unsigned parts of the answer.
//!
//! # Keep a session in your own database
//!
//! A row is the id, the revision and the sealed snapshot. The seal authenticates the id, so that an
//! attacker who can write to the database cannot exchange two rows. Any AEAD works; this is
//! AES-256-GCM.
//!
//! ```
//! # #[cfg(feature = "rustcrypto")] {
//! use aes_gcm::aead::{Aead as _, Payload};
//! use aes_gcm::{Aes256Gcm, KeyInit as _};
//! use idgate_core::session::SnapshotError;
//! use idgate_core::{Entropy, EntropyUnavailable, Session};
//!
//! fn seal(key: &Aes256Gcm, session: &Session, entropy: &mut dyn Entropy)
//!     -> Result<Vec<u8>, Box<dyn std::error::Error>>
//! {
//!     let mut iv = [0; 12]; // fresh for every commit
//!     entropy.fill(&mut iv)?;
//!     let (snapshot, id) = (session.to_bytes(), session.id().as_str());
//!     let payload = Payload { msg: &snapshot, aad: id.as_bytes() };
//!     let sealed = key.encrypt(&iv.into(), payload).map_err(|error| error.to_string())?;
//!     Ok([&iv[..], &sealed].concat())
//! }
//!
//! fn open(key: &Aes256Gcm, id: &str, row: &[u8]) -> Result<Session, SnapshotError> {
//!     let (&iv, msg) = row.split_first_chunk::<12>().ok_or_else(unreadable)?;
//!     let opened = key.decrypt(&iv.into(), Payload { msg, aad: id.as_bytes() });
//!     Session::from_bytes(&zeroize::Zeroizing::new(opened.map_err(|_| unreadable())?))
//! }
//! # fn unreadable() -> SnapshotError { Session::from_bytes(b"").unwrap_err() }
//! # use idgate_core::{Issuer, NewSession, Profile, Request, Trust};
//! # use idgate_core::{UnixMillis, Verifier, crypto::{Es256Key, rustcrypto::PROVIDER}};
//! # struct Sevens;
//! # impl Entropy for Sevens {
//! #     fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> { Ok(out.fill(7)) }
//! # }
//! # let key = Es256Key::from_scalar(&[7; 32]).unwrap().public_key().to_jwk_json(None);
//! # let trust = Trust::new(PROVIDER, [Issuer::new("https://issuer.example").vct("pid").jwk(key)]);
//! # let verifier = Verifier::builder(trust.unwrap()).profiles([Profile::V1_0]);
//! # let verifier = verifier.unsigned("https://shop.example").build().unwrap();
//! # let asked = br#"{"credentials": [{"format": "vc+sd-jwt", "claims": ["given_name"],
//! #     "issuer_id": "https://issuer.example"}]}"#;
//! # let request = Request::from_json(asked).unwrap();
//! # let now = UnixMillis(1_795_000_000_000);
//! # let created = verifier.create_session(&request, NewSession::live(), &mut Sevens, now);
//! # let session = created.unwrap().session;
//! # let key = Aes256Gcm::new(&[9; 32].into());
//! # let row = seal(&key, &session, &mut Sevens).unwrap();
//! # let again = open(&key, session.id().as_str(), &row).unwrap();
//! # assert_eq!(again.to_bytes(), session.to_bytes());
//! # assert!(open(&key, "ses_another", &row).is_err());
//! # assert!(open(&key, session.id().as_str(), &row[..row.len() - 1]).is_err());
//! # }
//! ```
//!
//! A result that must survive a restart has its own
//! [snapshot](crate::session::SessionResult::to_bytes). Store it in another place, under another
//! key, and erase it at [`redact_at`](crate::session::SessionResult::redact_at). Snapshots have
//! versions: an earlier version is read, and a later one is refused, never misread.
//!
//! # Show a result to the person
//!
//! The session's id is in the link, so everyone who saw the QR code has it: it must not give access
//! to anything. Give each check an id of your own and store with it which browser asked (a random
//! value in an `HttpOnly` cookie). Show claims to that browser only.
//!
//! # Report the reason of a refusal
//!
//! - To the tenant: [`SessionInfo::reason`](crate::SessionInfo::reason), a code whose meaning never
//!   changes.
//! - To operators: [`Decision::report`](crate::Decision), each check with its clause.
//! - To the wallet: nothing.
//!
//! # Sign requests with a key in an HSM
//!
//! Implement [`RequestSigner`](crate::crypto::RequestSigner); the private key stays where it is.
