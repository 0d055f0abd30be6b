//! The page for people, as HTML text. It needs no template engine, because a single writer escapes
//! everything.

mod addresses;
mod asking;
mod claims;
mod contacts;
mod handover;
mod html;
mod icons;
mod language;
mod live;
mod outcome;
mod qr;
mod shown;
mod words;

use std::sync::LazyLock;

use hyper::StatusCode;

pub(crate) use self::addresses::{Addresses, Opening};
use self::asking::Asking;
pub(crate) use self::handover::{asks_on_phone, late};
pub use self::html::Html;
pub(crate) use self::language::Language;
use self::outcome::Outcome;
pub use self::qr::Qr;
pub(crate) use self::shown::{cookie_of, key_of};
use self::words::Words;
use crate::app::{PageView, Phase, Standing};
use crate::config::Operator;
use crate::digest::{hex, sha256};
use idgate_store::Face;

/// The script.
pub(crate) static SCRIPT: LazyLock<String> = LazyLock::new(|| bare(include_str!("page.js")));
/// The style sheet.
pub(crate) static STYLE: LazyLock<String> = LazyLock::new(|| dense(include_str!("page.css")));
/// The address of the style sheet; it changes with the content.
static STYLE_ADDRESS: LazyLock<String> = LazyLock::new(|| versioned("/v/page.css", &STYLE));
static SCRIPT_ADDRESS: LazyLock<String> = LazyLock::new(|| versioned("/v/page.js", &SCRIPT));
/// Shown next to the title.
pub(crate) const ICON: &str = include_str!("icon.svg");

/// The root of all paths of pages.
pub(crate) const ROOT: &str = "/v/";

/// Seconds until a notice page is reloaded, unless the response names another time.
const AGAIN_SECONDS: u64 = 5;

/// The page for a link that does not work.
pub(crate) fn gone(language: Language, own: Addresses<'_>, operator: &Operator) -> String {
    notice(language, &Outcome::gone(language.words()), own, None, Some(operator))
}

/// The page for a browser when another one has the page.
pub(crate) fn taken(language: Language, own: Addresses<'_>, operator: &Operator) -> String {
    notice(language, &Outcome::taken(language.words()), own, None, Some(operator))
}

/// The page for an error with this status. `again_after` is the response's waiting time in seconds.
pub(crate) fn refused(
    language: Language,
    status: StatusCode,
    again_after: Option<u64>,
    own: Addresses<'_>,
) -> String {
    let words = language.words();
    if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
        let seconds = again_after.unwrap_or(AGAIN_SECONDS).max(1);
        return notice(language, &Outcome::busy(words), own, Some(seconds), None);
    }
    notice(language, &Outcome::gone(words), own, None, None)
}

/// The inputs of a page, in addition to its session.
#[derive(Debug)]
pub(crate) struct Showing<'a> {
    /// The client.
    pub(crate) face: &'a Face,
    /// The operator.
    pub(crate) operator: &'a Operator,
    pub(crate) language: Language,
    pub(crate) own: Addresses<'a>,
}

/// A page as its browser sees it.
pub(crate) fn show(view: &PageView, showing: &Showing<'_>) -> String {
    let Showing { face, operator, language, own } = *showing;
    let words = language.words();
    let mut html = Html::default();
    let shows_code =
        own.shows_code && view.phase == Phase::Fetched && view.standing != Standing::Moved;
    let outcome = Outcome::of(view, words, own).filter(|_| !shows_code);
    let outcome = outcome.map(|outcome| outcome.named(face));
    let asking = Asking::new(view, face, words, own);
    let (title, is_slim) = match &outcome {
        Some(outcome) => (outcome.title().to_owned(), true),
        None => (asking.title(), asking.is_slim()),
    };
    let theme = face.accent.as_ref().map(|_| own.of("theme.css"));
    head(
        &mut html,
        words,
        &title,
        looks_again(view).map(|seconds| (seconds, own)),
        theme.as_deref(),
    );
    html.raw(if is_slim { "<div class=\"page slim\">" } else { "<div class=\"page\">" });
    brand(&mut html, view, face, words, own);
    html.raw("<main class=\"card\" data-state=\"").raw(view.state()).raw("\" data-left=\"");
    html.raw(&view.left_ms().to_string()).raw("\" data-page=\"").text(&own.page()).raw("\"");
    if view.standing == Standing::Free {
        html.raw(" data-free");
    }
    html.raw(">");
    match outcome {
        Some(outcome) => {
            outcome.write(&mut html);
            below(&mut html, view, face, words, own);
            html.raw("</div>");
        }
        None => asking.write(&mut html),
    }
    html.raw("</main>");
    foot(&mut html, language, own, |html| {
        runs(html, face, operator, words);
        contacts::write(html, &view.session, face, words);
    });
    html.raw("</div></body></html>");
    html.finish()
}

