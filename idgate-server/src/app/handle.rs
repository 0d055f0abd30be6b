//! The id in the paths of wallets: of a session, or of one of its offers.

use std::sync::Arc;

use idgate_core::shell::OfferId;
use idgate_core::{Session, SessionId, Verifier};

use super::{App, AppError};
use idgate_base::clock::Moment;
use idgate_store::{Basis, Recalled};

/// The id that a wallet names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Handle {
    /// A session, and its first offer.
    Session(SessionId),
    /// A further offer, by its id.
    Offer(OfferId),
}

impl Handle {
    /// Parses a path segment. Whether such a session or offer exists is checked later.
    pub fn of(text: &str) -> Self {
        match text.starts_with("off_") {
            true => Self::Offer(OfferId::new(text)),
            false => Self::Session(SessionId::new(text)),
        }
    }

    /// The path segment.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Session(id) => id.as_str(),
            Self::Offer(id) => id.as_str(),
        }
    }
}

/// A session that a wallet names, with the verifier for it.
pub(super) struct Found {
    pub(super) session: Session,
    pub(super) verifier: Arc<Verifier>,
    pub(super) basis: Basis,
}

impl App {
    /// The session of an open offer.
    ///
    /// # Errors
    /// The store failed.
    pub async fn session_of(&self, offer: &OfferId) -> Result<Option<SessionId>, AppError> {
        let session = self.store.session_of_offer(offer).await?;
        Ok(session.map(|session| session.id().clone()))
    }

    /// The session that a wallet names and the verifier for it, from memory. If anything has changed
    /// since, a commit finds out.
    pub(super) fn recalled(&self, handle: &Handle) -> Option<Found> {
        let Recalled { session, in_force, basis } = self.store.recall(handle.as_str())?;
        let verifier = self.held_for(in_force).ok()?.verifier;
        Some(Found { session, verifier, basis })
    }

    /// Like [`App::recalled`], but read from the store now.
    pub(super) async fn found(&self, handle: &Handle) -> Result<Option<Found>, AppError> {
        let since = Moment::now();
        let Some(session) = self.named(handle).await? else { return Ok(None) };
        let verifier = self.in_force(since).await?.verifier;
        Ok(Some(Found { session, verifier, basis: Basis::default() }))
    }

    /// The session that a wallet names, without its result.
    pub(super) async fn named(&self, handle: &Handle) -> Result<Option<Session>, AppError> {
        Ok(match handle {
            Handle::Session(id) => self.store.session(id).await?,
            Handle::Offer(id) => self.store.session_of_offer(id).await?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_tells_offers_from_sessions() {
        assert_eq!(Handle::of("off_1"), Handle::Offer(OfferId::new("off_1")));
        for session in ["ses_1", "", "off", "OFF_1", "xoff_1"] {
            assert_eq!(Handle::of(session), Handle::Session(SessionId::new(session)));
        }
    }
}
