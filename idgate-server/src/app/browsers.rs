//! Requests that pages pass to their browser: where the pages may be from, what they pass on, and what
//! their server relays.

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
use idgate_store::Caller;

impl App {
    /// Whether pages pass requests to their browser here.
    pub fn asks_browsers(&self) -> bool {
        self.names_profiles() && self.profiles.dc_api != DcApi::Off
    }

    /// Whether pages were given requests of that session: a gateway that asks no browsers any more serves
    /// those to their end.
    ///
    /// # Errors
    /// The store failed.
    pub async fn asked_browsers(&self, id: &SessionId) -> Result<bool, AppError> {
        let session = self.store.session(id).await?;
        Ok(session.is_some_and(|session| session.browser_offer().is_some()))
    }

    /// Refuses pages from where the client has none.
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

    /// Takes away the origins that the client has no more: an origin counts when the answer comes.
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

    /// What a page passes on, of a session that is made for pages.
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

    /// Whether an answer may be read for this session of the caller, before anything is.
    ///
    /// # Errors
    /// It is unknown, has no request for browsers, is being verified, or settled.
    pub async fn expects_relay(&self, caller: &Caller, id: &SessionId) -> Result<(), AppError> {
        let session = self.read_session(caller, id).await?.session;
        if session.browser_offer().is_none() {
            return Err(AppError::NotFound);
        }
        self.refuse_closed(&session)
    }

    /// Verifies what a page of the caller's got from its browser, and stores what it came to: the session
    /// as it is then, or `None` when what was presented is refused. To be run to its end, as
    /// [`App::respond`].
    ///
    /// # Errors
    /// As [`App::respond`], but that an unknown session is not found.
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

    /// Verifies what a browser gave for this session, and stores what it came to.
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
        self.evaluate(&session, answer.len(), begin, async { Ok(()) }).await
    }
}
