//! The page while a wallet can answer. A computer shows the code first, a phone the button. The
//! style chooses between the two; the text is the same.

use idgate_core::{CredentialFormat, Profile};

use super::html::Html;
use super::icons;
use super::qr::Qr;
use super::words::Words;
use super::{Addresses, claims, live, named, outcome};
use crate::app::{LinkScheme, PageView, Standing};
use idgate_store::Face;

/// A code with more modules per side is drawn with [`MODULE_PIXELS`] for each.
const LARGE_CODE: usize = 90;
/// Pixels for each module of a large code: a whole number, which cameras read best.
const MODULE_PIXELS: usize = 4;
/// A code with more modules per side leaves no room for a column next to it.
const WIDE_CODE: usize = 130;

/// The layout of a code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Room {
    /// In its own column, as wide as the style says.
    Column,
    /// In its own column, as wide as its modules need.
    Large,
    /// Above the request.
    Whole,
}

impl Room {
    const fn of(modules: usize) -> Self {
        if modules <= LARGE_CODE {
            Self::Column
        } else if modules <= WIDE_CODE {
            Self::Large
        } else {
            Self::Whole
        }
    }
}

/// The page's card and its layout.
pub(super) struct Asking<'a> {
    view: &'a PageView,
    face: &'a Face,
    words: &'static Words,
    own: Addresses<'a>,
    qr: Option<Qr>,
    /// Whether the code opens this page on a phone. It is drawn only once a browser has the page.
    is_for_phone: bool,
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        view: &'a PageView,
        face: &'a Face,
        words: &'static Words,
        own: Addresses<'a>,
    ) -> Self {
        let for_phone = view
            .handover_address(own.token)
            .or_else(|| view.hands_over_once_taken().then(|| view.sample_address(own.token)));
        let is_for_phone = for_phone.is_some();
        let qr = for_phone.or_else(|| view.qr_code()).as_deref().and_then(Qr::of);
        Self { view, face, words, own, qr, is_for_phone }
    }

    fn room(&self) -> Option<Room> {
        self.qr.as_ref().map(|qr| Room::of(qr.side()))
    }

    /// Whether the card is narrow, without a code: the code is for this device only, or too long.
    pub(super) fn is_slim(&self) -> bool {
        self.qr.is_none()
    }

    /// A one-sentence description of the request.
    pub(super) fn title(&self) -> String {
        let text = match self.only_age() {
            Some(age) => self.words.text("asks_age").replace("{age}", &age),
            None => self.words.text("asks").to_owned(),
        };
        named(&text, self.face)
    }

    /// The age, if the request asks for nothing else.
    fn only_age(&self) -> Option<String> {
        let [credential] = self.view.session.request().credentials() else { return None };
        let [claim] = credential.claims() else { return None };
        let path = credential.path_for(claim).map(|path| claims::name_of(path.components()));
        claims::age_of(path.as_deref().unwrap_or(claim)).map(str::to_owned)
    }

    /// The card.
    pub(super) fn write(&self, html: &mut Html) {
        let class = match self.room() {
            Some(Room::Whole) => "ask whole",
            Some(Room::Large) => "ask wide",
            Some(Room::Column) | None => "ask",
        };
        html.raw("<div class=\"").raw(class).raw("\">");
        self.head(html);
        self.way(html);
        html.raw("<div class=\"rest\">");
        self.asked(html);
        self.purpose(html);
        html.raw("<p class=\"small\">")
            .text(&named(self.words.text("promise"), self.face))
            .raw("</p>");
        self.others(html);
        html.raw("</div></div>");
    }

    /// The instruction for a person on a computer.
    fn lead(&self) -> &'static str {
        if self.is_for_phone {
            self.words.text("move")
        } else if self.qr.is_some() {
            self.words.text("lead_scan")
        } else {
            self.words.text("lead_phone")
        }
    }

    fn head(&self, html: &mut Html) {
        let words = self.words;
        let on_computer = self.lead();
        html.raw("<div class=\"head\"><h1 tabindex=\"-1\">").text(&self.title()).raw("</h1>");
        html.raw("<p class=\"lead desk linked\">").text(on_computer).raw("</p>");
        html.raw("<p class=\"lead touch linked\">").text(words.text("lead_open")).raw("</p>");
        html.raw("<p class=\"lead chosen\" hidden>").text(words.text("dialogue")).raw("</p>");
        if self.crosses_devices() {
            html.raw("<div class=\"note desk linked\"><p>");
            html.text(&named(words.text("cross_care"), self.face)).raw("</p></div>");
        }
        live::notices(html, words, self.own, if self.view.renews() { 5 } else { 10 });
        html.raw("</div>");
    }

    /// Whether the code is for another device although wallets of its kind return to the device
    /// where they were opened (HAIP 1.0 5.1).
    fn crosses_devices(&self) -> bool {
        let is_haip = self.view.session.offers().any(|offer| offer.profile() == Profile::Haip);
        is_haip && self.qr.is_some() && !self.is_for_phone
    }

    fn way(&self, html: &mut Html) {
        let words = self.words;
        let is_large = self.room().is_some_and(|room| room != Room::Column);
        html.raw(if is_large {
            "<section class=\"way large\">"
        } else {
            "<section class=\"way\">"
        });
        self.dialogue(html);
        let scheme = self.view.scheme();
        html.raw("<a class=\"button touch linked\" data-scheme=\"")
            .text(scheme.key())
            .raw("\" href=\"");
        html.text(&self.view.link(&scheme)).raw("\">").text(words.text("open")).raw("</a>");
        if let Some(qr) = &self.qr {
            html.raw("<div class=\"scan\">");
            self.code(html, qr);
            self.way_to_code(html);
            html.raw("</div>");
        } else {
            // The script adds the address once this browser has the page.
            let way = self.view.way_out();
            html.raw("<a id=\"out\" class=\"button desk\"");
            html.raw(if way.is_some() { "" } else { " hidden" })
                .raw(" href=\"")
                .text(way.unwrap_or_default())
                .raw("\" rel=\"noreferrer\" target=\"_top\">");
            html.text(&named(words.text("back"), self.face)).raw("</a>");
        }
        live::line(html, words, self.view.left_ms(), words.text("waiting"));
        if self.qr.is_some() {
            self.steps(html);
        }
        html.raw("</section>");
    }

    fn steps(&self, html: &mut Html) {
        let words = self.words;
        let steps = match self.is_for_phone {
            true => [words.text("move1"), words.text("move2"), words.text("step3")],
            false => [words.text("step1"), words.text("step2"), words.text("step3")],
        };
        html.raw("<ol class=\"steps desk linked\">");
        for step in steps {
            html.raw("<li>").text(step).raw("</li>");
        }
        html.raw("</ol>");
        if self.view.turns() || self.is_for_phone {
            html.raw("<p class=\"small desk linked\">").text(words.text("turns")).raw("</p>");
        }
        if self.is_for_phone {
            html.raw("<div class=\"note desk linked\"><p><b>").text(words.text("move_why"));
            html.raw("</b> ").text(&named(words.text("move_reason"), self.face)).raw("</p></div>");
        }
    }

    /// The button for browsers without the script: it takes the page, which then shows a code for a
    /// phone.
    fn way_to_code(&self, html: &mut Html) {
        if self.is_for_phone && self.view.standing == Standing::Free {
            html.raw("<noscript><form method=\"post\" action=\"").text(&self.own.of("take"));
            html.raw("\"><button>").text(self.words.text("move_code"));
            html.raw("</button></form></noscript>");
        }
    }

    /// The script shows it if the browser has a dialogue for this request.
    fn dialogue(&self, html: &mut Html) {
        let Some(protocols) = self.view.dialogue() else { return };
        let protocols: Vec<_> = protocols.iter().map(|protocol| protocol.name()).collect();
        html.raw("<div id=\"alert\" class=\"note warn\" role=\"alert\"></div>");
        html.raw("<button id=\"choose\" class=\"chosen\" type=\"button\" hidden data-protocols=\"");
        html.raw(&protocols.join(" "));
        html.raw("\" data-no-answer=\"").text(self.words.text("no_answer"));
        html.raw("\" data-not-taken=\"").text(self.words.text("not_taken")).raw("\">");
        html.text(self.words.text("choose")).raw("</button>");
    }

    fn code(&self, html: &mut Html, qr: &Qr) {
        let is_drawn = self.view.standing != Standing::Free || !self.is_for_phone;
        // The script draws the code in its reserved room.
        self.frame_of_code(html, qr, if is_drawn { " id=\"qr\"" } else { " id=\"qr\" hidden" });
        html.raw("<path id=\"code\" fill=\"none\" stroke=\"#000\" d=\"");
        if is_drawn {
            html.raw(&qr.path()).raw("\" stroke-dasharray=\"").raw(qr.dashes());
        }
        html.raw("\"/></svg>");
    }

    /// Starts the drawing of the code, up to its modules.
    fn frame_of_code(&self, html: &mut Html, qr: &Qr, id: &str) {
        let is_column = Room::of(qr.side()) == Room::Column;
        html.raw("<svg").raw(id).raw(if is_column {
            " class=\"qr\""
        } else {
            " class=\"qr full\""
        });
        html.raw(" role=\"img\" aria-label=\"").text(match self.is_for_phone {
            true => self.words.text("move_name"),
            false => self.words.text("code_name"),
        });
        html.raw("\" viewBox=\"").raw(&qr.view_box()).raw("\" shape-rendering=\"crispEdges\"");
        if !is_column {
            let pixels = qr.side().saturating_mul(MODULE_PIXELS).to_string();
            html.raw(" width=\"").raw(&pixels).raw("\"");
        }
        html.raw("><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
    }

    fn asked(&self, html: &mut Html) {
        let words = self.words;
        for credential in self.view.session.request().credentials() {
            let doc_type = credential.doc_type().map(|doc_type| doc_type.as_str());
            let types: Vec<_> = match credential.format() {
                CredentialFormat::Mdoc => doc_type.into_iter().collect(),
                _ => credential.vct().iter().map(String::as_str).collect(),
            };
            html.raw("<section class=\"asked\"><h2>");
            icons::DOCUMENT.draw(html);
            html.text(&claims::document(&types, words)).raw("</h2><ul>");
            if credential.claims().is_empty() {
                html.raw("<li>").text(words.text("nothing")).raw("</li>");
            }
            for claim in credential.claims() {
                let path = credential.path_for(claim);
                let asked = path.map(|path| claims::name_of(path.components()));
                let asked = asked.as_deref().unwrap_or(claim);
                html.raw("<li>").text(&claims::claim(asked, words)).raw("</li>");
            }
            html.raw("</ul></section>");
        }
    }

    /// The purpose is the tenant's text, so the page says whose it is.
    fn purpose(&self, html: &mut Html) {
        let words = self.words;
        let purpose = self.view.session.request().purpose(words.code);
        let Some((language, text)) = purpose else { return };
        html.raw("<p class=\"purpose\"><b>").text(&named(words.text("purpose"), self.face));
        html.raw("</b> <span");
        if language != words.code {
            html.raw(" lang=\"").text(language).raw("\"");
        }
        html.raw(">").text(text).raw("</span></p>");
    }

    fn others(&self, html: &mut Html) {
        let (words, first) = (self.words, self.view.scheme());
        html.raw("<div class=\"end\"><details class=\"others\"><summary>")
            .text(words.text("others"));
        icons::CHEVRON.draw(html);
        html.raw("</summary><ul>");
        if let Some(qr) = &self.qr {
            if self.is_for_phone {
                // Where the browser chooses; on a phone this is not needed.
                html.raw("<li class=\"desk chosen\" hidden><p>").text(self.lead());
            } else {
                html.raw("<li class=\"touch again\"><p class=\"touch\">");
                html.text(words.text("other_scan")).raw("</p><p class=\"desk\">").text(self.lead());
            }
            html.raw("</p>");
            self.frame_of_code(html, qr, "");
            html.raw("<use href=\"#code\"/></svg></li>");
        }
        // Through the gateway, because a request by value is long and few people need these links.
        let address = |scheme: &LinkScheme| {
            // A `+` in a query would be read as a space.
            let key = scheme.key().replace('+', "%2B");
            self.own.with("open", &format!("scheme={key}"))
        };
        html.raw("<li class=\"desk\"><a href=\"").text(&address(&first)).raw("\">");
        html.text(words.text("other_here")).raw("</a></li>");
        // Where the browser chooses, the button is an alternative on a phone, too.
        html.raw("<li class=\"touch chosen\" hidden><a href=\"").text(&address(&first)).raw("\">");
        html.text(words.text("open")).raw("</a></li>");
        html.raw("<li><p>").text(words.text("other_link")).raw("</p>");
        for other in self.view.schemes().filter(|other| *other != first) {
            html.raw("<a href=\"").text(&address(&other)).raw("\">");
            html.text(other.prefix().trim_end_matches('?')).raw("</a> ");
        }
        html.raw("</li></ul></details>");
        outcome::cancel(html, words, self.own, "plain");
        html.raw("</div>");
    }
}
