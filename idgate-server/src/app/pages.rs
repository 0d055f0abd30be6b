//! Pages for people: a link that shows one session to one browser (decisions 27).

mod codes;
mod key;
mod way_back;

use std::time::Duration;

use idgate_core::shell::{Delivery, random_id};
use idgate_core::{Entropy as _, Profile, Scheme, Session, Status, UnixMillis};
use zeroize::Zeroizing;

pub use self::codes::Visit;
use self::codes::{Judgement, with_part};
pub use self::key::PageKey;
pub(super) use self::key::is_key_of;
use self::key::is_of_base62;
use self::way_back::with_code;
use super::{App, AppError};
use crate::digest::{hex, sha256};
use crate::limits::{PAGE_LOOK, PAGE_WAIT};
use idgate_base::clock::Stopwatch;
use idgate_base::entropy::OsEntropy;
use idgate_store::{Face, NewPage, PageRecord, Picture};

/// What is remembered of a page whose own browser's dialogue was answered.
pub(super) const ANSWERED_HERE: &str = "dialogue";
/// The note on a page that was taken when its session was settled already.
pub(super) const TAKEN_LATE: &str = "late";

/// Whose page it is, seen from the browser that asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// Nobody's yet.
    Free,
    /// This browser's.
    Own,
    /// Another one's.
    Taken,
}

/// Where a page stands, for people.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// A wallet can answer.
    Open,
    /// An answer is being looked at.
    Checking,
    /// It was accepted.
    Done,
    /// It was not, or the wallet gave none.
    Refused,
    /// Nobody answered in time.
    Over,
}

impl Phase {
    /// Its name in the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Checking => "checking",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Over => "over",
        }
    }

    pub(super) const fn of(status: Status) -> Self {
        match status {
            Status::Verifying => Self::Checking,
            Status::Verified => Self::Done,
            Status::Failed => Self::Refused,
            Status::Expired => Self::Over,
            _ => Self::Open,
        }
    }

    /// Whether nothing more will happen.
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::Done | Self::Refused | Self::Over)
    }
}

/// A page as one browser may see it at one instant. It has no claims.
pub struct PageView {
    pub(super) page: PageRecord,
    /// Whose page it is.
    pub standing: Standing,
    /// What was asked for, and how it stands.
    pub session: Session,
    /// Where it stands.
    pub phase: Phase,
    /// When it was read.
    pub now: UnixMillis,
    turns: bool,
    pub(super) asks_here: bool,
}

/// Where a page leads when it is over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WayBack {
    /// The tenant's address.
    pub uri: String,
    /// Whether it proves which browser comes.
    pub has_code: bool,
}

impl PageView {
    /// The name of the cookie that binds a browser to this page.
    pub fn cookie_name(&self) -> String {
        cookie_name(&self.page.digest)
    }

    /// Milliseconds until the session takes no answer any more.
    pub fn left_ms(&self) -> u64 {
        self.session.expires_at().since(self.now)
    }

    /// The request behind a scheme, as good as it is now.
    pub fn link(&self, scheme: Scheme) -> String {
        let link = self.session.deep_link(scheme);
        match self.turns {
            true => with_part(&link, &self.part()),
            false => link,
        }
    }

    /// What the QR code says; `None`: the person's own browser has to come back, so nobody scans.
    pub fn qr_code(&self) -> Option<String> {
        if is_same_device(&self.session) {
            return None;
        }
        let link = self.session.invitation().qr_code_url;
        Some(if self.turns { with_part(&link, &self.part()) } else { link })
    }

    /// The scheme that the wallets of this request know best.
    pub fn scheme(&self) -> Scheme {
        let first = self.session.offers().next().map(|offer| offer.profile());
        if first == Some(Profile::Haip) { Scheme::Haip } else { Scheme::OpenId4Vp }
    }

    /// Whether the codes of this page turn.
    pub fn turns(&self) -> bool {
        self.turns
    }

