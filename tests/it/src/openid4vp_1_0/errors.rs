//! Wallet errors (8.5): recorded by their standard name, without the wallet's own text.

use super::*;

const CODES: [(&str, &str); 11] = [
    ("access_denied", "access_denied"),
    ("invalid_request", "invalid_request"),
    ("invalid_client", "invalid_client"),
    ("vp_formats_not_supported", "vp_formats_not_supported"),
    ("invalid_request_uri_method", "invalid_request_uri_method"),
    ("invalid_transaction_data", "invalid_transaction_data"),
    ("wallet_unavailable", "wallet_unavailable"),
    ("processing_error", "processing_error"),
    ("invalid_request_object", "invalid_request_object"),
    ("unheard_of", "other"),
    ("Erika Mustermann said no", "other"),
];

#[test]
fn a_plain_or_encrypted_wallet_error_ends_a_1_0_session() {
    for variant in [v1(Prefix::RedirectUri, false), v1(Prefix::DecentralizedIdentifier, true), HAIP]
    {
        let mut desk = Desk::start(variant);
        for (sent, noted) in CODES {
            for encrypted in [false, true] {
                let created = desk.create(SD_JWT_VC);
                let asked = desk.request(&created, SD_JWT_VC);
                desk.settle(&Answer::error(&asked, sent, encrypted));
                let session = desk.tenant.read(&created.id);
                let shown = [&session["status"], &session["reason"], &session["wallet_error"]];
                assert_eq!(shown, ["FAILED", "wallet_error", noted], "{sent}");
            }
        }
    }
}

#[test]
fn an_error_with_another_state_changes_nothing() {
    for variant in [v1(Prefix::RedirectUri, false), HAIP] {
        let mut desk = Desk::start(variant);
        let created = desk.create(SD_JWT_VC);
        let asked = desk.request(&created, SD_JWT_VC);
        let mut error = Answer::error(&asked, "access_denied", true);
        error.parameters.insert("state".into(), "s".repeat(43).into());
        desk.post(&error.response_uri, &error.body()).expect_error(400, "state_mismatch");
        assert_eq!(desk.tenant.read(&created.id)["status"], "PENDING");
    }
}
