//! The log of the issuers: the progress of an offer and the broken rule, and no secret.

use super::*;

/// A sandbox whose log is read at the end.
fn with_log() -> (Sandbox, BufReader<std::process::ChildStderr>) {
    let installation = Installation::in_directory();
    let temporary = tempfile::TempDir::new().unwrap();
    let mut child = command(&installation, &temporary, &["--log", "warn,idgate_sandbox=info"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told = serde_json::from_str(&line).unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    (Sandbox { child, told, installation, temporary }, log)
}

#[test]
fn the_log_has_offer_progress_and_broken_rules_without_secrets() {
    let (sandbox, mut log) = with_log();
    let phone = Phone::scan(&sandbox, &["pid", "--tx-code"]);
    let token = json_of(phone.redeem(&[]), 200)["access_token"].as_str().unwrap().to_owned();
    let nonce = phone.nonce();
    let wrong = WalletJwt::proof(&phone.key, "https://other.example", &nonce, now_ms());
    let wrong = wrong.sign(&phone.key);
    let refused = phone.post("credential", &token, None, &phone.request_with(&wrong));
    assert_eq!(refused.status, 400, "{refused:?}");
    let proof = WalletJwt::proof(&phone.key, &phone.issuer, &nonce, now_ms()).sign(&phone.key);
    let issued = phone.post("credential", &token, None, &phone.request_with(&proof));
    let issued = json_of(issued, 200);
    // Another thread writes the lines, perhaps after the answer.
    let mut text = String::new();
    while !text.contains("offer: issued") {
        assert!(log.read_line(&mut text).unwrap() > 0, "the log ended: {text}");
    }
    drop(sandbox);
    log.read_to_string(&mut text).unwrap();
    for part in [
        "offer: offered",
        "offer: token",
        "offer: failed",
        "offer: issued",
        "endpoint=\"/vci/credential\"",
        "configuration=\"pid_sd_jwt\"",
        "proof_type=\"jwt\"",
        "rule=\"aud is not the identifier of this issuer\"",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let failed = text.lines().find(|line| line.contains("issuer: refused")).unwrap();
    assert!(failed.contains("proof_type=\"jwt\""), "{failed}");
    let grant = &phone.offer["grants"][GRANT];
    let credential = issued["credentials"][0]["credential"].as_str().unwrap();
    for secret in [
        grant["pre-authorized_code"].as_str().unwrap(),
        &token,
        &nonce,
        &proof,
        credential,
        phone.key.public_jwk()["x"].as_str().unwrap(),
        issued["notification_id"].as_str().unwrap(),
        "Mustermann",
    ] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}