    /// The way back to the tenant; `None`: there is none, or not for this browser.
    pub fn way_back(&self) -> Option<WayBack> {
        let uri = self.session.request().redirect_uri()?;
        let plain = WayBack { uri: uri.to_owned(), has_code: false };
        match (self.phase, self.standing) {
            (Phase::Done, Standing::Own) if gives_code(&self.session, &self.page) => {
                let code = codes::page_code(&self.page);
                Some(WayBack { uri: with_code(uri, "page_code", &code), has_code: true })
            }
            (Phase::Done, Standing::Own) | (Phase::Refused | Phase::Over, _) => Some(plain),
            _ => None,
        }
    }

    /// Whether this browser would have a way back if the page were its own.
    pub fn leads_back_once_taken(&self) -> bool {
        self.standing == Standing::Free
            && self.phase == Phase::Done
            && self.session.request().redirect_uri().is_some()
    }

    fn part(&self) -> String {
        codes::part(&self.page, self.now)
    }
}

impl App {
    /// Whether sessions have pages.
    pub fn shows_pages(&self) -> bool {
        self.pages.is_some()
    }

    /// A page for a new session, and its address.
    pub(super) fn new_page(&self) -> Result<Option<(NewPage, String)>, AppError> {
        if self.pages.is_none() {
            return Ok(None);
        }
        let token = random_id("", &mut OsEntropy)?;
        let mut secret = Zeroizing::new([0; 32]);
        OsEntropy.fill(&mut *secret)?;
        let url = format!("{}/v/{token}", self.base_url);
        Ok(Some((NewPage { digest: sha256(token.as_bytes()), secret }, url)))
    }

    /// The page behind a token; `None`: there is none, or not any more.
    ///
    /// # Errors
    /// The store failed.
    pub async fn find_page(&self, token: &str) -> Result<Option<PageRecord>, AppError> {
        // What cannot be a token is not looked up.
        let Some(digest) = digest_of(token) else { return Ok(None) };
        Ok(self.store.page(&digest).await?)
    }

    /// The page behind a token, as the browser sees it that shows `cookies`.
    ///
    /// # Errors
    /// There is none, or not any more.
    pub async fn page(
        &self,
        token: &str,
        cookies: impl Fn(&str) -> Option<String>,
    ) -> Result<PageView, AppError> {
        let page = self.find_page(token).await?.ok_or(AppError::NotFound)?;
        self.view_page(page, cookies).await
    }

    /// A page as the browser sees it that shows `cookies`.
    ///
    /// # Errors
    /// Its session is gone.
    pub async fn view_page(
        &self,
        page: PageRecord,
        cookies: impl Fn(&str) -> Option<String>,
    ) -> Result<PageView, AppError> {
        let session = self.store.session(&page.session_id).await?.ok_or(AppError::NotFound)?;
        let standing = match (&page.browser, cookies(&cookie_name(&page.digest))) {
            (None, _) => Standing::Free,
            (Some(own), Some(shown)) if is_key_of(own, &shown) => Standing::Own,
            (Some(_), _) => Standing::Taken,
        };
        let now = self.now();
        let turns = self.turns(&session);
        let phase = Phase::of(session.status_at(now));
        let asks_here = session
            .browser_offer()
            .zip(self.own_origin())
            .is_some_and(|(offer, own)| offer.origins().contains(&own));
        Ok(PageView { page, standing, session, phase, now, turns, asks_here })
    }

    /// Somebody looks at the page: from now on its codes are what turns.
    ///
    /// # Errors
    /// The store failed.
    pub async fn open_page(&self, view: &PageView) -> Result<(), AppError> {
        if !view.page.is_opened {
            self.store.open_page(&view.page.digest).await?;
        }
        Ok(())
    }

    /// The same view for the browser that just took it.
    pub fn page_taken(&self, view: PageView) -> PageView {
        PageView { standing: Standing::Own, ..view }
    }

    /// How the client of a page is shown.
    ///
    /// # Errors
    /// The store failed.
    pub async fn face(&self, view: &PageView) -> Result<Face, AppError> {
        self.store.face(view.session.tenant()).await?.ok_or(AppError::NotFound)
    }

    /// The logo of a page's client.
    ///
    /// # Errors
    /// It has none.
    pub async fn logo(&self, view: &PageView) -> Result<Picture, AppError> {
        self.store.logo(view.session.tenant()).await?.ok_or(AppError::NotFound)
    }

    /// Who may show the page in a frame: the origins of its client.
    ///
    /// # Errors
    /// The store failed.
    pub async fn framers(&self, view: &PageView) -> Result<Vec<String>, AppError> {
        Ok(self.store.origins(view.session.tenant()).await?)
    }

