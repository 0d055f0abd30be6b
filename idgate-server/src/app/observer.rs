//! Lets an embedding program observe the gateway's sessions. `idgate serve` has no observer; the
//! sandbox's console is one.

use idgate_core::{Session, SessionId, Transition};

use super::{App, CreatedSession};

/// A program that observes the sessions of its own gateway.
pub trait Observer: Send + Sync {
    /// A session was stored; `body` is the tenant's request.
    fn created(&self, session: &Session, body: &[u8], created: &CreatedSession);

    /// An answer was accepted, and the session is VERIFIED. `report` has the members of a refusal's
    /// report (`GET /v1/sessions/{id}/report`), except the reason. The store does not keep it.
    fn accepted(&self, id: &SessionId, report: String);

    /// The tenant deleted a session.
    fn deleted(&self, id: &SessionId);
}

/// A new session, passed to the observer once it is stored.
pub(super) struct ForObserver<'a>(Option<(&'a dyn Observer, Box<Session>)>);

impl App {
    /// Keeps a new session for the observer, if there is one.
    pub(super) fn for_observer(&self, transition: &Transition) -> ForObserver<'_> {
        let observer = self.observer.as_deref();
        ForObserver(observer.map(|observer| (observer, Box::new(transition.session.clone()))))
    }
}

impl ForObserver<'_> {
    /// Tells the observer that the session is stored.
    pub(super) fn created(self, body: &[u8], created: &CreatedSession) {
        if let Some((observer, session)) = self.0 {
            observer.created(&session, body, created);
        }
    }
}
