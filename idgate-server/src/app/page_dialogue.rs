//! The browser's own dialogue on a page (Digital Credentials API). Here the gateway is the origin.

use std::sync::Arc;

use idgate_core::session::DcApiProtocol;
use idgate_core::shell::{DcApiPages, Offer, PresentationRequest};
use idgate_core::{DcApiRequests, Profile};

use super::pages::{PageView, answered_note, is_same_device};
use super::{App, AppError};
use idgate_base::clock::Moment;
use idgate_store::Committed;

impl PageView {
    /// The protocols that the page can pass to its browser; `None` if the page does not ask through
    /// the browser.
    pub fn dialogue(&self) -> Option<&[DcApiProtocol]> {
        let asks = self.asks_here && self.phase.is_open();
        self.session.browser_offer().filter(|_| asks).map(Offer::protocols)
    }
}

impl App {
    /// The origin of pages, as browsers serialize it.
    pub fn own_origin(&self) -> Option<String> {
        DcApiPages::origin(&self.base_url).ok()
    }

    /// Lets the page of a new session ask through its browser, in addition to the tenant's own
    /// pages. Returns whether only the page does.
    pub(super) fn ask_on_page(&self, request: &mut PresentationRequest) -> bool {
        let speaks = match request.profiles() {
            [] => self.profiles.enabled.first().is_some_and(|first| *first != Profile::Draft),
            profiles => profiles.iter().any(|one| *one != Profile::Draft),
        };
        // A request that names one origin may have to name only that one.
        if !(speaks && self.shows_pages() && self.asks_browsers() && request.origins().is_empty()) {
            return false;
        }
        request.ask_on_own_page(&self.base_url).is_ok()
    }

    /// The requests that the page passes to its browser. As with a followed link, the session
    /// becomes PENDING, unless this call only peeks.
    ///
    /// # Errors
    /// The page has no such request, or the session no longer accepts an answer.
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
            // If another change came first, there is nothing to record.
            let _: Committed = self.store.commit(transition, None).await?;
        }
        Ok(requests)
    }

    /// Checks, before a body is read, that the page expects an answer.
    ///
    /// # Errors
    /// The page asks nothing, or the session no longer accepts an answer.
    pub fn expects_page_answer(&self, view: &PageView) -> Result<(), AppError> {
        if !view.asks_here {
            return Err(AppError::NotFound);
        }
        self.refuse_closed(&view.session)
    }

    /// Verifies what the page got from its browser, and stores the outcome. The future must be run
    /// to its end, like [`App::respond`].
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
            // Only an answer that settles the session proves that the person's browser is here;
            // that browser then goes back with the page's code.
            self.store.note_on_page(&view.page.digest, &answered_note(&view.page)).await?;
        }
        Ok(())
    }
}
