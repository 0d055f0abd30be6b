//! The embedder's part: what your program must do around the library.
//!
//! 1. **Time.** `now` is an argument, in milliseconds since 1970 UTC. Pass the real time: checks of
//!    expiry and freshness are only as good as this value.
//! 2. **Randomness.** [`Entropy`](crate::Entropy) must be the operating system's source. Session
//!    ids, nonces, states and keys come from it, and from no other source.
//! 3. **Commits.** Store [`Transition::session`](crate::Transition) only if the stored revision
//!    still is `from` (0: insert), in one atomic step. Do this before anything leaves the program:
//!    before you show the link, serve a Request Object or reply to the wallet. If the commit loses
//!    a race, answer with [`SessionClosed`](crate::error::NotAnAnswer::SessionClosed), 409. Without
//!    this, two simultaneous answers may both settle one session.
//! 4. **Effects.** Carry out [`Transition::effects`](crate::Transition) after the commit, in order.
//!    A program that does not keep a list of them may compare with `now` instead, because a session
//!    also reads as expired without the effect
//!    ([`Session::status_at`](crate::Session::status_at)). But stored claims must be erased at
//!    [`Effect::RedactClaimsAt`](crate::Effect::RedactClaimsAt).
//! 5. **Secrets at rest.** [`Session::to_bytes`](crate::Session::to_bytes) has the nonce, the state
//!    and the private keys that answers are encrypted to. The snapshot of a result has claims. Seal
//!    both.
//! 6. **The wallet's reply.** Send [`Decision::reply`](crate::Decision::reply), which is the same
//!    for every reason of a refusal. Where [`Verifier::begin`](crate::Verifier::begin) or a step
//!    fails, send [`NotAnAnswer::reply`](crate::error::NotAnAnswer::reply) and store nothing.
//! 7. **Paths.** Wallets post to `{base URL}/v1/oid4vp/response/{session id}` and fetch requests by
//!    reference from `{base URL}/v1/oid4vp/request/{session id}`. A session of several profiles has
//!    offers with their own ids, which replace the session id in these paths: remember which
//!    session each of its [`handles`](crate::Session::handles) belongs to. Serve
//!    [`Verifier::did_document_json`](crate::Verifier::did_document_json) at
//!    [`DID_DOCUMENT_PATH`](crate::DID_DOCUMENT_PATH). Serve all of this over TLS.
//! 8. **Fetching.** Answer each [`Need`](crate::Need) within a time limit and a size limit
//!    ([`MAX_STATUS_BYTES`](crate::limits::MAX_STATUS_BYTES)). Connect only to public addresses
//!    that you resolved and checked before connecting, and check again after each redirect; the
//!    crate `idgate` does this. Send [`Need::accept`](crate::Need::accept) unchanged, because some
//!    hosts compare it as a whole, and after 404, 406 or 415 send
//!    [`Need::accept_otherwise`](crate::Need::accept_otherwise). If a fetch fails, supply
//!    [`Supplied::Unavailable`](crate::Supplied::Unavailable), which refuses the credential.
//! 9. **Load.** Refuse bodies over [`MAX_RESPONSE_BYTES`](crate::limits::MAX_RESPONSE_BYTES) while
//!    reading, and limit the number of answers from one peer. A typical verification takes well
//!    below a millisecond. One of the largest size takes longer: keep it off a thread that serves
//!    other requests.
//!
//! # Threads
//!
//! [`Verifier`](crate::Verifier) and [`Trust`](crate::Trust) are `Send + Sync`, cheap
//! to clone and meant to be shared. To change trust, build another `Verifier`; verifications in
//! progress finish with the trust that they began with.
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
//! For C there is `idgate-ffi`; the packages for Python and Node are built on it. They add no
//! checks and use the same codes.
