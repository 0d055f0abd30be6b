//! `idgate verify`: one captured presentation, offline. Prints the tree of checks with their
//! clauses, passed and failed.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use idgate_core::crypto::{Jwk, PublicKey, aws_lc_rs::PROVIDER};
use idgate_core::error::VerifyError;
use idgate_core::ids::IssuerId;
use idgate_core::limits::MAX_TTL_MS;
use idgate_core::request::CredentialFormat;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{RevocationPolicy, TrustEntry, TrustedKey};
use idgate_core::verify::{CredentialReport, Expected, VerifiedCredential, verify_sd_jwt_vc};
use serde_json::json;

use super::{Failure, Output};

/// The options of `idgate verify`.
#[derive(Args, Clone, Debug)]
pub struct VerifyOptions {
    /// The file that holds the presentation, as the wallet sent it in vp_token.
    file: PathBuf,
    /// The format of the presentation: vc+sd-jwt.
    #[arg(long, value_name = "FORMAT")]
    format: String,
    /// The nonce of the request.
    #[arg(long)]
    nonce: String,
    /// The client_id of the request, exactly as sent.
    #[arg(long, value_name = "CLIENT_ID")]
    client_id: String,
    /// The issuer's public key: a JWK or a PEM file. Repeatable.
    #[arg(long, value_name = "FILE", required = true)]
    issuer_key: Vec<PathBuf>,
    /// The value that `iss` must have; without it `iss` is not compared.
    #[arg(long, value_name = "VALUE")]
    iss: Option<String>,
    /// An accepted type; without it any type is. Repeatable.
    #[arg(long, value_name = "TYPE")]
    vct: Vec<String>,
    /// What to do about revocation: required, if_published or off.
    #[arg(long, value_name = "POLICY", default_value = "if_published")]
    revocation: String,
    /// The time of verification in RFC 3339; without it, now.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

/// Verifies the file. A refusal is an answer, not an error.
///
/// # Errors
/// An option cannot be used; the text says which and what to do.
pub fn run(options: &VerifyOptions, now: UnixMillis) -> Result<Output, Failure> {
    match CredentialFormat::from_name(&options.format) {
        Some(CredentialFormat::SdJwtVc) => {}
        _ => {
            let why = "this version verifies vc+sd-jwt";
            return Err(Failure::Usage(format!("--format {}: {why}", options.format)));
        }
    }
    let text = read(&options.file)?;
    let issuer = trust(options)?;
    let at = match &options.at {
        None => now,
        Some(text) => UnixMillis::parse_rfc3339(text)
            .ok_or_else(|| Failure::Usage(format!("--at {text}: write 2026-11-21T12:00:00Z")))?,
    };
    // No session lives longer than a day, so no good proof is older.
    let requested_at = at.minus(MAX_TTL_MS);
    let expected = Expected::new(&issuer, &options.client_id, &options.nonce, requested_at, at);
    let mut report = CredentialReport::default();
    let result = verify_sd_jwt_vc(&PROVIDER, text.trim(), &expected, &mut report);
    let mut output = Output::new(object(&report, &result), tree(&report, &result));
    output.code = if result.is_ok() { 0 } else { 3 };
    Ok(output)
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::Error(format!("{}: {error}", path.display())))
}

fn trust(options: &VerifyOptions) -> Result<TrustEntry, Failure> {
    let mut issuer = TrustEntry::new(IssuerId::new("issuer"));
    issuer.iss.clone_from(&options.iss);
    issuer.vct.clone_from(&options.vct);
    issuer.revocation = RevocationPolicy::from_name(&options.revocation).ok_or_else(|| {
        let policy = &options.revocation;
        Failure::Usage(format!("--revocation {policy}: write required, if_published or off"))
    })?;
    for path in &options.issuer_key {
        issuer.keys.push(issuer_key(path)?);
    }
    Ok(issuer)
}

fn issuer_key(path: &Path) -> Result<TrustedKey, Failure> {
    let text = read(path)?;
    let explain = |why: String| Failure::Error(format!("{}: {why}", path.display()));
    if text.trim_start().starts_with('{') {
        let jwk = Jwk::parse(text.as_bytes()).map_err(|error| explain(error.to_string()))?;
        let key = TrustedKey::new(jwk.key);
        return Ok(match jwk.kid {
            Some(kid) => key.with_kid(kid),
            None => key,
        });
    }
    let key = PublicKey::from_pem(&text).map_err(|error| explain(error.to_string()))?;
    Ok(TrustedKey::new(key))
}

type Outcome = Result<VerifiedCredential, VerifyError>;

fn tree(report: &CredentialReport, result: &Outcome) -> String {
    let mut text = String::new();
    let mut group = "";
    for (check, passed) in report.checks() {
        if check.group() != group {
            group = check.group();
            let _infallible = writeln!(text, "{group}");
        }
        let mark = if passed { "ok    " } else { "FAILED" };
        let _infallible = writeln!(text, "  {mark} {check} ({})", check.clause());
    }
    let _infallible = match result {
        Ok(credential) => {
            let facts = credential.facts();
            writeln!(
                text,
                "verified: {} by {}, {}, revocation {}",
                facts.credential_type,
                facts.issuer.as_deref().unwrap_or("an issuer without iss"),
                facts.alg,
                credential.revocation().name(),
            )
        }
        Err(error) => writeln!(text, "refused: {}: {}", error.reason, error.detail),
    };
    text
}

fn object(report: &CredentialReport, result: &Outcome) -> serde_json::Value {
    let checks: Vec<_> = report
        .checks()
        .map(|(check, passed)| {
            json!({
                "group": check.group(),
                "check": check.title(),
                "clause": check.clause(),
                "passed": passed,
            })
        })
        .collect();
    match result {
        Ok(credential) => {
            let facts = credential.facts();
            json!({
                "verified": true,
                "credential_type": facts.credential_type,
                "issuer": facts.issuer,
                "alg": facts.alg.name(),
                "revocation": credential.revocation().name(),
                "checks": checks,
            })
        }
        Err(error) => json!({
            "verified": false,
            "reason": error.reason,
            "detail": error.detail,
            "checks": checks,
        }),
    }
}
