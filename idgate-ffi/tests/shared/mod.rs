//! What several of these tests do with the ABI.

use std::ptr;

use idgate_ffi::idgate_status::IDGATE_OK;
use idgate_ffi::{idgate_material, idgate_trust, idgate_trust_add};

/// Adds material to an entry; a list with whoever vouches for its signer.
pub(crate) fn add(
    trust: *mut idgate_trust,
    issuer_id: &str,
    material: idgate_material,
    file: &[u8],
    signer_ca: &[u8],
    now_ms: u64,
) {
    // SAFETY: every pointer is to a live value of its length.
    let added = unsafe {
        idgate_trust_add(
            trust,
            issuer_id.as_ptr().cast(),
            issuer_id.len(),
            material as i32,
            file.as_ptr(),
            file.len(),
            signer_ca.as_ptr(),
            signer_ca.len(),
            0,
            now_ms,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    };
    assert_eq!(added, IDGATE_OK);
}
