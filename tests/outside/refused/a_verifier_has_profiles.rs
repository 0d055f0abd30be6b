//! E0599: a verifier without profiles cannot be built.
pub fn verifier(trust: idgate_core::Trust) {
    let _ = idgate_core::Verifier::builder(trust).unsigned("https://shop.example");
}
