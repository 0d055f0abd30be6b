//! Binding a page to a browser: the first browser that takes a page has it until the session ends
//! (decisions 27).

use super::pages::{PageKey, PageView, Phase, TAKEN_LATE, cookie_name, is_key_of};
use super::{App, AppError};
use crate::digest::sha256;
use idgate_store::PageRecord;

impl App {
    /// Gives the page to this browser. Returns what the page now shows, or `None` if another
    /// browser has it. `key` is a key that the browser generated; it may send the same one again
    /// after a lost reply. A page taken after its session was settled gives no code: otherwise a
    /// stranger with only its address could wait for the person's answer.
    ///
    /// # Errors
    /// The store failed.
    pub async fn take_page(
        &self,
        view: &PageView,
        key: Option<PageKey>,
    ) -> Result<Option<PageKey>, AppError> {
        let key = match key {
            Some(key) => key,
            None => PageKey::fresh()?,
        };
        // After a handover the page belongs to the phone alone.
        let is_taken = match view.page.phone.as_ref().or(view.page.browser.as_ref()) {
            Some(own) => is_key_of(own, key.expose()),
            None => self.take_free_page(view, &key).await?,
        };
        Ok(is_taken.then_some(key))
    }

    async fn take_free_page(&self, view: &PageView, key: &PageKey) -> Result<bool, AppError> {
        let digest = &view.page.digest;
        if view.phase.is_settled() {
            // Before the page is taken, so that no request of the new browser comes in between.
            self.store.note_on_page(digest, TAKEN_LATE).await?;
            return Ok(self.store.take_page(digest, sha256(key.expose().as_bytes())).await?);
        }
        let is_taken = self.store.take_page(digest, sha256(key.expose().as_bytes())).await?;
        // The session may have been settled since it was read.
        let session = self.store.session(&view.page.session_id).await?;
        let is_settled = session.is_some_and(|one| Phase::of(&one, false, self.now()).is_settled());
        if is_taken && is_settled {
            self.store.note_on_page(digest, TAKEN_LATE).await?;
        }
        Ok(is_taken)
    }
}

/// A browser that has a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Holder {
    /// The browser that took it first, even while a phone has it.
    First,
    /// The phone.
    Phone,
}

/// Which of a page's browsers is asking, by its cookies or by the key that it generated; `None` if
/// neither matches.
pub fn holder_of(
    page: &PageRecord,
    cookies: impl Fn(&str) -> Option<String>,
    key: Option<&PageKey>,
) -> Option<Holder> {
    let cookie = cookies(&cookie_name(&page.digest));
    let shown = [cookie.as_deref(), key.map(PageKey::expose)];
    let is_of = |own: &Option<[u8; 32]>| {
        own.as_ref().is_some_and(|own| shown.iter().flatten().any(|shown| is_key_of(own, shown)))
    };
    let phone = is_of(&page.phone).then_some(Holder::Phone);
    phone.or_else(|| is_of(&page.browser).then_some(Holder::First))
}
