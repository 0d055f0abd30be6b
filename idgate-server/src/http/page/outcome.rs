//! A page with one message: the outcome of the request, or why there is no page.

use super::html::Html;
use super::icons::{self, Icon};
use super::words::Words;
use super::{Addresses, named};
use crate::app::{PageView, Phase, Standing};
use idgate_store::Face;

/// How long the page thanks the person before it moves on, in milliseconds.
const THANKS_MS: &str = "2500";
/// How long a cancelled page stays before it moves on, in milliseconds.
const CANCELLED_MS: &str = "1500";

/// The icon above a heading, and its colour.
#[derive(Clone, Copy, Debug)]
struct Mark(Icon, &'static str);

/// One message of a page.
#[derive(Debug)]
pub(super) struct Outcome {
    mark: Mark,
    title: String,
    texts: Vec<String>,
}

impl Outcome {
    fn new(icon: Icon, colour: &'static str, (title, text): (&str, &str)) -> Self {
        Self { mark: Mark(icon, colour), title: title.to_owned(), texts: vec![text.to_owned()] }
    }

    /// For a browser when another one has the page.
    pub(super) fn taken(words: &Words) -> Self {
        Self::new(icons::WINDOWS, "", words.notice("taken"))
    }

    /// For a link that does not work.
    pub(super) fn gone(words: &Words) -> Self {
        Self::new(icons::LINK, "", words.notice("gone"))
    }

    /// For a gateway that cannot answer at the moment.
    pub(super) fn busy(words: &Words) -> Self {
        Self::new(icons::HOURGLASS, "", words.notice("busy"))
    }

    /// For a handover address that is no longer valid.
    pub(super) fn late(words: &Words) -> Self {
        Self::new(icons::CLOCK, "", words.notice("late"))
    }

    /// For a phone that may take a page over; `title` describes the request in one sentence.
    pub(super) fn asks(title: &str, words: &Words) -> Self {
        Self::new(icons::PHONE, "", (title, words.text("move_care")))
    }

    /// For the computer whose page moved to a phone; `None` if the general message applies.
    fn moved(view: &PageView, words: &Words) -> Option<Self> {
        match view.phase {
            _ if view.standing != Standing::Moved => None,
            Phase::Open | Phase::Fetched | Phase::Checking => {
                Some(Self::new(icons::PHONE, "", words.notice("moved")))
            }
            Phase::Done | Phase::Declined | Phase::Refused | Phase::Cancelled => {
                Some(Self::new(icons::PHONE, "", words.notice("finished")))
            }
            Phase::Over => None,
        }
    }

    /// The state of a session that no longer waits for a wallet on this page; `None` while it
    /// waits.
    pub(super) fn of(view: &PageView, words: &Words, own: Addresses<'_>) -> Option<Self> {
        if let Some(moved) = Self::moved(view, words) {
            return Some(moved);
        }
        let leads_on = leads_on(view, own);
        let mut outcome = match view.phase {
            Phase::Open => return None,
            Phase::Fetched => Self::new(icons::PHONE, "", words.notice("fetched")),
            Phase::Checking => Self::new(icons::CIRCLE, "", words.notice("checking")),
            Phase::Done if leads_on => Self::new(icons::TICK, " good", words.notice("done")),
            Phase::Done if view.continues_elsewhere() => {
                Self::new(icons::TICK, " good", (words.text("here"), words.text("here.text")))
            }
            Phase::Done => {
                Self::new(icons::TICK, " good", (words.text("here"), words.text("done.text")))
            }
            Phase::Declined => Self::new(icons::NOTHING, "", words.notice("declined")),
            Phase::Refused => Self::new(icons::SHIELD, " warn", words.notice("refused")),
            Phase::Over => Self::new(icons::CLOCK, "", words.notice("over")),
            Phase::Cancelled if leads_on => {
                Self::new(icons::NOTHING, "", words.notice("cancelled"))
            }
            Phase::Cancelled => {
                let texts = (words.text("cancelled_here"), words.text("cancelled.text"));
                Self::new(icons::NOTHING, "", texts)
            }
        };
        if view.retry_uri().is_some() {
            if view.phase == Phase::Refused {
                outcome.texts.push(words.text("refused_more").to_owned());
            }
        } else if view.phase.may_be_tried_again() && view.way_back().is_some() {
            outcome.texts.push(words.text("no_retry").to_owned());
        }
        Some(outcome)
    }

    /// Fills in the client's name.
    pub(super) fn named(self, face: &Face) -> Self {
        Self {
            title: named(&self.title, face),
            texts: self.texts.iter().map(|text| named(text, face)).collect(),
            ..self
        }
    }

    /// Its heading.
    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// The content of the card, above its buttons.
    pub(super) fn write(&self, html: &mut Html) {
        let Mark(icon, colour) = self.mark;
        html.raw("<div class=\"says\"><div class=\"mark").raw(colour).raw("\">");
        let spins = if icon == icons::CIRCLE { " class=\"spin\"" } else { "" };
        icon.draw_as(html, spins);
        html.raw("</div><h1 tabindex=\"-1\">").text(&self.title).raw("</h1>");
        for text in &self.texts {
            html.raw("<p class=\"lead\">").text(text).raw("</p>");
        }
    }
}

/// Whether the page forwards the person by itself; never in a frame.
fn leads_on(view: &PageView, own: Addresses<'_>) -> bool {
    view.leads_on() && !own.framed
}

/// The buttons of a settled session.
pub(super) fn ways_out(
    html: &mut Html,
    view: &PageView,
    face: &Face,
    words: &Words,
    own: Addresses<'_>,
) {
    let has_way = view.retry_uri().is_some() || view.way_back().is_some();
    if !has_way && !view.leads_back_once_taken() {
        return;
    }
    html.raw("<div class=\"row\">");
    let again = view.retry_uri();
    if let Some(again) = again {
        html.raw("<a class=\"button\" href=\"").text(again);
        html.raw("\" rel=\"noreferrer\" target=\"_top\">").text(words.text("again")).raw("</a>");
    }
    if let Some(way) = view.way_back() {
        let class = if again.is_some() { "button second" } else { "button" };
        html.raw("<a class=\"").raw(class).raw("\" id=\"back\" href=\"").text(&way.uri).raw("\"");
        if leads_on(view, own) {
            let stays = if view.phase == Phase::Done { THANKS_MS } else { CANCELLED_MS };
            html.raw(" data-auto=\"").raw(stays).raw("\"");
        }
        let label = if view.leads_on() { words.text("continue") } else { words.text("back") };
        html.raw(" rel=\"noreferrer\" target=\"_top\">").text(&named(label, face)).raw("</a>");
    } else if view.leads_back_once_taken() {
        html.raw("<form method=\"post\" action=\"").text(&own.of("take")).raw("\"><button>");
        html.text(&named(words.text("back"), face)).raw("</button></form>");
    }
    html.raw("</div>");
}

/// The form that ends the session.
pub(super) fn cancel(html: &mut Html, words: &Words, own: Addresses<'_>, class: &str) {
    html.raw("<form method=\"post\" action=\"").text(&own.of("cancel")).raw("\"><button class=\"");
    html.raw(class).raw("\">").text(words.text("cancel")).raw("</button></form>");
}
