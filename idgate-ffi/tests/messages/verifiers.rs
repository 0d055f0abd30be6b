//! Choices that do not fit together, and keys that cannot be used.

use std::ptr;

use idgate_ffi::*;
use idgate_testkit::keys::Curve;
use idgate_testkit::samples;

use super::shared::ok;
use super::trust::trusting;
use super::{NOW, Told, bytes, impossible};

pub(super) fn verifiers(told: &mut Told) {
    let (trust, signer) = (trusting(), signer());
    let refused = |told: &mut Told, options: *mut idgate_verifier_options| {
        let mut made = ptr::null_mut();
        // SAFETY: live handles, and a place of its own.
        told.of(|e| unsafe { idgate_verifier_new(options, trust, &mut made, e) });
        ok(idgate_verifier_options_free(options));
    };
    for base_url in [
        "",
        "shop.example",
        "http://shop.example",
        "https://",
        "https://shop.example/path",
        "ftp://a",
        "https://a b",
    ] {
        let options = options(base_url);
        ok(idgate_verifier_options_profile(options, 1));
        refused(told, options);
    }
    // Without a profile; by reference without a signer; in `haip` with a signer without a certificate; under
    // a missing certificate; for browsers in drafts.
    refused(told, options("https://shop.example"));
    let with = |profile: i32| {
        let options = options("https://shop.example");
        ok(idgate_verifier_options_profile(options, profile));
        options
    };
    let by_reference = with(2);
    ok(idgate_verifier_options_request_mode(by_reference, 2));
    refused(told, by_reference);
    let drafts = with(1);
    ok(idgate_verifier_options_dc_api(drafts, 1));
    refused(told, drafts);
    let unsigned = options("https://shop.example");
    ok(idgate_verifier_options_profile(unsigned, 3));
    refused(told, unsigned);
    let by_address = options("http://[::1]");
    ok(idgate_verifier_options_profile(by_address, 2));
    ok(idgate_verifier_options_client_id(by_address, 2));
    refused(told, by_address);
    let elsewhere = options("https://elsewhere.example");
    ok(idgate_verifier_options_profile(elsewhere, 2));
    ok(idgate_verifier_options_signer(elsewhere, signer));
    refused(told, elsewhere);
    for text in impossible() {
        let mut made = ptr::null_mut();
        // SAFETY: a text that is refused before it is read, or a live one.
        told.of(|e| unsafe { idgate_verifier_options_new(text, &mut made, e) });
    }
    ok(idgate_signer_free(signer));
    ok(idgate_trust_free(trust));
}

pub(super) fn signers(told: &mut Told) {
    let base_url = idgate_str::from("https://shop.example");
    let (mut made, mut out) = (ptr::null_mut(), bytes());
    let (zeros, short): (&[u8], &[u8]) = (&[0; 32], &[7; 31]);
    let public = samples::issuer_key(Curve::P384).public_jwk().to_string();
    let own = signer();
    extern "C" fn never(_: *mut std::ffi::c_void, _: *const u8, _: usize, _: *mut u8) -> i32 {
        1
    }
    // SAFETY: live texts, and places of their own.
    unsafe {
        for key in [zeros, short, b""] {
            told.of(|e| idgate_signer_new(base_url, key.into(), &mut made, e));
        }
        told.of(|e| idgate_signer_new("nowhere".into(), short.into(), &mut made, e));
        for key in ["", "{}", "x", "{\"kty\":\"EC\"}", public.as_str()] {
            let userdata = ptr::null_mut();
            told.of(|e| {
                idgate_signer_new_external(
                    base_url,
                    key.into(),
                    Some(never),
                    userdata,
                    &mut made,
                    e,
                )
            });
        }
        told.of(|e| {
            idgate_signer_new_external(base_url, "{}".into(), None, ptr::null_mut(), &mut made, e)
        });
        for chain in ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            told.of(|e| idgate_signer_certified(own, chain.into(), NOW, &mut made, e));
        }
        for jwt in ["", "x", "a.b.c", "e30.e30.e30"] {
            told.of(|e| idgate_registration_check(own, jwt.into(), NOW, &mut out, e));
        }
        for keys in ["", "{}", "[{}]", "[7]", "[{\"kty\":\"RSA\"}]", "x"] {
            told.of(|e| idgate_jwks(base_url, keys.into(), &mut out, e));
            told.of(|e| idgate_did_document(base_url, keys.into(), &mut out, e));
        }
        told.of(|e| idgate_did_document("nowhere".into(), "[]".into(), &mut out, e));
    }
    ok(idgate_signer_free(own));
}

fn options(base_url: &str) -> *mut idgate_verifier_options {
    let mut options = ptr::null_mut();
    // SAFETY: a live text, and a place of its own.
    ok(unsafe { idgate_verifier_options_new(base_url.into(), &mut options, ptr::null_mut()) });
    options
}

/// A signer of shop.example.
fn signer() -> *mut idgate_signer {
    let mut made = ptr::null_mut();
    let key: &[u8] = &[7; 32];
    // SAFETY: live texts, and a place of its own.
    ok(unsafe {
        idgate_signer_new("https://shop.example".into(), key.into(), &mut made, ptr::null_mut())
    });
    made
}

/// A verifier of these profiles.
pub(super) fn verifier(profiles: &[i32]) -> *mut idgate_verifier {
    let (trust, options) = (trusting(), options("https://shop.example"));
    let mut made = ptr::null_mut();
    for profile in profiles {
        ok(idgate_verifier_options_profile(options, *profile));
    }
    // SAFETY: live handles, and a place of its own.
    ok(unsafe { idgate_verifier_new(options, trust, &mut made, ptr::null_mut()) });
    ok(idgate_verifier_options_free(options));
    ok(idgate_trust_free(trust));
    made
}
