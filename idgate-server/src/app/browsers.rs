//! Requests that pages pass to their browser (Digital Credentials API): the allowed origins, the
//! requests, and the answers that the tenant's server relays.

use std::sync::Arc;

use idgate_core::error::{NotAnAnswer, RequestError};
use idgate_core::shell::PresentationRequest;
use idgate_core::verify::WalletReply;
use idgate_core::{
    Answer, DcApi, DcApiRequests, ErrorCode, Session, SessionId, UnixMillis, Verifier,
};

use super::{App, AppError, SessionView};
use idgate_base::clock::Moment;
use idgate_base::entropy::OsEntropy;
use idgate_store::{Basis, Caller};

impl App {
    /// Whether this gateway sends requests through browsers.
    pub fn asks_browsers(&self) -> bool {
        self.names_profiles() && self.profiles.dc_api != DcApi::Off
    }

    /// Whether this session has a request for browsers. Such sessions are served to their end even
    /// after the gateway stopped offering browser requests.
    ///
    /// # Errors
    /// The store failed.
    pub async fn asked_browsers(&self, id: &SessionId) -> Result<bool, AppError> {
        let session = self.store.session(id).await?;
        Ok(session.is_some_and(|session| session.browser_offer().is_some()))
    }

    /// Refuses origins that are not registered for the client.
    pub(super) async fn check_pages(
        &self,
        caller: &Caller,
        request: &PresentationRequest,
    ) -> Result<(), AppError> {
        if self.any_origin || request.origins().is_empty() {
            return Ok(());
        }
        let own = self.store.origins(&caller.client_id).await?;
        for (at, origin) in request.origins().iter().enumerate() {
            let rule = if !own.contains(origin) {
                "is not an origin of this client; ask the operator to run `idgate client origin add`"
            } else if origin.starts_with("http:") {
                "must be https; http is for development only"
            } else {
                continue;
            };
            let path = format!("dc_api.origins[{at}]");
            return Err(RequestError::new(ErrorCode::InvalidRequest, path, rule).into());
        }
        Ok(())
    }

    /// Removes origins that the client no longer has: an origin must be registered when the answer
    /// arrives.
    async fn drop_removed_origins(&self, session: &mut Session) -> Result<(), AppError> {
        if self.any_origin {
            return Ok(());
        }
        let (of_client, own) = (self.store.origins(session.tenant()).await?, self.own_origin());
        let may_answer = |origin: &str| {
            own.as_deref() == Some(origin) || of_client.iter().any(|it| it == origin)
        };
        if session.retain_origins(may_answer) {
            return Ok(());
        }
        let rule = "the client no longer has any of the session's origins; ask the operator to run \
                    `idgate client origin add`";
        Err(RequestError::new(ErrorCode::InvalidRequest, "dc_api.origins", rule).into())
    }

    /// The requests that a page passes to its browser.
    pub(super) fn passed_on(
        verifier: &Verifier,
        session: &Session,
        now: UnixMillis,
    ) -> Result<Option<DcApiRequests>, AppError> {
        match session.browser_offer() {
            None => Ok(None),
            Some(_) => Ok(Some(verifier.dc_api_requests(session, now)?)),
        }
    }

    /// Checks, before a body is read, that this session of the caller expects an answer.
    ///
    /// # Errors
    /// The session is unknown, has no request for browsers, is being verified, or is settled.
    pub async fn expects_relay(&self, caller: &Caller, id: &SessionId) -> Result<(), AppError> {
        let session = self.read_session(caller, id).await?.session;
        if session.browser_offer().is_none() {
            return Err(AppError::NotFound);
        }
        self.refuse_closed(&session)
    }

    /// Verifies what a page of the caller got from its browser, and stores the outcome. Returns the
    /// session as it is then, or `None` if the presentation is refused. The future must be run to
    /// its end, like [`App::respond`].
    ///
    /// # Errors
    /// As [`App::respond`], except that an unknown session gives `NotFound`.
    pub async fn relay(
        self: &Arc<Self>,
        caller: &Caller,
        id: &SessionId,
        answer: &[u8],
    ) -> Result<Option<SessionView>, AppError> {
        self.expects_relay(caller, id).await?;
        match self.evaluate_browsers(id, answer).await? {
            WalletReply::Refused => Ok(None),
            _ => self.read_session(caller, id).await.map(Some),
        }
    }

    /// Verifies a browser's answer to this session, and stores the outcome.
    pub(super) async fn evaluate_browsers(
        self: &Arc<Self>,
        id: &SessionId,
        answer: &[u8],
    ) -> Result<WalletReply, AppError> {
        let since = Moment::now();
        let mut session = self.store.session(id).await?.ok_or(NotAnAnswer::SessionClosed)?;
        self.drop_removed_origins(&mut session).await?;
        let verifier = self.in_force(since).await?.verifier;
        let begin = || verifier.begin(&session, Answer::dc_api(answer), &mut OsEntropy, self.now());
        self.evaluate((&session, Basis::default()), answer.len(), begin, async { Ok(()) }).await
    }
}
