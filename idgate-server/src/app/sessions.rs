//! A tenant's sessions: create, read, delete; and the link that a person follows.

use idgate_core::shell::Invitation;
use idgate_core::{
    DcApiRequests, NewSession, Reader, Session, SessionId, Status, Transition, UnixMillis,
};

use super::{App, AppError, LinkScheme, ShownByPage, Visit, links};
use crate::config::FurtherScheme;
use idgate_base::entropy::OsEntropy;
use idgate_base::spans::{self, Stage, stage, stage_of_each};
use idgate_store::{Beside, Caller, Committed, Made, NewPage};

/// How long after a verification the store is asked whether the result was lost: twice its 30
/// seconds, because the store uses another clock.
const LOSS_SHOWN_MS: u64 = 60_000;

/// A new session, as its tenant sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreatedSession {
    /// Id, mode, expiry and the request behind `openid4vp://`.
    pub invitation: Invitation,
    /// The same request for each scheme.
    pub deep_links: Vec<(LinkScheme, String)>,
    /// The credentials that the body's presets expanded to, as JSON text.
    pub credentials: Option<String>,
    /// Whether the answer names the profile.
    pub names_profile: bool,
    /// The requests that the tenant's pages pass to their browser.
    pub dc_api: Option<DcApiRequests>,
    /// The address of the page for people.
    pub page_url: Option<String>,
}

/// A session and when it was read; status and result depend on both.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionView {
    /// The session, with its result as long as that may be read.
    pub session: Session,
    /// Whether its result was lost early.
    pub claims_lost: bool,
    /// The members that its page adds to the result.
    pub page: ShownByPage,
    /// When it was read.
    pub now: UnixMillis,
}

impl App {
    /// Creates and stores a session from a creation body.
    ///
    /// # Errors
    /// The body breaks a rule, or the store cannot store it.
    pub async fn create_session(
        &self,
        caller: &Caller,
        body: &[u8],
    ) -> Result<CreatedSession, AppError> {
        let (transition, created, page) = self.new_session(caller, body).await?;
        let beside = Beside { page, parent: spans::outgoing() };
        let observed = self.for_observer(&transition);
        match self.store.create_session_with(caller, transition, beside).await? {
            Made::Yes => {
                observed.created(body, &created);
                Ok(created)
            }
            Made::NoRoom => Err(AppError::TooManySessions),
        }
    }

    /// A new session from a creation body, not yet stored, and its tenant's view of it.
    pub(super) async fn new_session(
        &self,
        caller: &Caller,
        body: &[u8],
    ) -> Result<(Transition, CreatedSession, Option<NewPage>), AppError> {
        self.check_clock()?;
        let held = self.in_force(caller.since).await?;
        // A session records its signer for its lifetime; drafts do not use certificates.
        let certificates = self.names_profiles().then_some(&*held.certificates);
        let verifier = held.verifier;
        let certified = self.certified(certificates, &caller.client_id);
        let client_id = caller.client_id.as_str();
        // Even an expired one: a request that it would sign is refused, rather than made without
        // it.
        let signer = certified.latest.as_ref().map(|key| key.certificate.x509_hash.clone());
        let mut new = NewSession::of(caller.mode()).tenant(caller.client_id.clone());
        if let Some(signer) = &signer {
            new = new.signer(signer);
        }
        let mut spoken = self.spoken(&certified);
        if let Some(certificates) = certificates {
            let uses = certificates.registrations_of(client_id);
            spoken = spoken.with_intended_uses(uses.map(|own| own.intended_use.clone()));
        }
        let parse = || verifier.resolve(body, caller.mode(), &spoken);
        let mut request = stage(Stage::Make, parse)?;
        self.check_pages(caller, &request).await?;
        let now = self.now();
        let registration =
            certificates.and_then(|all| all.registration(client_id, request.intended_use()));
        let signs = certified.in_force.as_deref();
        let make = |request, mut new: NewSession| {
            if let Some(registration) = registration {
                let signer = signer.as_deref();
                let info = self.attested(&verifier, &request, signer, registration, signs)?;
                new = new.attested(info);
            }
            Ok::<_, AppError>(verifier.create_resolved_session(
                request,
                new,
                &mut OsEntropy,
                now,
            )?)
        };
        let is_for_page_alone = self.ask_on_page(&mut request);
        // If the page's own request cannot be made, create the session without it: the tenant did
        // not ask for it.
        let without_page = is_for_page_alone.then(|| (request.clone(), new.clone()));
        let mut made = stage(Stage::Make, || make(request, new));
        if let (Err(_), Some((mut request, new))) = (&made, without_page) {
            request.ask_by_links_alone();
            made = make(request, new);
        }
        let transition = made?;
        let mut created =
            stage(Stage::Make, || CreatedSession::of(&transition.session, &self.link_schemes));
        if !is_for_page_alone {
            created.dc_api = Self::passed_on(&verifier, &transition.session, now)?;
        }
        let page = self.new_page()?.map(|(page, url)| {
            created.page_url = Some(url);
            page
        });
        Ok((transition, created, page))
    }

