//! Handover (decisions 39): a person continues on a phone what began on a computer. The phone's
//! browser takes the page over; the computer can take it back until a wallet has the request.

use idgate_core::Reason;

use super::pages::codes;
use super::pages::phase::{fetched_note, is_fetched};
use super::pages::{PageKey, PageView, Phase, Standing, is_same_device};
use super::{App, AppError};
use crate::digest::sha256;

/// Proof that a browser opened a handover address in time, and the browser's key for the page.
pub struct Opened {
    /// The key of the browser that will get the page.
    pub key: PageKey,
    /// The proof; the page's button sends it with the key.
    pub seen: String,
}

impl PageView {
    /// Whether this browser shows a code for a phone.
    pub fn hands_over(&self) -> bool {
        self.standing == Standing::Own && self.may_be_handed_over()
    }

    /// Whether this browser would show a code for a phone if the page were its own.
    pub fn hands_over_once_taken(&self) -> bool {
        self.standing == Standing::Free && self.may_be_handed_over()
    }

    /// The current handover address. `token` is the page's.
    pub fn handover_address(&self, token: &str) -> Option<String> {
        let part = || codes::handover_part(&self.page, self.now);
        self.hands_over().then(|| self.address_of(token, &part()))
    }

    /// An address of the same length that does not work.
    pub fn sample_address(&self, token: &str) -> String {
        self.address_of(token, &codes::sample_part(self.now))
    }

    /// Whether this browser has the page, and no phone has taken it over.
    pub fn is_on_computer(&self) -> bool {
        self.standing == Standing::Own && self.page.phone.is_none()
    }

    /// Whether a phone has the page and this browser can take it back.
    pub fn may_be_brought_back(&self) -> bool {
        self.standing == Standing::Moved && self.phase == Phase::Open
    }

    /// The page's state for this browser, by its name in the page.
    pub const fn state(&self) -> &'static str {
        match (self.standing, self.phase) {
            (Standing::Moved, Phase::Open) => "moved",
            (
                Standing::Moved,
                Phase::Done | Phase::Declined | Phase::Refused | Phase::Cancelled,
            ) => "finished",
            (_, phase) => phase.name(),
        }
    }

    /// Key and proof for a browser that does not have the page and opens a handover address. The
    /// browser may have sent `key` as a cookie. `None`: the address is not current, and the browser
    /// has no proof that it opened the address in time.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn opened_on_phone(
        &self,
        part: &str,
        key: Option<PageKey>,
        seen: Option<&str>,
    ) -> Result<Option<Opened>, AppError> {
        if self.standing != Standing::Taken || !self.may_be_handed_over() {
            return Ok(None);
        }
        let is_seen = |key: &PageKey, seen: &str| {
            codes::is_seen(&self.page, part, key.expose(), seen, self.now)
        };
        let key = match (key, seen) {
            (Some(key), Some(seen)) if is_seen(&key, seen) => {
                return Ok(Some(Opened { key, seen: seen.to_owned() }));
            }
            (key, _) => key,
        };
        if !codes::is_fresh_handover(&self.page, part, self.now) {
            return Ok(None);
        }
        let key = match key {
            Some(key) => key,
            None => PageKey::fresh()?,
        };
        let seen = codes::seen(&self.page, part, key.expose(), self.now);
        Ok(Some(Opened { key, seen }))
    }

    /// The key of a browser that opened the address in time and presses the button, once.
    pub fn pressed_on_phone(
        &self,
        part: &str,
        key: Option<PageKey>,
        seen: Option<&str>,
    ) -> Option<PageKey> {
        let may = self.standing == Standing::Taken && self.may_be_handed_over();
        let (key, seen) = key.zip(seen).filter(|_| may)?;
        codes::is_seen(&self.page, part, key.expose(), seen, self.now).then_some(key)
    }

    fn may_be_handed_over(&self) -> bool {
        let asks = self.session.request().handover() && is_same_device(&self.session);
        asks && self.phase.is_open() && self.page.phone.is_none()
    }

    fn address_of(&self, token: &str, part: &str) -> String {
        [&self.base_url, "/v/", token, "/on/", part].concat()
    }
}

impl App {
    /// Gives the page to the phone with `key`. `false` if another phone was faster, or the session
    /// no longer accepts an answer.
    ///
    /// # Errors
    /// The store failed, or a gateway of an earlier version shares it and would show the page to
    /// the computer.
    pub async fn hand_over(&self, view: &PageView, key: &PageKey) -> Result<bool, AppError> {
        self.check_clock()?;
        // The version that introduced the handover also introduced this reason.
        if !self.store.is_known_to_all(Reason::Cancelled).await? {
            let why = "a gateway of an earlier version shares the database";
            return Err(AppError::Unavailable(why.into()));
        }
        let (page, phone) = (&view.page, sha256(key.expose().as_bytes()));
        let is_moved = self.store.hand_over_page(&page.digest, phone, page.moves).await?;
        if is_moved {
            tracing::info!(session_id = %view.session.id(), "the page was taken over on a phone");
        }
        Ok(is_moved)
    }

    /// Gives the page back to the browser that had it first. `false` if a wallet has the request,
    /// or the session no longer accepts an answer.
    ///
    /// # Errors
    /// The store failed.
    pub async fn bring_back(&self, view: &PageView) -> Result<bool, AppError> {
        let page = &view.page;
        if is_fetched(page) {
            return Ok(false);
        }
        let unless = fetched_note(page);
        let is_back = self.store.bring_page_back(&page.digest, page.moves, unless).await?;
        if is_back {
            tracing::info!(session_id = %view.session.id(), "the page was brought back to the computer");
        }
        Ok(is_back)
    }
}