/// The buttons below an outcome, and the status of a session that continues.
fn below(html: &mut Html, view: &PageView, face: &Face, words: &Words, own: Addresses<'_>) {
    match view.phase {
        Phase::Open | Phase::Fetched | Phase::Checking if view.standing == Standing::Moved => {
            handover::follow(html, view, words, own);
        }
        Phase::Open => {}
        Phase::Fetched => {
            live::notices(html, words, own, if view.renews() { 5 } else { 10 });
            live::line(html, words, view.left_ms(), words.text("fetched_wait"));
            html.raw("<div class=\"row\"><a class=\"button second\" href=\"");
            html.text(&own.page_with_code()).raw("\">").text(words.text("show_code")).raw("</a>");
            outcome::cancel(html, words, own, "second");
            html.raw("</div>");
        }
        Phase::Checking => live::notices(html, words, own, 10),
        Phase::Done | Phase::Declined | Phase::Refused | Phase::Over | Phase::Cancelled => {
            outcome::ways_out(html, view, face, words, own);
        }
    }
}

/// Seconds until a page without its script reloads; `None` if it does not change.
fn looks_again(view: &PageView) -> Option<u64> {
    match view.phase {
        // A code stays valid for 5 s after it changed; the next one is shown by then.
        Phase::Open | Phase::Fetched if view.renews() => Some(5),
        Phase::Open | Phase::Fetched | Phase::Checking => Some(10),
        Phase::Done | Phase::Declined | Phase::Refused | Phase::Over | Phase::Cancelled => None,
    }
}

