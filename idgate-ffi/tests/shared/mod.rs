//! Helpers for the ABI, shared by several tests.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::ptr;

use idgate_ffi::idgate_status::{self, IDGATE_OK};
use idgate_ffi::{
    idgate_bytes, idgate_bytes_free, idgate_error, idgate_error_code, idgate_error_free,
    idgate_error_message, idgate_expected, idgate_format, idgate_material, idgate_material_options,
    idgate_str, idgate_trust, idgate_trust_add_issuer, idgate_trust_add_material, idgate_trust_new,
    idgate_verifier, idgate_verifier_new, idgate_verifier_options_free,
    idgate_verifier_options_new, idgate_verifier_options_profile,
};

/// No text.
pub(crate) const NONE: idgate_str = idgate_str::NONE;

pub(crate) fn ok(status: idgate_status) {
    assert_eq!(status, IDGATE_OK);
}

/// Adds an issuer, or replaces it.
pub(crate) fn add_issuer(trust: *mut idgate_trust, json: &str) {
    // SAFETY: a live text.
    ok(unsafe { idgate_trust_add_issuer(trust, json.into(), ptr::null_mut()) });
}

/// Adds material to an issuer; a list with the CA of its signer.
pub(crate) fn add(
    trust: *mut idgate_trust,
    issuer_id: &str,
    material: idgate_material,
    file: &[u8],
    signer_ca: &[u8],
    now_ms: u64,
) {
    let options = idgate_material_options {
        size: size_of::<idgate_material_options>(),
        flags: 0,
        now_ms,
        signer_ca: signer_ca.into(),
        report_out: ptr::null_mut(),
    };
    let (issuer_id, none) = (issuer_id.into(), ptr::null_mut());
    // SAFETY: every pointer is to a live value of its length.
    ok(unsafe {
        idgate_trust_add_material(trust, issuer_id, material as i32, file.into(), &options, none)
    });
}

/// An empty collection.
pub(crate) fn trust() -> *mut idgate_trust {
    let mut made = ptr::null_mut();
    // SAFETY: a place of its own.
    ok(unsafe { idgate_trust_new(&mut made, ptr::null_mut()) });
    made
}

/// A verifier at that address that makes unsigned requests of that profile.
pub(crate) fn verifier(
    base_url: &str,
    profile: i32,
    trust: *const idgate_trust,
) -> *mut idgate_verifier {
    let (mut options, mut made) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: live values and places of their own.
    unsafe {
        ok(idgate_verifier_options_new(base_url.into(), &mut options, ptr::null_mut()));
        ok(idgate_verifier_options_profile(options, profile));
        ok(idgate_verifier_new(options, trust, &mut made, ptr::null_mut()));
    }
    ok(idgate_verifier_options_free(options));
    made
}

/// The expectation of an SD-JWT VC in live mode.
pub(crate) fn expected(
    issuer_id: &str,
    client_id: &str,
    nonce: &str,
    claims: &[idgate_str],
) -> idgate_expected {
    idgate_expected {
        size: size_of::<idgate_expected>(),
        format: idgate_format::IDGATE_FORMAT_SD_JWT_VC as i32,
        profile: 0,
        issuer_id: issuer_id.into(),
        client_id: client_id.into(),
        nonce: nonce.into(),
        sent_at_ms: 0,
        claims: claims.as_ptr(),
        claims_len: claims.len(),
        claim_paths: NONE,
        mode: 0,
        checks: 0,
        alg: NONE,
        doc_type: NONE,
        name_space: NONE,
        response_uri: NONE,
        origin: NONE,
        enc_key: NONE,
        apu: NONE,
    }
}

/// The bytes, which are freed.
pub(crate) fn taken(given: idgate_bytes) -> Vec<u8> {
    let bytes = match given.len {
        0 => Vec::new(),
        // SAFETY: the library gave them, and they are freed only here.
        len => unsafe { std::slice::from_raw_parts(given.ptr, len) }.to_vec(),
    };
    ok(idgate_bytes_free(given));
    bytes
}

/// A text that belongs to a live object.
pub(crate) fn text(borrowed: idgate_str) -> String {
    if borrowed.ptr.is_null() {
        return String::new();
    }
    // SAFETY: the object that it belongs to is not freed yet.
    let bytes = unsafe { std::slice::from_raw_parts(borrowed.ptr.cast(), borrowed.len) };
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The code of an error, which is freed.
pub(crate) fn code_of(error: *mut idgate_error) -> String {
    let code = text(idgate_error_code(error));
    ok(idgate_error_free(error));
    code
}

/// The message of an error, which is freed.
pub(crate) fn message_of(error: *mut idgate_error) -> String {
    let message = text(idgate_error_message(error));
    ok(idgate_error_free(error));
    message
}
