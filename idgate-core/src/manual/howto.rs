//! How to do what most programs need.
//!
//! # Trust an issuer
//!
//! An issuer of SD-JWT VC by its key, an authority of mdocs by its root. Name the types: without
//! `vct` every credential of that issuer counts.
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
//! Lists of roots come from [`Issuer::master_list`](crate::Issuer::master_list),
//! [`Issuer::vical`](crate::Issuer::vical) and [`Issuer::trusted_list`](crate::Issuer::trusted_list). When a file
//! changes, make a new `Trust` of it with another [version](crate::Trust::with_version), and a verifier with that.
//!
//! # Answer a wallet, its revocation included
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
//!             commit(*hold)?; // VERIFYING: another answer gets 409 meanwhile
//!         }
//!         for need in needs { // a real program fetches all of them at once
//!             let body = fetch(&need);
//!             let what = body.as_deref().map_or(Supplied::Unavailable, Supplied::Bytes);
//!             verification.supply(&need, what, now());
//!         }
//!     }
//! }
//! ```
//!
//! `BlockingFetcher` of the crate `idgate` is this loop with a fetcher that checks addresses, pins
//! them and remembers; for a tokio runtime of your own there is `Fetcher`.
//!
//! [`Verification::supply`](crate::Verification::supply) gives back what turned out authentic. Keep it
//! until its [`fresh_until`](crate::revocation::VerifiedSource::fresh_until), and offer it to
//! [`Verification::reuse`](crate::Verification::reuse) before you fetch.
//!
//! # Ask through the browser of a page
//!
//! A page of yours can ask its browser for credentials (W3C Digital Credentials API, OpenID4VP A). Say
//! in the request which pages may, pass them what [`Verifier::dc_api_requests`] gives, and bring back
//! what the browser gave, from the page to your server and from there as [`Answer::dc_api`] to
//! [`Verifier::begin`]. The rest is as above.
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
//!     // Signed requests, and unsigned ones for wallets that know no signature.
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
//! The session has links all the same, for browsers that know nothing of it: whichever is answered first
//! settles it. Which of your pages asked stands in `verification_details` as `origin`; it is what the
//! holder signed, and nothing that the answer says of itself.
//!
//! # Keep a session in your own database
//!
//! A row is the id, the revision and the sealed snapshot; the id is authenticated with it, so that
//! nobody who can write to the database exchanges two rows. Any AEAD does; this is AES-256-GCM.
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
//! [snapshot](crate::session::SessionResult::to_bytes); keep it elsewhere, under another key, and
//! erase it at [`redact_at`](crate::session::SessionResult::redact_at). Snapshots have versions:
//! what a later one stored is refused and never misread, what an earlier one stored is read.
//!
//! # Show a result to the person
//!
//! The session's id stands in the link, so whoever saw the QR code knows it: it must open nothing. Give
//! each check an id of your own, keep beside it which browser asked (a random value in a cookie that is
//! `HttpOnly`), and hand claims to that browser alone.
//!
//! # Say why
//!
//! For the tenant: [`SessionInfo::reason`](crate::SessionInfo::reason), a code that never changes its
//! meaning. For operators: [`Decision::report`](crate::Decision), each check with its clause. For the
//! wallet: nothing.
//!
//! # Sign requests with a key in an HSM
//!
//! Implement [`RequestSigner`](crate::crypto::RequestSigner); the private key stays where it is.
