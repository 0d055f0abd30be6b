//! The standards and versions that this crate implements, and the differences between wallets.
//!
//! | | |
//! |---|---|
//! | request | OpenID4VP drafts with `presentation_definition` (Presentation Exchange 2); OpenID4VP 1.0 and HAIP 1.0 with DCQL |
//! | transport of the request | a link, by value, unsigned, `redirect_uri:` client id; or RFC 9101 Request Objects, ES256, under a `did:web`, and outside of drafts under `x509_san_dns:` or `x509_hash:`; or from a page to its browser, `openid4vp-v1-unsigned`, `-signed` and `-multisigned`, and for mdocs `org-iso-mdoc` (ISO/IEC TS 18013-7 Annex C) |
//! | answer | `direct_post`; or `direct_post.jwt`, through browsers `dc_api.jwt`: ECDH-ES on P-256 with A128GCM or A256GCM, in drafts also A128CBC-HS256; for `org-iso-mdoc` HPKE on P-256 with AES-128-GCM |
//! | SD-JWT VC | RFC 9901 with key binding, always; `typ` `dc+sd-jwt` or `vc+sd-jwt`; bare issuer keys, or `x5c` below the issuer's roots |
//! | mdoc | ISO/IEC 18013-5, certificates in its Annex B profile; transcripts of OpenID4VP 1.0 B.2.6 and, encrypted and in drafts, of ISO/IEC TS 18013-7 B.4.4; of its C.5 in answers to `org-iso-mdoc` |
//! | signatures | ES256, ES384, ES512; certificates also with RSA and on brainpoolP256r1, P384r1 and P512r1 |
//! | status | Token Status List as JWT, for mdoc also as CWT; CRLs (RFC 5280) |
//! | trust | issuer keys as JWK or SPKI; roots in PEM or DER, ICAO Master Lists, VICALs |
//!
//! Not supported: EdDSA credentials, OCSP.
//!
//! # Variants of wallets that are accepted
//!
//! Wallets in use send each of these, and accepting them weakens no check:
//!
//! - `vp_token` as a string or as an array, or with DCQL a bare string in place of an array with
//!   one element; `presentation_submission` as an object or as its text; the body as a form or as
//!   JSON.
//! - A single presentation at `$` or at `$[0]`; several mdocs in one DeviceResponse, all at `$`.
//! - The label `vc+sd-jwt` or `dc+sd-jwt` in the submission, for either `typ` of the credential.
//! - `openid4vp://`, `eudi-openid4vp://` and `haip-vp://` links: see
//!   [`Scheme`](crate::request::Scheme).
//!
//! # Where the verifier is strict
//!
//! - Base64url with padding, JSON with duplicate members and CBOR with trailing bytes are refused.
//! - A plain presentation is refused where an encrypted answer is expected, and the other way
//!   round.
//! - Outside of drafts, device MACs are refused. Several documents in one DeviceResponse are
//!   refused there unless the trust entry allows them.
//! - `aud` of a key binding JWT is one string: the `client_id` exactly as sent. Through a browser
//!   it is `origin:` and the page's origin, whether the request was signed or not.
//! - An unknown status mechanism counts as an unknown status: the credential is refused, unless the
//!   trust entry says `off`.
