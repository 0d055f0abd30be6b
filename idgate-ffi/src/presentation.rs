//! One captured presentation, verified outside a session.

use std::ffi::c_char;

use idgate_core::crypto::{Alg, Curve};
use idgate_core::error::VerifyError;
use idgate_core::shell::{
    CapturedEncryption, ExpectedMdoc, ExpectedSdJwtVc, MdocRequest, TrustEntry, TrustSnapshot,
    VerifiedCredential, base64url, verify_mdoc, verify_sd_jwt_vc,
};
use idgate_core::trust::ListedBy;
use idgate_core::verify::CredentialReport;
use idgate_core::{CredentialFormat, Profile, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes, input};
use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::provider::PROVIDER;
use crate::report;
use crate::status::idgate_status::{self, IDGATE_MISUSE};
use crate::trust::{self, TrustHandle, idgate_trust};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectation {
    format: CredentialFormat,
    issuer_id: String,
    client_id: String,
    nonce: String,
    /// mdoc only.
    response_uri: Option<String>,
    /// mdoc only.
    doc_type: Option<String>,
    /// mdoc only.
    namespace: Option<String>,
    /// mdoc in an encrypted answer only.
    enc_key: Option<EncryptionKey>,
    /// mdoc in an encrypted answer only.
    apu: Option<String>,
    /// SD-JWT VC only.
    requested_at_ms: Option<UnixMillis>,
    #[serde(default)]
    claims: Vec<String>,
    alg: Option<Alg>,
    #[serde(default = "yes")]
    livemode: bool,
    #[serde(default)]
    checks: bool,
}

/// The JWK that an answer was encrypted to; only a device MAC needs `d`.
#[derive(Deserialize, Serialize)]
struct EncryptionKey {
    kty: String,
    crv: String,
    x: String,
    y: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    d: Option<Zeroizing<String>>,
}

fn yes() -> bool {
    true
}

/// Verifies one presentation as a wallet puts it into vp_token, without a session: nonce and
/// audience are compared with what you expect, whether they were used before is yours to know.
/// `expected`, JSON: `format` ("vc+sd-jwt", "mso_mdoc"), `issuer_id` (an entry of `trust`),
/// `client_id` and `nonce` exactly as sent, `claims`, and as needed `requested_at_ms` (SD-JWT VC:
/// older proofs are stale; default `now_ms`), `response_uri`, `doc_type`, `namespace` (mdoc, all
/// three), `enc_key` and `apu` (mdoc in an encrypted answer: the JWK that it was encrypted to, with
/// `d` when a device MAC shall be good, and the header's `apu`), `alg`, `livemode` (default true),
/// `checks` (default false).
/// `out`, JSON: `claims`, and what is known beside them, where a trusted list vouches also the
/// `provider` that it names; with `checks` also each check that was made and its clause.
/// IDGATE_REFUSED: the code is the reason.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_verify_presentation(
    trust: *const idgate_trust,
    expected: *const c_char,
    expected_len: usize,
    presentation: *const c_char,
    presentation_len: usize,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise, for both.
        let (expected, presentation) = unsafe {
            (
                input(expected.cast(), expected_len, "expected")?,
                input(presentation.cast(), presentation_len, "presentation")?,
            )
        };
        let expected: Expectation = serde_json::from_slice(expected)
            .map_err(|error| Failure::unreadable(IDGATE_MISUSE, "expected", &error))?;
        let issuer = trust.alone(&expected.issuer_id)?;
        let mut report = CredentialReport::default();
        let verified = match expected.format {
            CredentialFormat::SdJwtVc => {
                let issuer = trust::entry(&issuer)?;
                expected.sd_jwt_vc(issuer, presentation, UnixMillis(now_ms), &mut report)
            }
            _ => expected.mdoc(&issuer, presentation, UnixMillis(now_ms), &mut report)?,
        }?;
        let checks = expected.checks.then(|| report::checks(&report));
        put(out, || Ok(give(render(&verified, checks)?)))
    })
}

impl Expectation {
    fn sd_jwt_vc(
        &self,
        issuer: &TrustEntry,
        presentation: &[u8],
        now: UnixMillis,
        report: &mut CredentialReport,
    ) -> Result<VerifiedCredential, VerifyError> {
        let requested_at = self.requested_at_ms.unwrap_or(now);
        let mut expected =
            ExpectedSdJwtVc::new(issuer, &self.client_id, &self.nonce, requested_at, now);
        expected.livemode = self.livemode;
        expected.alg = self.alg;
        expected.claims = &self.claims;
        // What is not text is no SD-JWT either: the core says so.
        let presentation = std::str::from_utf8(presentation).unwrap_or_default();
        verify_sd_jwt_vc(&PROVIDER, presentation, &expected, report)
    }

