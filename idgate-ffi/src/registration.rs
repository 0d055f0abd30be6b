//! What a registrar attests of who asks, and sessions that show it to wallets.

use std::ffi::c_char;

use idgate_core::shell::VerifierCertificate;
use idgate_core::{NewSession, RegistrationCertificate, RegistrationError, TenantId, UnixMillis};
use serde_json::json;

use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes, input, text};
use crate::entropy::OsEntropy;
use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::provider::PROVIDER;
use crate::session::idgate_transition;
use crate::signer::{SignerHandle, idgate_signer};
use crate::status::idgate_status;
use crate::verifier::{VerifierHandle, idgate_verifier, mode};

/// Checks a registration certificate (a JWT, `rc-wrp+jwt`) for use at `now_ms` beside the
/// certificate of `signer`, one of idgate_signer_certified: the dates, and its `sub`, which is the
/// organizationIdentifier of the certificate where that has one. Its signature is for wallets to
/// verify. JSON: `subject`, `issued_at_ms`, `expires_at_ms` (null: it does not say), and `compared`:
/// whether there was an organizationIdentifier.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_registration_check(
    signer: *const idgate_signer,
    registration: *const c_char,
    registration_len: usize,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let signer = handles::find::<SignerHandle>(signer)?;
        // SAFETY: the caller's promise.
        let registration = unsafe { text(registration, registration_len, "registration")? };
        let party = party_of(&signer)?;
        let now = UnixMillis(now_ms);
        let certificate = RegistrationCertificate::import(registration, party.as_deref(), now)
            .map_err(unusable)?;
        let told = json!({
            "subject": certificate.subject,
            "issued_at_ms": certificate.issued_at.map(|at| at.0),
            "expires_at_ms": certificate.expires_at.map(|at| at.0),
            "compared": party.is_some(),
        });
        put(out, || Ok(give(told.to_string())))
    })
}

/// What becomes of a registration certificate with this request, the same that
/// idgate_session_create takes. JSON: `sent`: whether it goes to wallets, which it does where a
/// request of the session is signed under `x509_hash`; `expired`: whether it would, had it not
/// expired; `beyond`: an array of texts, what is asked for and is not registered. Wallets warn of
/// it, or refuse.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_registration_compare(
    verifier: *const idgate_verifier,
    registration: *const c_char,
    registration_len: usize,
    request: *const c_char,
    request_len: usize,
    livemode: bool,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = handles::find::<VerifierHandle>(verifier)?;
        // SAFETY: the caller's promise, for both.
        let (registration, request) = unsafe {
            (
                text(registration, registration_len, "registration")?,
                input(request.cast(), request_len, "request")?,
            )
        };
        let certificate = RegistrationCertificate::parse(registration).map_err(unusable)?;
        let request = verifier.request(request, livemode)?;
        let attested = verifier.0.attest(&request, None, &certificate, UnixMillis(now_ms))?;
        let told = json!({
            "sent": attested.verifier_info.is_some(),
            "expired": attested.expired,
            "beyond": attested.beyond,
        });
        put(out, || Ok(give(told.to_string())))
    })
}

/// idgate_session_create of a party with a registration certificate, which goes to wallets as
/// `verifier_info` where idgate_registration_compare says so. `strict`: a request that asks for more
/// than is registered, or whose certificate has expired, is IDGATE_BAD_REQUEST.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_session_create_registered(
    verifier: *const idgate_verifier,
    request: *const c_char,
    request_len: usize,
    tenant: *const c_char,
    tenant_len: usize,
    livemode: bool,
    registration: *const c_char,
    registration_len: usize,
    strict: bool,
    now_ms: u64,
    out: *mut idgate_transition,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = handles::find::<VerifierHandle>(verifier)?;
        // SAFETY: the caller's promise, for all three.
        let (request, tenant, registration) = unsafe {
            (
                input(request.cast(), request_len, "request")?,
                text(tenant, tenant_len, "tenant")?,
                text(registration, registration_len, "registration")?,
            )
        };
        let certificate = RegistrationCertificate::parse(registration).map_err(unusable)?;
        let (request, now) = (verifier.request(request, livemode)?, UnixMillis(now_ms));
        let attested = verifier.0.attest(&request, None, &certificate, now)?;
        let attested = if strict { attested.strict()? } else { attested };
        let new = NewSession::of(mode(livemode)).tenant(TenantId::new(tenant));
        let new = new.attested(attested.verifier_info);
        put(out, || {
            let made = verifier.0.create_resolved_session(request, new, &mut OsEntropy, now)?;
            Ok(idgate_transition::give(made))
        })
    })
}

/// The organizationIdentifier of a signer's certificate.
fn party_of(signer: &SignerHandle) -> Result<Option<String>, Failure> {
    let chain = signer.signer.certificate_chain();
    if chain.is_empty() {
        return Err(Failure::config("the signer has no certificate; give a certified one"));
    }
    let certificate = VerifierCertificate::from_chain(&PROVIDER, chain);
    let certificate = certificate.map_err(Failure::config)?;
    Ok(certificate.organization_identifier)
}

fn unusable(why: RegistrationError) -> Failure {
    Failure::config(format!("the registration certificate {why}"))
}
