//! Which browser has a page: the first that takes it, until it is over (decisions 27).

use super::pages::{PageKey, PageView, cookie_name, is_key_of, sha256, unavailable};
use super::{App, AppError};
use crate::store::PageRecord;

impl App {
    /// Gives the page to this browser; what it has to show from now on, or `None` when the page is
    /// another one's. `key`: what the browser made for that, which it may bring again when a reply was
    /// lost.
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
            None => PageKey::fresh().map_err(unavailable)?,
        };
        let is_taken = match &view.page.browser {
            Some(own) => is_key_of(own, key.expose()),
            None => self.store.take_page(&view.page.digest, sha256(key.expose())).await?,
        };
        Ok(is_taken.then_some(key))
    }
}

/// Whether a browser has a page: by one of its cookies, or by the key that it made.
pub fn has_page(
    page: &PageRecord,
    cookies: impl Fn(&str) -> Option<String>,
    key: Option<&PageKey>,
) -> bool {
    let Some(own) = &page.browser else { return false };
    let cookie = cookies(&cookie_name(&page.digest));
    let shown = [cookie.as_deref(), key.map(PageKey::expose)];
    shown.into_iter().flatten().any(|shown| is_key_of(own, shown))
}
