//! The signed request that a wallet fetches (decisions 5 and 8).

use idgate_core::error::NotFetched;
use idgate_core::shell::{Phase, RequestObjectJwt};
use idgate_core::{Asked, RequestObject, SessionId, Status};

use super::handle::Found;
use super::{Admission, App, AppError, Handle, Visit};
use idgate_base::spans::{Stage, stage};
use idgate_store::Committed;

/// How often a fetch is tried. Memory can be out of date once, and another fetch can make the
/// session PENDING once; after that, only a lost lease can leave the session open.
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
        // A fetch of a PENDING session commits nothing that would confirm the copy, and a page notes
        // a fetch before the commit.
        let is_new = |found: &Found| *found.session.phase() == Phase::Created;
        let mut recalled = self.recalled(handle).filter(|it| is_new(it) && !self.shows_pages());
        for _ in 0..TRIES {
            let found = match recalled.take() {
                Some(found) => found,
                None => self.found(handle).await?.ok_or(AppError::NotFound)?,
            };
            let is_recalled = found.basis.is_recalled();
            if let Err(error) = self.admit_fetch(&found, visit, &mut admit).await {
                if is_recalled {
                    // The copy may be out of date: a session that is gone is reported first.
                    self.expects_fetch(handle).await?;
                }
                return Err(error);
            }
            let RequestObject { transition, jwt, .. } = match self.sign_request(&found, asked) {
                Err(_) if is_recalled => continue,
                signed => signed?,
            };
            // Before the commit, because the commit wakes the page.
            if visit.counts {
                self.note_fetched(&found.session).await;
            }
            match transition {
                Some(transition) => {
                    let committed = self.store.commit_by(found.basis, transition, None).await?;
                    if committed == Committed::Yes {
                        return Ok(jwt);
                    }
                }
                None => return Ok(jwt),
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
        let found = self.found(handle).await?.ok_or(AppError::NotFound)?;
        self.admit_fetch(&found, visit, &mut Some(admit)).await?;
        Ok(self.sign_request(&found, &asked)?.jwt)
    }

    /// Admits a fetch by the address on the page and by the rate limits, the latter only once.
    async fn admit_fetch(
        &self,
        Found { session, .. }: &Found,
        visit: &Visit<'_>,
        admit: &mut Option<impl FnOnce(SessionId) -> Admission>,
    ) -> Result<(), AppError> {
        self.check_turn(session, visit).await?;
        match admit.take() {
            Some(admit) => admit(session.id().clone()).await,
            None => Ok(()),
        }
    }

    fn sign_request(
        &self,
        Found { session, verifier, .. }: &Found,
        asked: &Asked<'_>,
    ) -> Result<RequestObject, AppError> {
        let sign = || verifier.request_object(session, asked, self.now());
        Ok(stage(Stage::Sign, sign)?)
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
