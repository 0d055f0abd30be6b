//! The default of each setting, and how to change it.
//!
//! | setting | default | change it with |
//! |---|---|---|
//! | lifetime of a session | 5 minutes ([`DEFAULT_TTL_MS`](crate::limits::DEFAULT_TTL_MS)) | `ttl_ms` of the request, a minute to a day |
//! | how long claims are readable | 30 seconds ([`CLAIMS_RETENTION_MS`](crate::limits::CLAIMS_RETENTION_MS)) | fixed |
//! | tolerated clock difference | 60 seconds on tokens, none on certificates and CRLs ([`CLOCK_SKEW_MS`](crate::limits::CLOCK_SKEW_MS)) | fixed |
//! | holder binding | always required | fixed |
//! | `iss` of a credential | where present, must be the issuer's name if that name is a URL or a DID | [`Issuer::iss`](crate::Issuer::iss) |
//! | type of a credential | any type of that issuer; for mdoc the type that the request names | [`Issuer::vct`](crate::Issuer::vct), [`Issuer::doc_type`](crate::Issuer::doc_type) |
//! | algorithm | the trusted key's | `alg` of the request narrows it |
//! | extended key usage of a document signer | `1.0.18013.5.1.2` | [`Issuer::mdoc_eku`](crate::Issuer::mdoc_eku) |
//! | extended key usage of an SD-JWT VC issuer | any, unless all usages are for other purposes (for example serverAuth) | [`Issuer::x5c_eku`](crate::Issuer::x5c_eku) |
//! | revocation | a published status must be checked and good; a credential without one is accepted and reported as such | [`RevocationPolicy`](crate::trust::RevocationPolicy) |
//! | a status list that cannot be fetched | the credential is refused | [`Issuer::on_unknown_revocation`](crate::Issuer::on_unknown_revocation), [`Request::on_unknown_revocation`](crate::Request::on_unknown_revocation) |
//! | test material | accepted in test sessions only | [`Issuer::test_only`](crate::Issuer::test_only) marks it; you choose the [`Mode`](crate::Mode) |
//! | returned claims | the requested claims, no others | `claims` of the request |
//! | device MACs, the ISO/IEC TS 18013-7 transcript | in encrypted answers to a `draft` request only | fixed |
//! | requests to browsers | none | [`VerifierBuilder::dc_api`](crate::VerifierBuilder::dc_api) and [`Request::dc_api`](crate::Request::dc_api) |
//! | hashes | SHA-256, SHA-384, SHA-512 | fixed |
//! | an empty [`Trust`](crate::Trust) | refuses every request | |
//!
//! Only one switch turns a check off: `revocation: off`. Each result then says `off`. Where an
//! unknown status is accepted, the result says `unknown`.
//!
//! A session keeps the profile, the accepted types and the filters that it was created with. A new
//! [`Trust`](crate::Trust) decides from the next answer on, for open sessions as well;
//! [`SessionInfo::trust_version`](crate::SessionInfo::trust_version) says which one decided.
