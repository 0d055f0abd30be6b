//! The C ABI of idgate-core. `include/idgate.h` is generated from this crate. It says what each function does, and
//! who owns the memory.
//!
//! ```text
//!  caller ──> boundary (panics end here) ──> handles (looked up, never followed) ──> idgate-core
//! ```
//!
//! This crate makes no checks of its own: every decision is the core's, with the core's codes.

mod answer;
mod boundary;
mod bytes;
mod certificate;
mod choice;
mod dc_api;
mod entropy;
mod error;
mod failure;
mod fetcher;
mod fetching;
mod given;
mod handles;
mod in_use;
mod issuer;
mod json;
mod limits;
mod new_session;
mod presentation;
mod presented;
mod provider;
mod registration;
mod reply;
mod report;
mod request_object;
mod session;
mod signer;
mod sized;
mod status;
mod step;
mod trust;
mod verification;
mod verifier;
mod verifier_options;
mod webhook;

pub use self::answer::idgate_answer;
pub use self::bytes::{idgate_bytes, idgate_bytes_free};
pub use self::certificate::idgate_signer_certified;
pub use self::choice::{
    idgate_client_id, idgate_dc_api, idgate_mode, idgate_profile, idgate_request_mode,
    idgate_response_mode,
};
pub use self::dc_api::idgate_dc_api_requests;
pub use self::error::{
    idgate_error_check, idgate_error_clause, idgate_error_code, idgate_error_field,
    idgate_error_free, idgate_error_hint, idgate_error_issuer, idgate_error_kind,
    idgate_error_message, idgate_error_path, idgate_error_remedy, idgate_error_reply,
};
pub use self::failure::idgate_error;
pub use self::fetcher::{
    idgate_fetch_options, idgate_fetcher, idgate_fetcher_free, idgate_fetcher_new,
};
pub use self::fetching::{
    idgate_verification_fetch, idgate_verification_recall, idgate_verification_settle,
    idgate_verification_wait,
};
pub use self::given::idgate_str;
pub use self::in_use::idgate_in_use;
pub use self::new_session::idgate_new_session;
pub use self::presentation::{
    idgate_expected, idgate_format, idgate_presentation_begin, idgate_presentation_verify,
};
pub use self::registration::{idgate_registration_check, idgate_registration_compare};
pub use self::reply::idgate_reply;
pub use self::request_object::{idgate_asked, idgate_request_object};
pub use self::session::{
    idgate_reader, idgate_session, idgate_session_create, idgate_session_due,
    idgate_session_followed, idgate_session_free, idgate_session_info, idgate_session_released,
    idgate_session_restore, idgate_session_restore_result, idgate_session_result,
    idgate_session_result_snapshot, idgate_session_snapshot, idgate_session_state,
    idgate_session_status, idgate_transition,
};
pub use self::signer::{
    idgate_did_document, idgate_jwks, idgate_sign, idgate_signer, idgate_signer_free,
    idgate_signer_new, idgate_signer_new_external, idgate_signer_public_key,
    idgate_signing_key_generate,
};
pub use self::status::{IDGATE_ABI_VERSION, idgate_abi_version, idgate_status, idgate_version};
pub use self::step::{
    idgate_kind, idgate_step, idgate_step_free, idgate_step_json, idgate_step_kind,
    idgate_step_reply, idgate_step_transition,
};
pub use self::trust::{
    IDGATE_ALLOW_STALE, IDGATE_TEST_ONLY, idgate_material, idgate_material_options, idgate_trust,
    idgate_trust_add_issuer, idgate_trust_add_material, idgate_trust_free, idgate_trust_new,
};
pub use self::verification::{
    idgate_verification, idgate_verification_begin, idgate_verification_free,
    idgate_verification_step, idgate_verification_supply,
};
pub use self::verifier::{idgate_verifier, idgate_verifier_free, idgate_verifier_new};
pub use self::verifier_options::{
    idgate_verifier_options, idgate_verifier_options_client_id, idgate_verifier_options_dc_api,
    idgate_verifier_options_former_signer, idgate_verifier_options_free,
    idgate_verifier_options_new, idgate_verifier_options_profile,
    idgate_verifier_options_request_mode, idgate_verifier_options_request_uri_post,
    idgate_verifier_options_response_mode, idgate_verifier_options_signer,
    idgate_verifier_options_trust_version,
};
pub use self::webhook::{
    IDGATE_WEBHOOK_TOLERANCE_MS, idgate_webhook, idgate_webhook_attempt, idgate_webhook_headers,
    idgate_webhook_scheme, idgate_webhook_verify,
};
