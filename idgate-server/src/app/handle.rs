//! What stands in the paths of wallets: a session, or one of its offers.

use idgate_core::shell::OfferId;
use idgate_core::{Session, SessionId};

use super::{App, AppError};

/// What a wallet names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Handle {
    /// A session, and the offer that is its own.
    Session(SessionId),
    /// Another offer, by its id.
    Offer(OfferId),
}

impl Handle {
    /// From a segment of a path; whether there is such a thing is another question.
    pub fn of(text: &str) -> Self {
        match text.starts_with("off_") {
            true => Self::Offer(OfferId::new(text)),
            false => Self::Session(SessionId::new(text)),
        }
    }

    /// The segment itself.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Session(id) => id.as_str(),
            Self::Offer(id) => id.as_str(),
        }
    }
}

impl App {
    /// The session that an offer is of, while that is open.
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
    fn an_offer_is_told_from_a_session_by_its_prefix() {
        assert_eq!(Handle::of("off_1"), Handle::Offer(OfferId::new("off_1")));
        for session in ["ses_1", "", "off", "OFF_1", "xoff_1"] {
            assert_eq!(Handle::of(session), Handle::Session(SessionId::new(session)));
        }
    }
}
