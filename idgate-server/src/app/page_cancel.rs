//! A person cancels on the page (decisions 39).

use idgate_core::Reason;

use super::pages::PageView;
use super::{App, AppError};
use idgate_store::Committed;

/// How often a cancel that another change overtook is tried again. Each of those leaves the session open at most by
/// making it PENDING or giving up a verification.
const TRIES: usize = 3;

impl App {
    /// Whether a person can cancel, before a page becomes anybody's for it.
    ///
    /// # Errors
    /// The store failed, or a gateway of an earlier version shares it, which could not read a cancelled session.
    pub async fn expects_cancel(&self) -> Result<(), AppError> {
        self.check_clock()?;
        match self.store.is_known_to_all(Reason::Cancelled).await? {
            true => Ok(()),
            false => {
                let why = "a gateway of an earlier version shares the database";
                Err(AppError::Unavailable(why.into()))
            }
        }
    }

    /// Ends the session of a page: FAILED with `cancelled`. `false`: an answer is being checked, or it is settled.
    ///
    /// # Errors
    /// The session is gone, or those of [`Self::expects_cancel`].
    pub async fn cancel(&self, view: &PageView) -> Result<bool, AppError> {
        for _ in 0..TRIES {
            let session = self.store.session(view.session.id()).await?.ok_or(AppError::NotFound)?;
            let Some(ending) = session.cancelled(self.now()) else { return Ok(false) };
            self.expects_cancel().await?;
            if self.store.commit(ending, None).await? == Committed::Yes {
                tracing::info!(session_id = %session.id(), "cancelled by the person");
                return Ok(true);
            }
        }
        Err(AppError::Busy)
    }
}