    /// The outer error is the caller's, the inner one the presentation's.
    fn mdoc(
        &self,
        trust: &TrustSnapshot,
        presentation: &[u8],
        now: UnixMillis,
        report: &mut CredentialReport,
    ) -> Result<Result<VerifiedCredential, VerifyError>, Failure> {
        let needed = |value: &Option<String>, name: &str| {
            value.clone().ok_or_else(|| Failure::misuse(format!("expected: mdoc needs {name}")))
        };
        let response_uri = needed(&self.response_uri, "response_uri")?;
        let doc_type = needed(&self.doc_type, "doc_type")?;
        let namespace = needed(&self.namespace, "namespace")?;
        let request = MdocRequest {
            client_id: &self.client_id,
            nonce: &self.nonce,
            response_uri: &response_uri,
        };
        let encryption = self.encryption()?;
        let handovers = encryption.handovers(Profile::Draft);
        let issuer = trust::entry(trust)?;
        let mut expected = ExpectedMdoc::new(issuer, &doc_type, &namespace, request, now);
        expected = expected.remembering(trust);
        expected.handovers = &handovers;
        expected.reader_key = encryption.reader_key();
        expected.livemode = self.livemode;
        expected.alg = self.alg;
        expected.claims = &self.claims;
        // What is not base64url is no DeviceResponse either: the core says so.
        let text = std::str::from_utf8(presentation).unwrap_or_default();
        let bytes = base64url::decode(text).unwrap_or_default();
        Ok(verify_mdoc(&PROVIDER, &bytes, &expected, report))
    }

    fn encryption(&self) -> Result<CapturedEncryption, Failure> {
        let mut encryption = CapturedEncryption::default();
        if let Some(key) = &self.enc_key {
            let jwk = Zeroizing::new(serde_json::to_vec(key).unwrap_or_default());
            let unusable = |why: &str| Failure::misuse(format!("expected: enc_key {why}"));
            encryption = encryption.with_jwk(&PROVIDER, &jwk).map_err(|why| unusable(why.0))?;
            if encryption.key().is_none_or(|key| key.curve() != Curve::P256) {
                return Err(unusable("is not a P-256 key"));
            }
        }
        let Some(apu) = &self.apu else { return Ok(encryption) };
        let unusable = || Failure::misuse("expected: apu is not base64url of text");
        encryption.with_apu(apu).ok_or_else(unusable)
    }
}

/// What is known beside the claims.
#[derive(Serialize)]
struct Known<'v> {
    credential_type: &'v str,
    issuer: Option<&'v str>,
    alg: &'v str,
    holder_binding: &'v str,
    trust: &'v str,
    /// There where a trusted list says who the issuer is.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'v ListedBy>,
    session_transcript: Option<&'v str>,
    valid_from_ms: Option<u64>,
    valid_until_ms: Option<u64>,
    revocation: &'v str,
    revocation_details: Revocations,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuing_country_unbound: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Value>,
}

#[derive(Serialize)]
struct Revocations {
    credential: &'static str,
    signer: &'static str,
}

fn render(verified: &VerifiedCredential, checks: Option<Value>) -> Result<String, Failure> {
    let (facts, revocation) = (verified.facts(), verified.revocation_details());
    let known = Known {
        credential_type: &facts.credential_type,
        issuer: facts.issuer.as_deref(),
        alg: facts.alg.name(),
        holder_binding: facts.holder_binding.name(),
        trust: facts.trust.name(),
        provider: facts.listed_by.as_deref(),
        session_transcript: facts.session_transcript,
        valid_from_ms: facts.valid_from.map(|at| at.0),
        valid_until_ms: facts.valid_until.map(|at| at.0),
        revocation: revocation.summary().name(),
        revocation_details: Revocations {
            credential: revocation.credential.name(),
            signer: revocation.signer.name(),
        },
        issuing_country_unbound: facts.issuing_country_unbound.then_some(true),
        checks,
    };
    let known = serde_json::to_string(&known).map_err(Failure::internal)?;
    // The claims are a JSON text already. They go into one allocation of the right size, which the
    // caller gets: no copy of them is left behind.
    let rest = known.strip_prefix('{').unwrap_or_default();
    Ok([r#"{"claims":"#, verified.claims().as_json(), ",", rest].concat())
}
