//! E0639: only the rules of a session make a transition.
pub fn settle(session: idgate_core::Session) -> idgate_core::Transition {
    idgate_core::Transition { from: idgate_core::Revision(1), session, effects: Vec::new() }
}
