//! Registration certificates: what a registrar attests that a tenant may ask for.

use idgate_core::RegistrationCertificate;
use idgate_core::UnixMillis;
use idgate_core::shell::VerifierCertificate;
use serde_json::json;

use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes};
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input, text};
use crate::handles;
use crate::new_session::{Wanted, idgate_new_session, unusable};
use crate::provider::PROVIDER;
use crate::signer::{SignerHandle, idgate_signer};
use crate::status::idgate_status;
use crate::verifier::{VerifierHandle, idgate_verifier};

/// Checks a registration certificate (a JWT, `rc-wrp+jwt`) for use at `now_ms` together with the certificate of
/// `signer`, one of idgate_signer_certified: the dates, that its `sub` is the organizationIdentifier of the
/// certificate, if that has one, and that its `srv_id` is one of the organizational units, if both are there. Wallets
/// verify its signature. `out` gets JSON: `subject`, `issued_at_ms`, `expires_at_ms` (null: it has no end), and
/// `compared`, whether there was an organizationIdentifier.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_registration_check(
    signer: *const idgate_signer,
    registration: idgate_str,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let signer = handles::find::<SignerHandle>(signer)?;
        // SAFETY: the caller's promise.
        let registration = unsafe { text(registration, "registration")? };
        let access = certificate_of(&signer)?;
        let (party, now) = (access.organization_identifier.as_deref(), UnixMillis(now_ms));
        let certificate =
            RegistrationCertificate::import(registration, party, now).map_err(unusable)?;
        certificate.check_service(&access.services).map_err(unusable)?;
        let told = json!({
            "subject": certificate.subject,
            "issued_at_ms": certificate.issued_at.map(|at| at.0),
            "expires_at_ms": certificate.expires_at.map(|at| at.0),
            "compared": party.is_some(),
        });
        put(out, || Ok(give(told.to_string())))
    })
}

/// Compares the registration certificate of `new_session` with a request, the same that idgate_session_create takes.
/// `out` gets JSON: `sent`, whether it goes to wallets, which it does where a request of the session is signed under
/// `x509_hash`, or for browsers as `org-iso-mdoc`; `expired`, whether it would go if it had not expired; `beyond`, an
/// array of texts that name what the request asks for and the certificate does not register. Wallets warn the person of
/// that, or refuse.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_registration_compare(
    verifier: *const idgate_verifier,
    request: idgate_str,
    new_session: *const idgate_new_session,
    now_ms: u64,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let verifier = handles::find::<VerifierHandle>(verifier)?;
        // SAFETY: the caller's promise, for both.
        let (request, wanted) = unsafe { (input(request, "request")?, Wanted::read(new_session)?) };
        let missing = || Failure::misuse("the new session has no registration to compare");
        let certificate = wanted.registration.as_ref().ok_or_else(missing)?;
        let request = verifier.resolve(request, wanted.mode)?;
        let now = UnixMillis(now_ms);
        let attested = verifier.verifier.attest(&request, None, certificate, now)?;
        let told = json!({
            "sent": attested.verifier_info.is_some(),
            "expired": attested.expired,
            "beyond": attested.beyond,
        });
        put(out, || Ok(give(told.to_string())))
    })
}

/// A signer's certificate.
fn certificate_of(signer: &SignerHandle) -> Result<VerifierCertificate, Failure> {
    let chain = signer.signer.certificate_chain();
    if chain.is_empty() {
        return Err(Failure::config("the signer has no certificate; give a certified one"));
    }
    VerifierCertificate::from_chain(&PROVIDER, chain).map_err(Failure::config)
}
