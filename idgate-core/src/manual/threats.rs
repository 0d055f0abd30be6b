//! The attacks that the library stops, and the check that stops each.
//!
//! Everything that a wallet sends is untrusted until it is verified, and so is everything that a
//! status source sends. The embedder's [`Trust`](crate::Trust) is the root of all decisions. Each
//! refusal has a [`Reason`](crate::Reason). The wallet learns only that it was refused
//! ([`WalletReply::Refused`](crate::verify::WalletReply::Refused)).
//!
//! | an attacker | is stopped by | reason |
//! |---|---|---|
//! | signs a credential of their own | only keys and roots of the [`Issuer`](crate::Issuer) count; a key in a header is ignored, and a certificate must lead to a root of that issuer for that format | `issuer_signature_invalid`, `chain_invalid` |
//! | chooses the algorithm (`none`, HMAC, another curve) | the trusted key decides the algorithm | `algorithm_not_allowed` |
//! | alters, adds or moves a claim | every disclosure and item needs a digest that the issuer signed | `digest_mismatch` |
//! | presents another person's credential | the holder's key is the one that the issuer named in the credential, and its proof is never optional | `holder_binding_invalid`, `holder_binding_missing`, `device_auth_invalid` |
//! | replays, or relays to another verifier | nonce, audience and age of the proof; for mdoc the session transcript | `nonce_mismatch`, `audience_mismatch`, `kb_jwt_stale`, `device_auth_invalid` |
//! | copies your page to another origin, or relays an answer that another page received | the browser states the origin, the holder signs it, and only the request's origins are accepted | `audience_mismatch`, `device_auth_invalid` |
//! | shows a revoked credential, or blocks its status source | an unknown status is refused, unless [`Issuer::on_unknown_revocation`](crate::Issuer::on_unknown_revocation) accepts it | `credential_revoked`, `certificate_revoked`, `revocation_unknown` |
//! | answers with less than the request asks for | answer and request must match one to one; the request's own sets say what may be absent | `submission_mismatch`, `claim_missing` |
//! | sends two answers at the same time | one commit for each [`Revision`](crate::Revision); the other is [`SessionClosed`](crate::error::NotAnAnswer::SessionClosed) | |
//! | makes the program fetch a URI of their choice | a [`Need`](crate::Need) comes from signed material only, and after every other check | |
//! | sends input that is expensive to process | [`limits`](crate::limits): each has its reason, and all are applied before the work | `limit_exceeded` |
//! | sends JSON or base64 that two readers read differently | one strict reader: no duplicate members, no padding, no trailing bytes | `malformed_presentation` |
//!
//! # By construction
//!
//! - Claims exist only inside a [`Verified`](crate::Verified), which no program
//!   can build, and in the [`SessionResult`](crate::session::SessionResult) that is made from it.
//! - A [`Verifier`](crate::Verifier) without trust or identity does not compile.
//! - The rules for reading an answer are stored with the session. The answer cannot change them.
//! - Errors and `Debug` texts name rules and never show claims, tokens, nonces or keys.
//! - Nonce, state, private key and claims are wiped from memory when they are dropped, except for
//!   copies that their owner made.
//!
//! # Not defended here
//!
//! - Your database, your TLS, your clock and your random source: see [`super::embedding`].
//! - A person who hands over a phone and its unlock code.
//! - An issuer that attests something false, and a stolen issuer key that is still trusted.
//! - A request by value that is replaced before the wallet sees it. It is unsigned, and the wallet
//!   knows only where its answer goes. [`VerifierBuilder::signed`](crate::VerifierBuilder::signed)
//!   signs requests, and those of `haip` are always signed.
//! - Someone who saw the QR code and asks your program for the claims: the session's id is in the
//!   code. Bind results to the browser that asked, as [`super::howto`] says.
//! - A link shown to another person, who answers with their own credential. Ask with a
//!   `redirect_uri`, and compare the `response_code` that comes back with the one in
//!   `verification_details`.