/// The start of every page.
fn head(
    html: &mut Html,
    words: &Words,
    title: &str,
    looks_again: Option<(u64, Addresses<'_>)>,
    theme: Option<&str>,
) {
    html.raw("<!doctype html><html lang=\"").raw(words.code);
    html.raw("\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"");
    html.raw(
        "width=device-width,initial-scale=1\"><meta name=\"robots\" content=\"noindex\"><title>",
    );
    html.text(title).raw("</title><link rel=\"icon\" href=\"/v/icon.svg\">");
    html.raw("<link rel=\"stylesheet\" href=\"").raw(&STYLE_ADDRESS).raw("\">");
    if let Some(theme) = theme {
        html.raw("<link rel=\"stylesheet\" href=\"").text(theme).raw("\">");
    }
    if let Some((seconds, own)) = looks_again {
        // Without the script the page still follows its session, even as the response to a form.
        html.raw("<noscript><meta http-equiv=\"refresh\" content=\"").raw(&seconds.to_string());
        html.raw(";url=").text(&own.page()).raw("\"></noscript>");
    }
    html.raw("<script type=\"module\" blocking=\"render\" src=\"")
        .raw(&SCRIPT_ADDRESS)
        .raw("\"></script></head><body>");
}

/// A page without a session. `again`: reload after this many seconds.
fn notice(
    language: Language,
    says: &Outcome,
    own: Addresses<'_>,
    again: Option<u64>,
    operator: Option<&Operator>,
) -> String {
    let mut html = Html::default();
    let words = language.words();
    head(&mut html, words, says.title(), again.map(|seconds| (seconds, own)), None);
    html.raw("<div class=\"page slim\"><main class=\"card\" data-state=\"none\" data-page=\"");
    html.text(&own.page()).raw("\"");
    if let Some(seconds) = again {
        html.raw(" data-again=\"").raw(&seconds.to_string()).raw("\"");
    }
    html.raw(">");
    says.write(&mut html);
    if again.is_some() {
        html.raw("<div class=\"row\"><a id=\"again\" class=\"button second\" href=\"");
        html.text(&own.page()).raw("\">").text(words.text("busy_now")).raw("</a></div>");
    }
    html.raw("</div></main>");
    foot(&mut html, language, own, |html| {
        let Some(operator) = operator else { return };
        if let Some(name) = &operator.name {
            let text = words.text("operator_alone").replace("{operator}", name);
            html.raw("<span>").text(&text).raw("</span> ");
        }
        links(html, operator.privacy_url.as_ref(), operator.help_url.as_ref(), words);
    });
    html.raw("</div></body></html>");
    html.finish()
}

/// The client's logo and name.
fn brand(html: &mut Html, view: &PageView, face: &Face, words: &Words, own: Addresses<'_>) {
    html.raw("<header class=\"brand\">");
    if face.has_logo {
        html.raw("<img class=\"logo\" alt=\"\" src=\"").text(&own.of("logo")).raw("\">");
    }
    html.raw("<b>").text(&claims::shortened(&face.name)).raw("</b>");
    if !view.session.livemode() {
        html.raw("<span class=\"test\">").text(words.text("test")).raw("</span>");
    }
    html.raw("</header>");
}

/// The operator's name, and links for privacy and help.
fn runs(html: &mut Html, face: &Face, operator: &Operator, words: &Words) {
    if let Some(name) = &operator.name {
        let text = named(words.text("operator"), face).replace("{operator}", name);
        html.raw("<span>").text(&text).raw("</span> ");
    }
    let privacy = face.privacy_url.as_ref().or(operator.privacy_url.as_ref());
    let help = face.help_url.as_ref().or(operator.help_url.as_ref());
    links(html, privacy, help, words);
}

fn links(html: &mut Html, privacy: Option<&String>, help: Option<&String>, words: &Words) {
    for (link, label) in [(privacy, words.text("privacy")), (help, words.text("help"))] {
        let Some(link) = link else { continue };
        html.raw("<a href=\"").text(link).raw("\" rel=\"noreferrer\" target=\"_top\">");
        html.text(label).raw("</a> ");
    }
}

/// The operator, and the language menu.
fn foot(html: &mut Html, language: Language, own: Addresses<'_>, runs: impl FnOnce(&mut Html)) {
    let words = language.words();
    html.raw("<footer class=\"foot\"><p>");
    runs(html);
    html.raw("</p><details class=\"tongues\"><summary aria-label=\"");
    html.text(words.text("language")).raw(": ").text(words.text("tongue")).raw("\">");
    html.text(words.text("tongue"));
    icons::CHEVRON.draw(html);
    html.raw("</summary><ul>");
    for other in Language::all() {
        let code = other.words().code;
        html.raw("<li><a href=\"").text(&own.page_in(other)).raw("\" lang=\"").raw(code);
        html.raw("\" hreflang=\"").raw(code).raw("\"");
        if other == language {
            html.raw(" aria-current=\"true\"");
        }
        html.raw(">").text(other.words().text("tongue")).raw("</a></li>");
    }
    html.raw("</ul></details></footer>");
}

/// An address that changes with the content, so that browsers do not use an old copy.
fn versioned(path: &str, content: &str) -> String {
    let digest = hex(&sha256(content.as_bytes()));
    [path, "?", digest.get(..8).unwrap_or_default()].concat()
}

/// Replaces `{name}` by the client's name.
fn named(text: &str, face: &Face) -> String {
    text.replace("{name}", &claims::shortened(&face.name))
}

/// Removes comment lines and indentation: the page has a size limit.
fn bare(source: &str) -> String {
    let is_comment =
        |line: &str| line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"));
    let lines = source.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Removes the style's comments, and spaces that browsers do not need.
fn dense(source: &str) -> String {
    let spaces = [(": ", ":"), ("; ", ";"), (", ", ","), (" { ", "{"), (" }", "}"), (";}", "}")];
    spaces.iter().fold(bare(source), |style, (spaced, plain)| style.replace(spaced, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_is_served_without_comments_and_unneeded_spaces() {
        let source = "/* a */\n@media (min-width: 1rem) { .b > c, d :e { f: 0 1rem; g: h; } }\n";
        assert_eq!(dense(source), "@media (min-width:1rem){.b > c,d :e{f:0 1rem;g:h}}\n");
        assert!(!STYLE.contains(['"', '\'']), "a text would lose spaces, too");
    }

    #[test]
    fn the_script_is_served_without_comment_lines() {
        let source = "// a\nconst b = 1 // c\n\n/** d */\nif (b) {\n  e()\n}\n";
        assert_eq!(bare(source), "const b = 1 // c\nif (b) {\ne()\n}\n");
    }

    #[test]
    fn an_error_page_escapes_its_address() {
        let own = Addresses {
            token: "a\"b",
            framed: true,
            chosen: None,
            shows_code: false,
            opening: None,
        };
        let text = refused(Language::of(None), StatusCode::TOO_MANY_REQUESTS, Some(7), own);
        assert!(text.contains("href=\"/v/a&quot;b?frame\""), "{text}");
        assert!(text.contains(" data-again=\"7\""), "{text}");
    }

    #[test]
    fn no_line_of_script_or_style_begins_within_a_comment_or_a_text() {
        for source in [include_str!("page.js"), include_str!("page.css")] {
            for line in source.lines() {
                assert_eq!(line.matches('`').count() % 2, 0, "{line}");
                assert_eq!(line.contains("/*"), line.contains("*/"), "{line}");
            }
        }
    }
}
