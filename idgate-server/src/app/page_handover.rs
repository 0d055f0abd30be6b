//! A person continues on a phone what began on a computer (decisions 39): the phone's browser takes the page over, and
//! gives it back as long as no wallet has its request.

use idgate_core::Reason;

use super::pages::codes;
use super::pages::phase::{fetched_note, is_fetched};
use super::pages::{PageKey, PageView, Phase, Standing, is_same_device};
use super::{App, AppError};
use crate::digest::sha256;

/// Proof that a browser opened an address for a phone in time, and the key that it has for the page.
pub struct Opened {
    /// The key of the browser that will have the page.
    pub key: PageKey,
    /// The proof, which its button sends with the key.
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

    /// The address for a phone, good now. `token`: the page's.
    pub fn handover_address(&self, token: &str) -> Option<String> {
        let part = || codes::handover_part(&self.page, self.now);
        self.hands_over().then(|| self.address_of(token, &part()))
    }

    /// An address that is as long, and good for nothing.
    pub fn sample_address(&self, token: &str) -> String {
        self.address_of(token, &codes::sample_part(self.now))
    }

    /// Whether this browser has the page as the one that had it first.
    pub fn is_on_computer(&self) -> bool {
        self.standing == Standing::Own && self.page.phone.is_none()
    }

    /// Whether a phone has the page, and this browser can have it back.
    pub fn may_be_brought_back(&self) -> bool {
        self.standing == Standing::Moved && self.phase == Phase::Open
    }

    /// How it is for this browser, by its name in the page.
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

    /// Key and proof for a browser without the page, which may have shown `key`, and opens an address for a phone. `None`:
    /// the address is not of this moment, and the browser does not prove that it opened the address in time.
    ///
    /// # Errors
    /// The system gives no random numbers.
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

    /// The key of a browser that opened the address in time and presses its button, once.
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
    /// Gives the page to the phone that has `key`. `false`: another one was faster, or the session takes no answer.
    ///
    /// # Errors
    /// The store failed, or a gateway of an earlier version shares it, which would show the page to the computer.
    pub async fn hand_over(&self, view: &PageView, key: &PageKey) -> Result<bool, AppError> {
        self.check_clock()?;
        // The version that brought the handover brought this reason.
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

    /// Gives the page back to the browser that had it first. `false`: a wallet has the request, or the session takes no
    /// answer.
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
