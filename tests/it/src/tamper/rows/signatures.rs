//! Changes to the signature of a compact JWS.

use idgate_testkit::jws;
use idgate_testkit::keys::SigningKey;

/// An algorithm that does not fit the key.
pub(super) fn other_alg(key: &SigningKey) -> &'static str {
    if key.alg() == "ES384" { "ES256" } else { "ES384" }
}

/// Another algorithm that does not fit the key.
pub(super) fn third_alg(key: &SigningKey) -> &'static str {
    if key.alg() == "ES512" { "ES256" } else { "ES512" }
}

/// An untrusted key on the same curve.
pub(super) fn stranger(key: &SigningKey) -> SigningKey {
    SigningKey::from_seed(key.curve(), "stranger")
}

/// Flips one bit.
pub(super) fn flip(jwt: &mut String) {
    change(jwt, |mut signature| {
        signature.iter_mut().take(1).for_each(|byte| *byte ^= 1);
        signature
    });
}

/// r = s = 0, which naive verifiers accept for every message (CVE-2022-21449).
pub(super) fn zero(jwt: &mut String) {
    change(jwt, |signature| vec![0; signature.len()]);
}

/// r = 0.
pub(super) fn zero_r(jwt: &mut String) {
    change(jwt, |mut signature| {
        let half = signature.len() / 2;
        signature.iter_mut().take(half).for_each(|byte| *byte = 0);
        signature
    });
}

/// Appends a byte.
pub(super) fn extend(jwt: &mut String) {
    change(jwt, |signature| [signature, vec![0]].concat());
}

/// As long as DER, but not DER.
pub(super) fn lengthen(jwt: &mut String) {
    change(jwt, |signature| vec![0x30; signature.len() + 8]);
}

/// Removes the last byte.
pub(super) fn truncate(jwt: &mut String) {
    change(jwt, |mut signature| {
        signature.pop();
        signature
    });
}

/// The same r and s as an ASN.1 SEQUENCE, as in X.509.
pub(super) fn to_der(jwt: &mut String) {
    change(jwt, |signature| {
        let (r, s) = signature.split_at(signature.len() / 2);
        let body = [der_integer(r), der_integer(s)].concat();
        [&[0x30][..], &der_length(body.len()), &body].concat()
    });
}

fn change(jwt: &mut String, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    *jwt = jws::with_signature(jwt, change).unwrap_or_default();
}

fn der_integer(bytes: &[u8]) -> Vec<u8> {
    let mut digits: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
    if digits.first().is_none_or(|top| *top >= 0x80) {
        digits.insert(0, 0);
    }
    [&[0x02][..], &der_length(digits.len()), &digits].concat()
}

fn der_length(length: usize) -> Vec<u8> {
    let length = u8::try_from(length).unwrap_or_default();
    if length < 0x80 { vec![length] } else { vec![0x81, length] }
}