    /// Adds this task's spans to the trace in which the session was created, if that was recorded.
    /// Failures are ignored.
    pub async fn join_trace(&self, id: &SessionId) {
        // Awaited here, so that its cost is counted.
        let asking = async { self.store.parent_span(id).await };
        if spans::outgoing().is_some()
            && let Ok(Some(parent)) = stage_of_each(Stage::Trace, asking).await
        {
            spans::join(|| Some(parent));
        }
    }

    /// Reads a session of the caller.
    ///
    /// # Errors
    /// The caller has no session with this id in this mode.
    pub async fn read_session(
        &self,
        caller: &Caller,
        id: &SessionId,
    ) -> Result<SessionView, AppError> {
        let session = self.callers_session(caller, id).await?;
        self.view_session(caller, session).await
    }

    /// The caller's session with this id, if any, for [`App::view_session`].
    ///
    /// # Errors
    /// The store failed.
    pub async fn callers_session(
        &self,
        caller: &Caller,
        id: &SessionId,
    ) -> Result<Option<Session>, AppError> {
        Ok(self.store.callers_session(caller, id, self.now()).await?)
    }

    /// The view of a session that was read together with the caller's key.
    ///
    /// # Errors
    /// There is no such session.
    pub async fn view_session(
        &self,
        caller: &Caller,
        session: Option<Session>,
    ) -> Result<SessionView, AppError> {
        let (session, now) = (session.ok_or(AppError::NotFound)?, self.now());
        let is_missing = session.status_at(now) == Status::Verified
            && session.result(Reader::Backend, now).is_err()
            && session.settled_at().is_some_and(|at| now.since(at) < LOSS_SHOWN_MS);
        let claims_lost = is_missing && self.store.has_lost_claims(caller, session.id()).await?;
        let page = match session.result(Reader::Backend, now) {
            Ok(_) => self.shown_by_page(&session).await?,
            Err(_) => ShownByPage::default(),
        };
        Ok(SessionView { session, claims_lost, page, now })
    }

    /// Deletes a session of the caller and everything stored about it except its audit entries.
    ///
    /// # Errors
    /// The caller has no session with this id in this mode.
    pub async fn delete_session(&self, caller: &Caller, id: &SessionId) -> Result<(), AppError> {
        if !self.store.delete_session(caller, id, self.now()).await? {
            return Err(AppError::NotFound);
        }
        if let Some(observer) = &self.observer {
            observer.deleted(id);
        }
        Ok(())
    }

    /// The target of a session's link, without following it.
    ///
    /// # Errors
    /// The session is unknown, or neither CREATED nor PENDING.
    pub async fn peek_link(
        &self,
        id: &SessionId,
        scheme: &LinkScheme,
        visit: &Visit<'_>,
    ) -> Result<String, AppError> {
        let session = self.open_session(id).await?;
        self.link_for(&session, scheme, visit).await
    }

    /// Follows the link of a session: CREATED becomes PENDING.
    ///
    /// # Errors
    /// The session is unknown, or neither CREATED nor PENDING.
    pub async fn follow_link(
        &self,
        id: &SessionId,
        scheme: &LinkScheme,
        visit: &Visit<'_>,
    ) -> Result<String, AppError> {
        self.check_clock()?;
        let session = self.open_session(id).await?;
        let link = self.link_for(&session, scheme, visit).await?;
        let Some(transition) = session.followed(self.now()) else {
            return Ok(link);
        };
        match self.store.commit(transition, None).await? {
            Committed::Yes => Ok(link),
            // Another request followed, answered or deleted the session: read it again.
            Committed::LostRace => self.peek_link(id, scheme, visit).await,
        }
    }

    async fn open_session(&self, id: &SessionId) -> Result<Session, AppError> {
        let session = self.store.session(id).await?.ok_or(AppError::NotFound)?;
        match session.status_at(self.now()) {
            Status::Created | Status::Pending => Ok(session),
            _ => Err(AppError::NotFound),
        }
    }
}

impl CreatedSession {
    fn of(session: &Session, further: &[FurtherScheme]) -> Self {
        let names_profile = session.names_profile();
        let invitation = session.invitation();
        let link = |scheme: LinkScheme| {
            let link = scheme.link(|own| invitation.deep_link(own));
            (scheme, link)
        };
        let deep_links = links::schemes(invitation.schemes(), further).map(link).collect();
        let credentials = session.request().expanded_credentials();
        Self { invitation, deep_links, credentials, names_profile, dc_api: None, page_url: None }
    }
}
