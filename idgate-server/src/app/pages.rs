//! Pages for people: a link that shows one session to one browser (decisions 27).

pub(super) mod codes;
mod key;
pub(super) mod phase;
mod way_back;

use std::sync::Arc;
use std::time::Duration;

use idgate_core::shell::{Delivery, random_id};
use idgate_core::{Entropy as _, Profile, Reason, Scheme, Session, UnixMillis};
use zeroize::Zeroizing;

pub use self::codes::Visit;
use self::codes::{Judgement, with_part};
pub use self::key::PageKey;
pub(super) use self::key::is_key_of;
use self::key::is_of_base62;
pub use self::phase::{Phase, Standing};
use self::phase::{fetched_note, has_note, is_fetched, note_of};
use self::way_back::with_code;
use super::{App, AppError, LinkScheme, links};
use crate::config::{FurtherScheme, Operator};
use crate::digest::{hex, sha256};
use crate::limits::{PAGE_LOOK, PAGE_WAIT};
use idgate_base::clock::Stopwatch;
use idgate_base::entropy::OsEntropy;
use idgate_store::{Face, NewPage, PageRecord, Picture, StoreError};

/// The note on a page whose browser answered through its dialogue.
const ANSWERED_HERE: &str = "dialogue";
/// The note on a page that was taken only after its session was settled.
pub(super) const TAKEN_LATE: &str = "late";

/// A page as one browser may see it at one instant. It contains no claims.
pub struct PageView {
    pub(super) page: PageRecord,
    /// Which browser has the page, seen from this one.
    pub standing: Standing,
    /// The session: the request and its status.
    pub session: Session,
    /// Its state.
    pub phase: Phase,
    /// When it was read.
    pub now: UnixMillis,
    turns: bool,
    pub(super) asks_here: bool,
    /// The gateway's base URL.
    pub(super) base_url: String,
    /// The link schemes that the operator configured.
    further: Arc<[FurtherScheme]>,
}

/// The members that a page adds to a result.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ShownByPage {
    /// The code that the page's browser brings to `redirect_uri`, if the page leads back with one.
    pub code: Option<String>,
    /// Whether the person continued on a phone.
    pub handover: bool,
}

/// The link back to the tenant when a page ends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WayBack {
    /// The tenant's address.
    pub uri: String,
    /// Whether it carries a code that proves which browser comes.
    pub has_code: bool,
}

impl PageView {
    /// The name of the cookie that binds a browser to this page.
    pub fn cookie_name(&self) -> String {
        cookie_name(&self.page.digest)
    }

    /// Milliseconds until the session stops accepting answers.
    pub fn left_ms(&self) -> u64 {
        self.session.expires_at().since(self.now)
    }

    /// The request behind a scheme, valid now.
    pub fn link(&self, scheme: &LinkScheme) -> String {
        let link = scheme.link(|own| self.session.deep_link(own));
        match self.turns {
            true => with_part(&link, &self.part()),
            false => link,
        }
    }

    /// The content of the QR code; `None` if the person's own browser must come back, so scanning
    /// is no use.
    pub fn qr_code(&self) -> Option<String> {
        if is_same_device(&self.session) {
            return None;
        }
        let link = self.session.invitation().qr_code_url;
        Some(if self.turns { with_part(&link, &self.part()) } else { link })
    }

    /// The schemes of its links.
    pub fn schemes(&self) -> impl Iterator<Item = LinkScheme> {
        links::schemes(self.session.schemes(), &self.further)
    }

    /// The scheme that wallets for this request are most likely to support.
    pub fn scheme(&self) -> LinkScheme {
        let first = self.session.offers().next().map(|offer| offer.profile());
        LinkScheme::Own(match first {
            _ if self.session.schemes().any(|scheme| scheme == Scheme::Av) => Scheme::Av,
            Some(Profile::Haip) => Scheme::Haip,
            _ => Scheme::OpenId4Vp,
        })
    }

