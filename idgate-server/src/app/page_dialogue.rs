//! The browser's own dialogue on a page (Digital Credentials API): here the gateway is the origin.

use std::sync::Arc;

use idgate_core::session::DcApiProtocol;
use idgate_core::shell::{DcApiPages, Offer, PresentationRequest};
use idgate_core::{DcApiRequests, Profile};

use super::pages::{PageView, answered_note, is_same_device};
use super::{App, AppError};
use idgate_base::clock::Moment;
use idgate_store::Committed;

impl PageView {
    /// What the page can pass on to its browser; `None`: it does not ask there.
    pub fn dialogue(&self) -> Option<&[DcApiProtocol]> {
        let asks = self.asks_here && self.phase.is_open();
        self.session.browser_offer().filter(|_| asks).map(Offer::protocols)
    }
}

impl App {
    /// The origin of pages, as browsers write it.
    pub fn own_origin(&self) -> Option<String> {
        DcApiPages::origin(&self.base_url).ok()
    }

    /// Lets the page of a new session ask through its browser, beside pages of the tenant's own. Says
    /// whether only the page does.
    pub(super) fn ask_on_page(&self, request: &mut PresentationRequest) -> bool {
        let speaks = match request.profiles() {
            [] => self.profiles.enabled.first().is_some_and(|first| *first != Profile::Draft),
            profiles => profiles.iter().any(|one| *one != Profile::Draft),
        };
        // A request that names one origin may have to name it alone.
        if !(speaks && self.shows_pages() && self.asks_browsers() && request.origins().is_empty()) {
            return false;
        }
        request.ask_on_own_page(&self.base_url).is_ok()
    }

    /// What the page passes to its browser; as with a link that is followed, the request is then out, unless
    /// somebody only peeks.
    ///
    /// # Errors
    /// It has no such request, or the session takes no answer any more.
    pub async fn page_requests(
        &self,
        view: &PageView,
        peeks: bool,
    ) -> Result<DcApiRequests, AppError> {
        if !view.asks_here {
            return Err(AppError::NotFound);
        }
        let verifier = self.in_force(Moment::now()).await?.verifier;
        let requests = verifier.dc_api_requests(&view.session, view.now)?;
        if !peeks && let Some(transition) = view.session.followed(view.now) {
            // Whoever was faster left nothing to note.
            let _: Committed = self.store.commit(transition, None).await?;
        }
        Ok(requests)
    }

    /// Whether an answer of the page may be read, before anything is.
    ///
    /// # Errors
    /// The page asks nothing, or the session takes no answer any more.
    pub fn expects_page_answer(&self, view: &PageView) -> Result<(), AppError> {
        if !view.asks_here {
            return Err(AppError::NotFound);
        }
        self.refuse_closed(&view.session)
    }

    /// Verifies what the page got from its browser, and stores what it came to. To be run to its end, as
    /// [`App::respond`].
    ///
    /// # Errors
    /// As [`App::respond`].
    pub async fn answer_page(
        self: &Arc<Self>,
        view: &PageView,
        answer: &[u8],
    ) -> Result<(), AppError> {
        self.expects_page_answer(view)?;
        self.evaluate_browsers(view.session.id(), answer).await.map(drop)?;
        if is_same_device(&view.session) {
            // Only what settled the session shows that the person's browser is here: it goes back with
            // the code of the page.
            self.store.note_on_page(&view.page.digest, &answered_note(&view.page)).await?;
        }
        Ok(())
    }
}
