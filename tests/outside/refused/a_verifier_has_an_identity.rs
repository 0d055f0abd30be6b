//! E0599: a verifier that is neither signed nor unsigned cannot be built.
pub fn verifier(trust: idgate_core::Trust) {
    let _ = idgate_core::Verifier::builder(trust).profiles([idgate_core::Profile::V1_0]).build();
}
