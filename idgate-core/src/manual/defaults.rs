//! What happens when nothing else is said, and how to say something else.
//!
//! | what | default | otherwise |
//! |---|---|---|
//! | a session lives | 5 minutes ([`DEFAULT_TTL_MS`](crate::limits::DEFAULT_TTL_MS)) | `ttl_ms` of the request, a minute to a day |
//! | claims are readable | 30 seconds ([`CLAIMS_RETENTION_MS`](crate::limits::CLAIMS_RETENTION_MS)) | fixed |
//! | clocks may differ | 60 seconds on tokens, nothing on certificates and CRLs ([`CLOCK_SKEW_MS`](crate::limits::CLOCK_SKEW_MS)) | fixed |
//! | proof of the holder | always demanded | never optional |
//! | `iss` of a credential | must be the issuer's name if that is a URL or a DID, where present | [`Issuer::iss`](crate::Issuer::iss) |
//! | type of a credential | any of that issuer; for mdoc what the request names | [`Issuer::vct`](crate::Issuer::vct), [`Issuer::doc_type`](crate::Issuer::doc_type) |
//! | algorithm | the trusted key's | `alg` of the request narrows it |
//! | extended key usage of a document signer | `1.0.18013.5.1.2` | [`Issuer::mdoc_eku`](crate::Issuer::mdoc_eku) |
//! | extended key usage of an SD-JWT VC issuer | any, but not for other things alone (for example serverAuth) | [`Issuer::x5c_eku`](crate::Issuer::x5c_eku) |
//! | revocation | what is published must be asked and good; nothing published is reported | [`RevocationPolicy`](crate::trust::RevocationPolicy) |
//! | a status list that cannot be had | the credential is refused | [`Issuer::on_unknown_revocation`](crate::Issuer::on_unknown_revocation), [`Request::on_unknown_revocation`](crate::Request::on_unknown_revocation) |
//! | test material | serves test sessions only | [`Issuer::test_only`](crate::Issuer::test_only) marks it; the [`Mode`](crate::Mode) is yours to say |
//! | claims that come back | those asked for, no others | `claims` of the request |
//! | device MACs, the ISO/IEC TS 18013-7 transcript | in encrypted answers to a `draft` request only | fixed |
//! | requests to browsers | none | [`VerifierBuilder::dc_api`](crate::VerifierBuilder::dc_api) and [`Request::dc_api`](crate::Request::dc_api) |
//! | hashes | SHA-256, SHA-384, SHA-512 | fixed |
//! | an empty [`Trust`](crate::Trust) | refuses every request | |
//!
//! There is no switch that turns a check off, but for one: `revocation: off`, and then each result
//! says `off`. Where an unknown status is accepted, the result says `unknown`.
//!
//! A session keeps what it was made with: its profile, its accepted types, its filters. A new
//! [`Trust`](crate::Trust) decides from the next answer on, for open sessions as well;
//! [`SessionInfo::trust_version`](crate::SessionInfo::trust_version) says which one decided.
