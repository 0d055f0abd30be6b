//! What is defended, and by what.
//!
//! Everything that a wallet sends is hostile until it is proved; so is what a status source sends.
//! The embedder's [`Trust`](crate::Trust) is believed. A refusal has a
//! [`Reason`](crate::Reason); the wallet only learns that there is one
//! ([`WalletReply::Refused`](crate::verify::WalletReply::Refused)).
//!
//! | somebody | is stopped by | reason |
//! |---|---|---|
//! | signs a credential of their own | only keys and roots of the [`Issuer`](crate::Issuer) count; a key in a header is not looked at, a certificate must lead to a root of that issuer for that format | `issuer_signature_invalid`, `chain_invalid` |
//! | chooses the algorithm (`none`, HMAC, another curve) | the trusted key decides it | `algorithm_not_allowed` |
//! | alters, adds or moves a claim | every disclosure and item needs a digest that the issuer signed | `digest_mismatch` |
//! | presents what somebody else holds | the holder's key is the one that the issuer named in the credential, and its proof is never optional | `holder_binding_invalid`, `holder_binding_missing`, `device_auth_invalid` |
//! | replays, or relays to another verifier | nonce, audience and age of the proof; for mdoc the session transcript | `nonce_mismatch`, `audience_mismatch`, `kb_jwt_stale`, `device_auth_invalid` |
//! | copies your page to another origin, or relays what another page got | the browser says the origin, the holder signs it, and only those of the request count | `audience_mismatch`, `device_auth_invalid` |
//! | shows a revoked credential, or silences the source that knows | what cannot be established is refused, unless [`Issuer::on_unknown_revocation`](crate::Issuer::on_unknown_revocation) accepts it | `credential_revoked`, `certificate_revoked`, `revocation_unknown` |
//! | answers for less than was asked | answer and request must match one to one; what may be absent, a request's own sets say | `submission_mismatch`, `claim_missing` |
//! | answers twice at once | one commit on one [`Revision`](crate::Revision); the other is [`SessionClosed`](crate::error::NotAnAnswer::SessionClosed) | |
//! | has the program fetch a URI of their choice | a [`Need`](crate::Need) comes from signed material only, and after every other check | |
//! | sends what costs more than it is worth | [`limits`](crate::limits): each with its reason, all applied before the work | `limit_exceeded` |
//! | reads JSON or base64 in two ways | one strict reader: no duplicate members, no padding, nothing behind the end | `malformed_presentation` |
//!
//! # By construction
//!
//! - Claims exist only inside a [`Verified`](crate::Verified), which no program
//!   can build, and in the [`SessionResult`](crate::session::SessionResult) that is made of it.
//! - A [`Verifier`](crate::Verifier) without trust or identity does not compile.
//! - How an answer is read is stored with the session. Nothing in the answer changes it.
//! - Errors and `Debug` texts name rules and never show claims, tokens, nonces or keys.
//! - Nonce, state, private key and claims are wiped from memory when they are dropped, as far as a
//!   value that was never copied by its owner allows.
//!
//! # Not defended here
//!
//! - Your database, your TLS, your clock and your random source: see [`super::embedding`].
//! - A person who hands over a phone and its unlock code.
//! - An issuer that attests what is not so, and a stolen issuer key that is still trusted.
//! - A request by value that is replaced before the wallet sees it. It is unsigned; a wallet only knows
//!   where its answer goes. [`VerifierBuilder::signed`](crate::VerifierBuilder::signed) signs requests, and
//!   those of `haip` always are.
//! - Whoever saw the QR code and asks your program for the claims: the session's id is in it. Bind
//!   results to the browser that asked, as [`super::howto`] says.
//! - A link shown to somebody else, who answers for themselves. Ask with a `redirect_uri`, and compare
//!   the `response_code` that comes back with the one in `verification_details`.
