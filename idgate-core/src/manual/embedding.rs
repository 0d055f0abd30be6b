//! The embedder's part: what the library leaves to the program around it.
//!
//! 1. **Time.** `now` is an argument, in milliseconds since 1970 UTC. Give the real one: expiry and
//!    freshness are no better than it.
//! 2. **Randomness.** [`Entropy`](crate::Entropy) must be the operating system's source. Session ids,
//!    nonces, states and keys are drawn from it and nothing else is.
//! 3. **Commits.** Store [`Transition::session`](crate::Transition) where the stored revision still is
//!    `from` (0: insert), in one atomic step, before anything leaves the program: before the link is
//!    shown, before a Request Object is served, before the wallet gets its reply. A lost race is
//!    answered as [`SessionClosed`](crate::error::NotAnAnswer::SessionClosed), 409. Without this two
//!    answers at once may both settle one session.
//! 4. **Effects.** Carry out [`Transition::effects`](crate::Transition) after the commit, in order;
//!    a program that keeps no list of them may look at `now` instead: a session that is read late has
//!    expired all the same ([`Session::status_at`](crate::Session::status_at)), but claims that were
//!    stored must be erased at [`Effect::RedactClaimsAt`](crate::Effect::RedactClaimsAt).
//! 5. **Secrets at rest.** [`Session::to_bytes`](crate::Session::to_bytes) has nonce, state and
//!    the private keys that answers are encrypted to, the snapshot of a result has claims: seal both.
//! 6. **The wallet's reply.** [`Decision::reply`](crate::Decision::reply), which is the same for every reason of a refusal, or
//!    [`NotAnAnswer::reply`](crate::error::NotAnAnswer::reply) where [`Verifier::begin`](crate::Verifier::begin)
//!    or a step fails; nothing is stored for the latter.
//! 7. **Paths.** Wallets post to `{base URL}/v1/oid4vp/response/{session id}` and fetch requests by
//!    reference from `{base URL}/v1/oid4vp/request/{session id}`. A session of several profiles has
//!    offers with ids of their own, which stand there in the place of the session's: keep which session
//!    each of its [`handles`](crate::Session::handles) belongs to. Serve
//!    [`Verifier::did_document_json`](crate::Verifier::did_document_json) at
//!    [`DID_DOCUMENT_PATH`](crate::DID_DOCUMENT_PATH). All of it over TLS.
//! 8. **Fetching.** Answer each [`Need`](crate::Need) with a time limit, a size limit
//!    ([`MAX_STATUS_BYTES`](crate::limits::MAX_STATUS_BYTES)) and only from public addresses that were
//!    resolved and checked before connecting, after each redirect again; the crate `idgate` does
//!    that. Send [`Need::accept`](crate::Need::accept) as it is, for some hosts compare it as a whole, and
//!    after 404, 406 or 415 [`Need::accept_otherwise`](crate::Need::accept_otherwise). Supply
//!    [`Supplied::Unavailable`](crate::Supplied::Unavailable) where a fetch fails, which refuses.
//! 9. **Load.** Refuse bodies over [`MAX_RESPONSE_BYTES`](crate::limits::MAX_RESPONSE_BYTES) while
//!    reading, and limit how many come from one peer. A usual verification takes well below a
//!    millisecond; one of the largest size takes longer: keep it off a thread that serves others.
//!
//! # Threads
//!
//! [`Verifier`](crate::Verifier) and [`Trust`](crate::Trust) are `Send + Sync`, cheap
//! to clone and meant to be shared. To change trust, build another `Verifier`; those that are in use
//! finish with what they began with.
//!
//! ```
//! fn shared<T: Clone + Send + Sync + 'static>() {}
//! shared::<idgate_core::Verifier>();
//! shared::<idgate_core::Trust>();
//! shared::<idgate_core::Session>();
//! ```
//!
//! # Other languages
//!
//! C goes through `idgate-ffi`, Python and Node through packages over it. They add no checks of
//! their own and have the same codes.
