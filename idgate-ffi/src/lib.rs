//! The C ABI of idgate-core. What each function does and who owns what stands in
//! `include/idgate.h`, which is made from this crate.
//!
//! ```text
//!  caller ──> boundary (panics end here) ──> handles (looked up, never followed) ──> idgate-core
//! ```
//!
//! No checks of its own: every verdict is the core's, with the core's codes.

mod boundary;
mod bytes;
mod certificate;
mod dc_api;
mod entropy;
mod error;
mod failure;
mod fetcher;
mod fetching;
mod handles;
mod in_use;
mod limits;
mod presentation;
mod profiles;
mod provider;
mod registration;
mod report;
mod request_object;
mod session;
mod signer;
mod status;
mod trust;
mod trust_entry;
mod verification;
mod verifier;
mod webhook;

pub use self::bytes::{idgate_bytes, idgate_bytes_free};
pub use self::certificate::idgate_signer_certified;
pub use self::dc_api::idgate_dc_api_requests;
pub use self::error::{
    idgate_error_clause, idgate_error_code, idgate_error_free, idgate_error_message,
    idgate_error_path,
};
pub use self::failure::idgate_error;
pub use self::fetcher::{idgate_fetcher, idgate_fetcher_free, idgate_fetcher_new};
pub use self::fetching::{
    idgate_verification_fetch, idgate_verification_recall, idgate_verification_settle,
    idgate_verification_wait,
};
pub use self::in_use::idgate_in_use;
pub use self::presentation::idgate_verify_presentation;
pub use self::registration::{
    idgate_registration_check, idgate_registration_compare, idgate_session_create_registered,
};
pub use self::request_object::{idgate_offer_request_object, idgate_session_request_object};
pub use self::session::{
    idgate_session, idgate_session_create, idgate_session_due, idgate_session_followed,
    idgate_session_free, idgate_session_info, idgate_session_released, idgate_session_restore,
    idgate_session_restore_result, idgate_session_result, idgate_session_result_for,
    idgate_session_result_snapshot, idgate_session_snapshot, idgate_transition,
};
pub use self::signer::{
    idgate_did_document, idgate_jwks, idgate_sign, idgate_signer, idgate_signer_free,
    idgate_signer_new, idgate_signer_new_external, idgate_signer_public_key,
    idgate_signing_key_generate,
};
pub use self::status::{IDGATE_ABI_VERSION, idgate_abi_version, idgate_status, idgate_version};
pub use self::trust::{
    IDGATE_ALLOW_STALE, IDGATE_TEST_ONLY, idgate_material, idgate_trust, idgate_trust_add,
    idgate_trust_add_entry, idgate_trust_free, idgate_trust_new,
};
pub use self::verification::{
    idgate_dc_api_verification_begin, idgate_offer_verification_begin, idgate_step,
    idgate_step_kind, idgate_verification, idgate_verification_begin, idgate_verification_free,
    idgate_verification_step, idgate_verification_supply,
};
pub use self::verifier::{
    idgate_verifier, idgate_verifier_free, idgate_verifier_new, idgate_verifier_new_inline,
    idgate_verifier_new_jar,
};
pub use self::webhook::{
    IDGATE_WEBHOOK_TOLERANCE_MS, idgate_webhook_headers, idgate_webhook_verify,
    idgate_webhook_verify_standard,
};
