//! The pages of a handover: the question on the phone, and what the computer shows meanwhile.

use super::asking::Asking;
use super::html::Html;
use super::outcome::Outcome;
use super::words::Words;
use super::{Addresses, Language, Showing, claims, foot, head, live, notice, runs};
use crate::app::PageView;
use crate::config::Operator;

/// The question on the phone: the client's name and one button.
pub(crate) fn asks_on_phone(view: &PageView, showing: &Showing<'_>) -> String {
    let Showing { face, operator, language, own } = *showing;
    let words = language.words();
    let mut html = Html::default();
    let title = Asking::new(view, face, words, own).title();
    head(&mut html, words, &title, None, None);
    html.raw("<div class=\"page slim\"><header class=\"brand\"><b>");
    html.text(&claims::shortened(&face.name)).raw("</b>");
    if !view.session.livemode() {
        html.raw("<span class=\"test\">").text(words.text("test")).raw("</span>");
    }
    html.raw("</header><main class=\"card\" data-state=\"asks\" data-page=\"").text(&own.page());
    html.raw("\">");
    Outcome::asks(&title, words).named(face).write(&mut html);
    if let Some(opening) = own.opening {
        html.raw("<div class=\"row\"><form method=\"post\" action=\"").text(&own.press(opening));
        html.raw("\"><button>").text(words.text("move_here")).raw("</button></form></div>");
    }
    html.raw("</div></main>");
    foot(&mut html, language, own, |html| runs(html, face, operator, words));
    html.raw("</div></body></html>");
    html.finish()
}

/// The page for a phone whose code no longer works.
pub(crate) fn late(language: Language, own: Addresses<'_>, operator: &Operator) -> String {
    notice(language, &Outcome::late(language.words()), own, None, Some(operator))
}

/// Status and button of the computer, below its heading.
pub(super) fn follow(html: &mut Html, view: &PageView, words: &Words, own: Addresses<'_>) {
    live::notices(html, words, own, 10);
    live::line(html, words, view.left_ms(), words.text("moved_wait"));
    if view.may_be_brought_back() {
        html.raw("<div class=\"row\"><form method=\"post\" action=\"").text(&own.of("back"));
        html.raw("\"><button class=\"second\">").text(words.text("bring_back"));
        html.raw("</button></form></div>");
    }
}
