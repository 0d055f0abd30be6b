//! E0308: live or test is a value with a name.
pub fn create(
    verifier: &idgate_core::Verifier,
    request: &idgate_core::Request,
    entropy: &mut dyn idgate_core::Entropy,
    now: idgate_core::UnixMillis,
) {
    let _ = verifier.create_session(request, true, entropy, now);
}