    /// Waits until the page may be another one than `view`: it stands elsewhere, or its code turned.
    /// Some seconds at most.
    ///
    /// # Errors
    /// The store failed.
    pub async fn page_changed(&self, view: &PageView) -> Result<(), AppError> {
        let id = view.session.id();
        let most = match view.turns {
            true => PAGE_WAIT.min(Duration::from_millis(codes::turns_in_ms(view.now))),
            false => PAGE_WAIT,
        };
        let watch = Stopwatch::new();
        let mut changes = self.store.watch(id);
        loop {
            let status = self.store.session(id).await?.map(|session| session.status_at(self.now()));
            let waited = Duration::from_micros(watch.elapsed_us());
            let is_other = status.is_none_or(|status| Phase::of(status) != view.phase);
            if is_other || waited >= most {
                return Ok(());
            }
            // Other processes are not heard.
            let look = PAGE_LOOK.min(most.saturating_sub(waited));
            // Whichever comes first.
            let _ = tokio::time::timeout(look, changes.changed()).await;
        }
    }

    /// What the browser of a session's page brings to `redirect_uri`, when the page has led it there.
    pub(super) async fn page_code(&self, session: &Session) -> Result<Option<String>, AppError> {
        if self.pages.is_none() || session.request().redirect_uri().is_none() {
            return Ok(None);
        }
        let page = self.store.page_of(session.id()).await?;
        let page = page.filter(|page| gives_code(session, page));
        Ok(page.map(|page| codes::page_code(&page)))
    }

    /// Refuses who follows an address of a session whose page is open and turns, unless the address was
    /// taken from the page a moment ago, or was so by the same wallet. Says whether that was asked.
    pub(super) async fn check_turn(
        &self,
        session: &Session,
        visit: &Visit<'_>,
    ) -> Result<bool, AppError> {
        if !self.turns(session) {
            return Ok(false);
        }
        let page = self.store.page_of(session.id()).await?;
        let Some(page) = page.filter(|page| page.is_opened) else { return Ok(false) };
        match codes::judge(&page, visit, self.now()) {
            Judgement::Known => Ok(true),
            Judgement::Fresh(note) => {
                if visit.counts {
                    self.store.note_on_page(&page.digest, &note).await?;
                }
                Ok(true)
            }
            Judgement::Stale => Err(AppError::NotFound),
        }
    }

    /// The request behind a scheme for who follows `visit`.
    pub(super) async fn link_for(
        &self,
        session: &Session,
        scheme: Scheme,
        visit: &Visit<'_>,
    ) -> Result<String, AppError> {
        let link = session.deep_link(scheme);
        Ok(match (self.check_turn(session, visit).await?, visit.part) {
            (true, Some(part)) => with_part(&link, part),
            _ => link,
        })
    }

    /// Whether the addresses of a session's requests turn once its page is open.
    fn turns(&self, session: &Session) -> bool {
        let by_reference =
            || session.offers().any(|offer| offer.shape().delivery == Delivery::RequestUri);
        self.pages.is_some_and(|rules| rules.turning) && by_reference()
    }
}

/// Whether the person's own browser has to come back into the tenant's session.
pub(super) fn is_same_device(session: &Session) -> bool {
    let haip = || session.offers().any(|offer| offer.profile() == Profile::Haip);
    session.request().same_device().unwrap_or_else(haip)
}

/// Whether the page leads back with a code of its own. Elsewhere the wallet's reply does, or the browser that has the
/// page took it when all was over, and so proves nothing.
fn gives_code(session: &Session, page: &PageRecord) -> bool {
    let has = |what: &str| page.notes.iter().any(|note| note == what);
    !has(TAKEN_LATE) && (!is_same_device(session) || has(ANSWERED_HERE))
}

pub(super) fn cookie_name(digest: &[u8; 32]) -> String {
    let start = digest.get(..8).unwrap_or_default();
    format!("__Host-idgate-{}", hex(start))
}

/// `None`: it cannot be a token.
fn digest_of(token: &str) -> Option<[u8; 32]> {
    is_of_base62(token).then(|| sha256(token.as_bytes()))
}
