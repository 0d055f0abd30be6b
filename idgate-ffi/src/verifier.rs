//! A configured verifier: immutable, shared, replaced to change trust.

use std::ffi::c_char;
use std::sync::Arc;

use idgate_core::Verifier;
use idgate_core::crypto::aws_lc_rs::PROVIDER;

use crate::boundary::{boundary, put};
use crate::bytes::text;
use crate::failure::idgate_error;
use crate::handles;
use crate::signer::{SignerHandle, idgate_signer};
use crate::status::idgate_status;
use crate::trust::{TrustHandle, idgate_trust};

/// A verifier. Make a new one to change trust.
#[allow(non_camel_case_types)]
pub struct idgate_verifier {
    _private: [u8; 0],
}

pub(crate) struct VerifierHandle(pub(crate) Arc<Verifier>);

handles::named!(VerifierHandle => idgate_verifier);

/// A verifier that makes unsigned requests by value. Answers go to
/// `{base_url}/v1/oid4vp/response/{session id}`; `base_url` is an https origin, or http on
/// loopback. It trusts what `trust` holds now; `trust_version` is noted in sessions that it
/// decides. A session keeps the profile that it was made in, whichever verifier takes its answer.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_verifier_new_inline(
    base_url: *const c_char,
    base_url_len: usize,
    trust: *const idgate_trust,
    trust_version: u64,
    out: *mut *mut idgate_verifier,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise.
        let base_url = unsafe { text(base_url, base_url_len, "base_url")? };
        let trust = Arc::new(trust.snapshot(trust_version));
        let verifier = Verifier::builder(PROVIDER).inline(base_url).trust(trust).build()?;
        put(out, || Ok(handles::make(VerifierHandle(Arc::new(verifier)))))
    })
}

/// A verifier that makes signed requests by reference and takes encrypted answers. Wallets fetch
/// `{base_url}/v1/oid4vp/request/{session id}`, which is idgate_session_request_object, and the
/// gateway's did:web, which is idgate_did_document.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_verifier_new_jar(
    base_url: *const c_char,
    base_url_len: usize,
    signer: *const idgate_signer,
    trust: *const idgate_trust,
    trust_version: u64,
    out: *mut *mut idgate_verifier,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let signer = handles::find::<SignerHandle>(signer)?;
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise.
        let base_url = unsafe { text(base_url, base_url_len, "base_url")? };
        let trust = Arc::new(trust.snapshot(trust_version));
        let builder = Verifier::builder(PROVIDER).jar(base_url, Arc::clone(&signer.signer));
        let verifier = builder.trust(trust).build()?;
        put(out, || Ok(handles::make(VerifierHandle(Arc::new(verifier)))))
    })
}

/// Frees a verifier. Verifications that began with it go on.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_verifier_free(verifier: *mut idgate_verifier) -> idgate_status {
    boundary(core::ptr::null_mut(), || handles::free::<VerifierHandle>(verifier))
}
