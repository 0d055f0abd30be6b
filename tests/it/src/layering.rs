//! What the library may depend on, and the tables that everything outside relies on.

use std::collections::BTreeSet;
use std::process::Command;

use idgate_core::verify::Check;
use idgate_core::{ErrorCode, Reason};

/// IO, runtimes, clocks, randomness, the operating system itself, and other implementations of what
/// the library implements. What `aws-lc-rs` brings is C: it needs a target that has a compiler for it.
const NOT_IN_CORE: [&str; 24] = [
    "tokio",
    "mio",
    "hyper",
    "rusqlite",
    "socket2",
    "clap",
    "getrandom",
    "rand",
    "libc",
    "windows-sys",
    "axum",
    "chrono",
    "rustix",
    "log",
    "tracing",
    "wasm-bindgen",
    "web-time",
    "ssi",
    "isomdl",
    "sd-jwt-rs",
    "sd-jwt-payload",
    "reqwest",
    "async-std",
    "tracing-subscriber",
];

/// Decisions 16 and 25: `error`.
const ERRORS: &str = "invalid_request, invalid_json, unknown_field, unknown_issuer, \
    unsupported_format, invalid_cursor, invalid_limit, invalid_webhook_endpoint, invalid_scopes, \
    invalid_expiry, invalid_api_key, invalid_admin_token, insufficient_scope, not_found, \
    method_not_allowed, session_not_pending, invalid_response, state_mismatch, decryption_failed, \
    invalid_presentation, payload_too_large, rate_limited, temporarily_unavailable, \
    internal_error, metrics_unavailable, quota_exceeded";

/// Decisions 16: `reason` and `error_code`.
const REASONS: &str = "issuer_signature_invalid, untrusted_issuer, chain_invalid, \
    certificate_expired, certificate_revoked, revocation_unknown, credential_expired, \
    credential_not_yet_valid, credential_revoked, credential_suspended, holder_binding_missing, \
    holder_binding_invalid, nonce_mismatch, audience_mismatch, kb_jwt_stale, sd_hash_mismatch, \
    digest_mismatch, device_auth_invalid, doc_type_mismatch, type_mismatch, \
    algorithm_not_allowed, claim_missing, claim_filter_mismatch, subject_mismatch, \
    submission_mismatch, malformed_presentation, limit_exceeded, wallet_error, session_expired";

#[test]
fn core_has_no_io_no_runtime_no_randomness_and_no_system_below_it() {
    for features in ["", "rustcrypto", "aws-lc-rs"] {
        let crates = dependencies("idgate-core", features);
        assert!(crates.contains("idgate-core") && crates.contains("zeroize"), "{crates:?}");
        let found: Vec<&str> =
            NOT_IN_CORE.into_iter().filter(|name| crates.contains(*name)).collect();
        assert!(found.is_empty(), "with {features}: {found:?}");
    }
}

#[test]
fn the_sample_wallet_shares_no_code_with_core() {
    let crates = dependencies("idgate-testkit", "");
    assert!(crates.contains("p256"), "{crates:?}");
    assert!(!crates.contains("idgate-core") && !crates.contains("idgate-server"), "{crates:?}");
}

#[test]
fn the_tables_of_codes_are_those_of_the_decisions() {
    let errors: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(errors, ERRORS.split(", ").collect::<Vec<_>>());
    let reasons: Vec<&str> = Reason::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(reasons, REASONS.split(", ").collect::<Vec<_>>());
}

#[test]
fn every_check_has_a_title_and_a_clause() {
    let mut titles = BTreeSet::new();
    for check in Check::ALL {
        assert!(!check.clause().trim().is_empty(), "{check:?}");
        assert!(!check.group().is_empty(), "{check:?}");
        assert!(!check.title().is_empty() && titles.insert(check.title()), "{check:?}");
    }
    assert!(titles.len() >= 25, "{} checks", titles.len());
}

/// The crates that `package` is built from, by name.
fn dependencies(package: &str, features: &str) -> BTreeSet<String> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--manifest-path", manifest, "-p", package, "-e", "normal"])
        .args(["--no-default-features", "--features", features])
        .args(["--prefix", "none", "--format", "{p}"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(String::from).collect()
}
