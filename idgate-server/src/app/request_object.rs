//! The signed request that a wallet fetches (decisions 5 and 8).

use idgate_core::error::NotFetched;
use idgate_core::shell::RequestObjectJwt;
use idgate_core::{Asked, RequestObject, Session, SessionId, Status};

use super::{Admission, App, AppError, Handle, Visit};
use idgate_base::clock::Moment;
use idgate_base::spans::{Stage, stage};
use idgate_store::Committed;

/// How often a fetch is retried after another change came first. It can be overtaken once by a
/// fetch that makes the session PENDING; after that, only a lost lease can leave the session open.
const TRIES: usize = 3;

impl App {
    /// The Request Object of an offer. CREATED becomes PENDING before it is returned.
    ///
    /// # Errors
    /// There is nothing to fetch, `wallet_nonce` is too long, or the visit is not admitted.
    pub async fn fetch_request(
        &self,
        handle: &Handle,
        asked: &Asked<'_>,
        visit: &Visit<'_>,
        admit: impl FnOnce(SessionId) -> Admission,
    ) -> Result<RequestObjectJwt, AppError> {
        self.check_clock()?;
        let mut admit = Some(admit);
        for _ in 0..TRIES {
            let signing = self.sign_request(handle, asked, visit, &mut admit);
            let (session, RequestObject { transition, jwt, .. }) = signing.await?;
            // Before the commit, because the commit wakes the page.
            if visit.counts {
                self.note_fetched(&session).await;
            }
            let Some(transition) = transition else { return Ok(jwt) };
            if self.store.commit(transition, None).await? == Committed::Yes {
                return Ok(jwt);
            }
        }
        Err(AppError::Busy)
    }

    /// Checks, before a body is read, that there is a Request Object to fetch.
    ///
    /// # Errors
    /// The session is unknown or settled.
    pub async fn expects_fetch(&self, handle: &Handle) -> Result<(), AppError> {
        let session = self.named(handle).await?.ok_or(AppError::NotFound)?;
        match session.status_at(self.now()) {
            Status::Created | Status::Pending => Ok(()),
            _ => Err(AppError::NotFound),
        }
    }

    /// Like [`App::fetch_request`], without changing the session.
    ///
    /// # Errors
    /// As [`App::fetch_request`].
    pub async fn peek_request(
        &self,
        handle: &Handle,
        visit: &Visit<'_>,
        admit: impl FnOnce(SessionId) -> Admission,
    ) -> Result<RequestObjectJwt, AppError> {
        let asked = Asked::get(handle.as_str());
        Ok(self.sign_request(handle, &asked, visit, &mut Some(admit)).await?.1.jwt)
    }

    async fn sign_request(
        &self,
        handle: &Handle,
        asked: &Asked<'_>,
        visit: &Visit<'_>,
        admit: &mut Option<impl FnOnce(SessionId) -> Admission>,
    ) -> Result<(Session, RequestObject), AppError> {
        let since = Moment::now();
        let session = self.named(handle).await?.ok_or(AppError::NotFound)?;
        self.check_turn(&session, visit).await?;
        if let Some(admit) = admit.take() {
            admit(session.id().clone()).await?;
        }
        let verifier = self.in_force(since).await?.verifier;
        let sign = || verifier.request_object(&session, asked, self.now());
        let object = stage(Stage::Sign, sign)?;
        Ok((session, object))
    }
}

impl From<NotFetched> for AppError {
    fn from(error: NotFetched) -> Self {
        match error {
            NotFetched::NotFetchable => Self::NotFound,
            NotFetched::Signer(error) => Self::Unavailable(error.to_string()),
            other => Self::RequestObject(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use idgate_core::crypto::SignerUnavailable;

    use super::*;

    #[test]
    fn a_fetch_without_a_signer_is_answered_with_try_again() {
        let error = NotFetched::Signer(SignerUnavailable::new("no randomness"));
        assert!(matches!(AppError::from(error), AppError::Unavailable(_)));
    }
}