    /// Whether the links of this page change over time.
    pub fn turns(&self) -> bool {
        self.turns && self.standing != Standing::Moved
    }

    /// Whether anything that this browser sees changes over time.
    pub fn renews(&self) -> bool {
        self.turns() || self.hands_over()
    }

    /// The way back to the tenant; `None` if there is none, or none for this browser.
    pub fn way_back(&self) -> Option<WayBack> {
        let uri = self.session.request().redirect_uri()?;
        let plain = WayBack { uri: uri.to_owned(), has_code: false };
        match (self.phase, self.standing) {
            (Phase::Done, Standing::Own) if gives_code(&self.session, &self.page) => {
                let code = codes::page_code(&self.page);
                Some(WayBack { uri: with_code(uri, "page_code", &code), has_code: true })
            }
            (Phase::Done, Standing::Own) => Some(plain),
            // After a handover the phone leads back, not the computer.
            (_, Standing::Moved) => None,
            (phase, _) if phase.is_settled() && phase != Phase::Done => Some(plain),
            _ => None,
        }
    }

    /// The tenant's address, for a person whose request is for another device and cannot be
    /// answered on this one.
    pub fn way_out(&self) -> Option<&str> {
        let is_for_others = self.phase.is_open() && is_same_device(&self.session);
        let may = is_for_others && self.standing == Standing::Own;
        self.session.request().redirect_uri().filter(|_| may)
    }

    /// Where the person can start again, in the browser that has the page.
    pub fn retry_uri(&self) -> Option<&str> {
        let is_over = self.phase.may_be_tried_again() || self.phase == Phase::Cancelled;
        let may = is_over && self.standing == Standing::Own && !self.leads_on();
        self.session.request().retry_uri().filter(|_| may)
    }

    /// Whether the page forwards the person by itself.
    pub fn leads_on(&self) -> bool {
        let is_cancelled = self.phase == Phase::Cancelled && self.standing == Standing::Own;
        self.way_back().is_some_and(|way| way.has_code || is_cancelled)
    }

