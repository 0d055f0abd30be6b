//! The id in the paths of wallets: of a session, or of one of its offers.

use idgate_core::shell::OfferId;
use idgate_core::{Session, SessionId};

use super::{App, AppError};

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

impl App {
    /// The session of an open offer.
    ///
    /// # Errors
    /// The store failed.
    pub async fn session_of(&self, offer: &OfferId) -> Result<Option<SessionId>, AppError> {
        let session = self.store.session_of_offer(offer).await?;
        Ok(session.map(|session| session.id().clone()))
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
