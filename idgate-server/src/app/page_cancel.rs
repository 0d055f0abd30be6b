//! Cancelling on the page (decisions 39).

use idgate_core::Reason;

use super::pages::PageView;
use super::{App, AppError};
use idgate_store::Committed;

/// How often a cancel is retried after another change came first. Such a change can leave the
/// session open only by making it PENDING or by giving up a verification.
const TRIES: usize = 3;

impl App {
    /// Checks that cancelling is possible, before a browser takes the page in order to cancel.
    ///
    /// # Errors
    /// The store failed, or a gateway of an earlier version shares it and could not read a
    /// cancelled session.
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

    /// Ends the session of a page as FAILED with `cancelled`. `false` if an answer is being checked
    /// or the session is settled.
    ///
    /// # Errors
    /// The session was deleted, or those of [`Self::expects_cancel`].
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