    /// Whether the wallet's reply forwards the person, in a window of its own.
    pub fn continues_elsewhere(&self) -> bool {
        let leads = self.session.request().redirect_uri().is_some();
        leads && self.standing == Standing::Own && is_same_device(&self.session)
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
    /// Whether sessions have pages here.
    pub fn shows_pages(&self) -> bool {
        self.pages.is_some()
    }

    /// A page for a new session, and its URL.
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

    /// The page for a token; `None` if there is none, or no longer.
    ///
    /// # Errors
    /// The store failed.
    pub async fn find_page(&self, token: &str) -> Result<Option<PageRecord>, AppError> {
        // Skip the lookup if the text cannot be a token.
        let Some(digest) = digest_of(token) else { return Ok(None) };
        Ok(self.store.page(&digest).await?)
    }

    /// The page for a token, as seen by the browser that sent `cookies`.
    ///
    /// # Errors
    /// There is no such page, or no longer.
    pub async fn page(
        &self,
        token: &str,
        cookies: impl Fn(&str) -> Option<String>,
    ) -> Result<PageView, AppError> {
        let page = self.find_page(token).await?.ok_or(AppError::NotFound)?;
        self.view_page(page, cookies).await
    }

    /// A page, as seen by the browser that sent `cookies`.
    ///
    /// # Errors
    /// Its session was deleted.
    pub async fn view_page(
        &self,
        page: PageRecord,
        cookies: impl Fn(&str) -> Option<String>,
    ) -> Result<PageView, AppError> {
        let session = self.store.session(&page.session_id).await?.ok_or(AppError::NotFound)?;
        let standing = Standing::of(&page, cookies(&cookie_name(&page.digest)).as_deref());
        let now = self.now();
        let turns = self.turns(&session);
        let phase = Phase::of(&session, is_fetched(&page), now);
        let asks_here = session
            .browser_offer()
            .zip(self.own_origin())
            .is_some_and(|(offer, own)| offer.origins().contains(&own));
        let (base_url, further) = (self.base_url.clone(), self.link_schemes.clone());
        Ok(PageView { page, standing, session, phase, now, turns, asks_here, base_url, further })
    }

    /// Marks the page as opened: from now on its codes change over time.
    ///
    /// # Errors
    /// The store failed.
    pub async fn open_page(&self, view: &PageView) -> Result<(), AppError> {
        if !view.page.is_opened {
            self.store.open_page(&view.page.digest).await?;
        }
        Ok(())
    }

    /// The same view for the browser that has just taken the page.
    pub fn page_taken(&self, view: PageView) -> PageView {
        PageView { standing: Standing::Own, ..view }
    }

    /// How the page shows its client.
    ///
    /// # Errors
    /// The store failed.
    pub async fn face(&self, view: &PageView) -> Result<Face, AppError> {
        self.store.face(view.session.tenant()).await?.ok_or(AppError::NotFound)
    }

    /// The operator, as pages show it.
    pub fn operator(&self) -> Operator {
        self.pages.as_ref().map(|rules| rules.operator.clone()).unwrap_or_default()
    }

    /// The logo of a page's client.
    ///
    /// # Errors
    /// The client has none.
    pub async fn logo(&self, view: &PageView) -> Result<Picture, AppError> {
        self.store.logo(view.session.tenant()).await?.ok_or(AppError::NotFound)
    }

    /// The origins that may frame the page: those of its client.
    ///
    /// # Errors
    /// The store failed.
    pub async fn framers(&self, view: &PageView) -> Result<Vec<String>, AppError> {
        Ok(self.store.origins(view.session.tenant()).await?)
    }

    /// Waits, for some seconds at most, until the page may differ from `view`: its state changed,
    /// it moved to another browser, or its code changed.
    ///
    /// # Errors
    /// The store failed.
    pub async fn page_changed(&self, view: &PageView) -> Result<(), AppError> {
        let id = view.session.id();
        let most = match view.renews() {
            true => PAGE_WAIT.min(Duration::from_millis(codes::turns_in_ms(view.now))),
            false => PAGE_WAIT,
        };
        let watch = Stopwatch::new();
        let mut changes = self.store.watch(id);
        loop {
            let now = self.page_now(view).await?;
            let waited = Duration::from_micros(watch.elapsed_us());
            if now != Some((view.phase, view.page.moves)) || waited >= most {
                return Ok(());
            }
            // Changes made by other processes do not wake this one, so look again after a while.
            let look = PAGE_LOOK.min(most.saturating_sub(waited));
            // Whichever happens first.
            let _ = tokio::time::timeout(look, changes.changed()).await;
        }
    }

    /// The current state of the page, and how often it has moved; `None` if it is gone.
    async fn page_now(&self, view: &PageView) -> Result<Option<(Phase, i64)>, AppError> {
        let Some(session) = self.store.session(view.session.id()).await? else { return Ok(None) };
        let now = self.now();
        // Only a page that waits for a wallet changes by itself.
        let may_be_fetched = view.phase == Phase::Open && is_by_reference(&session);
        let may_move = view.phase.is_open() && session.request().handover();
        if !may_be_fetched && !may_move {
            let phase = Phase::of(&session, is_fetched(&view.page), now);
            return Ok(Some((phase, view.page.moves)));
        }
        let page = self.store.page(&view.page.digest).await?;
        Ok(page.map(|page| (Phase::of(&session, is_fetched(&page), now), page.moves)))
    }

    /// Records that a wallet has the request, so that an opened page can show it. If that fails,
    /// the wallet gets the request all the same.
    pub(super) async fn note_fetched(&self, session: &Session) {
        if self.pages.is_some()
            && let Err(error) = self.try_note_fetched(session).await
        {
            tracing::warn!(session_id = %session.id(), %error, "cannot record that a wallet has the request, so the page does not show it");
        }
    }

    async fn try_note_fetched(&self, session: &Session) -> Result<(), StoreError> {
        let page = self.store.page_of(session.id()).await?;
        let page = page.filter(|page| page.is_opened && !is_fetched(page));
        let Some(page) = page else { return Ok(()) };
        // A gateway of an earlier version does not know this state, so the page would alternate
        // between two states. The version that introduced the state also introduced this reason.
        if self.store.is_known_to_all(Reason::Cancelled).await? {
            self.store.note_on_page(&page.digest, &fetched_note(&page)).await?;
        }
        Ok(())
    }

    /// The members that a session's page adds to its result.
    pub(super) async fn shown_by_page(&self, session: &Session) -> Result<ShownByPage, AppError> {
        let request = session.request();
        // A past handover is reported even if pages are switched off now.
        let reads = self.pages.is_some() || request.handover();
        if !reads || request.redirect_uri().is_none() {
            return Ok(ShownByPage::default());
        }
        let Some(page) = self.store.page_of(session.id()).await? else {
            return Ok(ShownByPage::default());
        };
        let gives = self.pages.is_some() && gives_code(session, &page);
        let code = gives.then(|| codes::page_code(&page));
        Ok(ShownByPage { code, handover: page.phone.is_some() })
    }

    /// Refuses a visit to a request address that changes over time, once the session's page is
    /// open. Exceptions: the address was on the page a moment ago, or the same wallet followed it
    /// in time. Returns whether this check applied.
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

    /// The request behind a scheme, for this `visit`.
    pub(super) async fn link_for(
        &self,
        session: &Session,
        scheme: &LinkScheme,
        visit: &Visit<'_>,
    ) -> Result<String, AppError> {
        if !self.has_link(session, scheme) {
            return Err(AppError::NotFound);
        }
        let link = scheme.link(|own| session.deep_link(own));
        Ok(match (self.check_turn(session, visit).await?, visit.part) {
            (true, Some(part)) => with_part(&link, part),
            _ => link,
        })
    }

    /// Whether the session's request addresses change over time once its page is open.
    fn turns(&self, session: &Session) -> bool {
        // After a handover, addresses shown by the other device must no longer work.
        let turning = |turning: bool| turning || session.request().handover();
        self.pages.as_ref().is_some_and(|rules| turning(rules.turning)) && is_by_reference(session)
    }
}

/// Whether any of the session's offers goes by reference.
fn is_by_reference(session: &Session) -> bool {
    session.offers().any(|offer| offer.shape().delivery == Delivery::RequestUri)
}

/// Whether the person's own browser must come back to the tenant.
pub(super) fn is_same_device(session: &Session) -> bool {
    let haip = || session.offers().any(|offer| offer.profile() == Profile::Haip);
    session.request().same_device().unwrap_or_else(haip)
}

/// Whether the page leads back with a code of its own. Otherwise the wallet's reply does; or the
/// browser took the page after the session was settled, which proves nothing.
fn gives_code(session: &Session, page: &PageRecord) -> bool {
    let is_here = || has_note(page, &answered_note(page));
    !has_note(page, TAKEN_LATE) && (!is_same_device(session) || is_here())
}

/// The note that the current browser answered through its dialogue. It names that browser: one that
/// had the page before gets no code.
pub(super) fn answered_note(page: &PageRecord) -> String {
    note_of(page, ANSWERED_HERE)
}

pub(super) fn cookie_name(digest: &[u8; 32]) -> String {
    let start = digest.get(..8).unwrap_or_default();
    format!("__Host-idgate-{}", hex(start))
}

/// `None` if the text cannot be a token.
fn digest_of(token: &str) -> Option<[u8; 32]> {
    is_of_base62(token).then(|| sha256(token.as_bytes()))
}
