//! The page for people, as text: no template engine, because everything on it is escaped by the one
//! writer that there is.

mod claims;
mod html;
mod language;
mod qr;
mod shown;
mod words;

use std::fmt::Write as _;
use std::sync::LazyLock;

use hyper::StatusCode;
use idgate_core::{CredentialFormat, Scheme};

pub use self::html::Html;
pub(crate) use self::language::Language;
pub use self::qr::Qr;
pub(crate) use self::shown::{cookie_of, key_of};
use self::words::Words;
use crate::app::{PageView, Phase, Standing};
use idgate_store::Face;

/// The one script.
pub(crate) static SCRIPT: LazyLock<String> = LazyLock::new(|| bare(include_str!("page.js")));
/// The one style.
pub(crate) static STYLE: LazyLock<String> = LazyLock::new(|| dense(include_str!("page.css")));
/// Shown beside the title.
pub(crate) const ICON: &str = include_str!("icon.svg");

/// A code of more modules than this from edge to edge is shown as wide as it takes.
const LARGE_CODE: usize = 90;
/// Of each module of a large code: as many of all, which cameras read best.
const MODULE_PIXELS: usize = 4;

/// All that belongs to pages is below it.
pub(crate) const ROOT: &str = "/v/";

/// Where a page finds what belongs to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses<'a> {
    pub(crate) token: &'a str,
    /// Whether it is shown in a frame.
    pub(crate) framed: bool,
}

impl Addresses<'_> {
    /// The path of something below the page.
    pub(crate) fn of(self, name: &str) -> String {
        let query = if self.framed { "?frame" } else { "" };
        format!("{ROOT}{}/{name}{query}", self.token)
    }

    /// The path of the page.
    pub(crate) fn page(self) -> String {
        let query = if self.framed { "?frame" } else { "" };
        format!("{ROOT}{}{query}", self.token)
    }
}

/// What a page says that has nothing to show: its link leads nowhere.
pub(crate) fn gone(language: Language) -> String {
    let words = language.words();
    notice(words, words.notice("gone"), None)
}

/// What another browser sees.
pub(crate) fn taken(language: Language) -> String {
    let words = language.words();
    notice(words, words.notice("taken"), None)
}

/// What a person sees where the page would stand, had the gateway not answered with this status.
pub(crate) fn refused(language: Language, status: StatusCode, own: Addresses<'_>) -> String {
    let words = language.words();
    match status {
        StatusCode::TOO_MANY_REQUESTS => notice(words, words.notice("busy"), Some(own)),
        status if status.is_server_error() => notice(words, words.notice("unavailable"), Some(own)),
        _ => notice(words, words.notice("gone"), None),
    }
}

/// A page as its browser sees it.
pub(crate) fn show(view: &PageView, face: &Face, language: Language, own: Addresses<'_>) -> String {
    let words = language.words();
    let mut html = Html::default();
    let (title, text) = match view.phase {
        Phase::Open => (words.text("title"), ""),
        Phase::Checking => words.notice("checking"),
        Phase::Done => words.notice("done"),
        Phase::Refused => words.notice("refused"),
        Phase::Over => words.notice("over"),
    };
    let title = named(title, face);
    head(&mut html, words, &title, looks_again(view));
    html.raw("<main data-state=\"").raw(view.phase.name()).raw("\" data-left=\"");
    html.raw(&view.left_ms().to_string()).raw("\"");
    if view.standing == Standing::Free {
        html.raw(" data-free");
    }
    html.raw(">");
    banner(&mut html, view, face, words, own);
    match view.phase {
        Phase::Open => open(&mut html, view, face, words, own),
        _ => {
            html.raw("<h1>").text(&title).raw("</h1><p>").text(&named(text, face)).raw("</p>");
            if view.phase == Phase::Checking {
                status(&mut html, words);
            } else {
                back(&mut html, view, face, words, own);
            }
        }
    }
    html.raw("</main></body></html>");
    html.finish()
}

/// Seconds after which a page without its script is asked for again; `None`: it stays as it is.
fn looks_again(view: &PageView) -> Option<&'static str> {
    match view.phase {
        // A code is good for 5 s once it has turned: by then the next one is shown.
        Phase::Open if view.turns() => Some("5"),
        Phase::Open | Phase::Checking => Some("10"),
        Phase::Done | Phase::Refused | Phase::Over => None,
    }
}

/// The start of every page.
fn head(html: &mut Html, words: &Words, title: &str, looks_again: Option<&str>) {
    html.raw("<!doctype html><html lang=\"").raw(words.code);
    html.raw("\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"");
    html.raw(
        "width=device-width,initial-scale=1\"><meta name=\"robots\" content=\"noindex\"><title>",
    );
    html.text(title).raw("</title><link rel=\"icon\" href=\"/v/icon.svg\">");
    html.raw("<link rel=\"stylesheet\" href=\"/v/page.css\">");
    if let Some(seconds) = looks_again {
        // Without the script the page still follows.
        html.raw("<noscript><meta http-equiv=\"refresh\" content=\"").raw(seconds);
        html.raw("\"></noscript>");
    }
    html.raw("<script type=\"module\" src=\"/v/page.js\"></script></head><body>");
}

/// `again`: the page that may be there the next time.
fn notice(words: &Words, (title, text): (&str, &str), again: Option<Addresses<'_>>) -> String {
    let mut html = Html::default();
    head(&mut html, words, title, None);
    html.raw("<main data-state=\"none\"><h1>").text(title).raw("</h1><p>").text(text);
    if let Some(own) = again {
        html.raw("</p><p><a class=\"button\" href=\"").text(&own.page()).raw("\">");
        html.text(words.text("refresh")).raw("</a>");
    }
    html.raw("</p></main></body></html>");
    html.finish()
}

fn banner(html: &mut Html, view: &PageView, face: &Face, words: &Words, own: Addresses<'_>) {
    if face.has_logo {
        html.raw("<img class=\"logo\" alt=\"\" src=\"").text(&own.of("logo")).raw("\">");
    }
    if !view.session.livemode() {
        html.raw("<p class=\"test\">").text(words.text("test")).raw("</p>");
    }
}

fn open(html: &mut Html, view: &PageView, face: &Face, words: &Words, own: Addresses<'_>) {
    html.raw("<h1>").text(&named(words.text("asks"), face)).raw("</h1>");
    for credential in view.session.request().credentials() {
        let doc_type = credential.doc_type().map(|doc_type| doc_type.as_str());
        let types: Vec<_> = match credential.format() {
            CredentialFormat::Mdoc => doc_type.into_iter().collect(),
            _ => credential.vct().iter().map(String::as_str).collect(),
        };
        html.raw("<h2>").text(&claims::document(&types, words)).raw("</h2><ul>");
        if credential.claims().is_empty() {
            html.raw("<li>").text(words.text("nothing")).raw("</li>");
        }
        for claim in credential.claims() {
            let path = credential.path_for(claim);
            let asked = path.map(|path| claims::name_of(path.components()));
            let asked = asked.as_deref().unwrap_or(claim);
            html.raw("<li>").text(&claims::claim(asked, words)).raw("</li>");
        }
        html.raw("</ul>");
    }
    html.raw("<p>").text(&named(words.text("why"), face)).raw("</p><div class=\"ways\">");
    dialogue(html, view, words);
    on_this_device(html, view, words, own);
    by_scan(html, view, words);
    html.raw("</div><p>").text(words.text("left")).raw(" <time id=\"left\" role=\"timer\">");
    html.raw(&clock(view.left_ms())).raw("</time></p>");
    status(html, words);
}

/// The script shows it where the browser has a dialogue for what is asked.
fn dialogue(html: &mut Html, view: &PageView, words: &Words) {
    let Some(protocols) = view.dialogue() else { return };
    let protocols: Vec<_> = protocols.iter().map(|protocol| protocol.name()).collect();
    html.raw("<section id=\"dialogue\" hidden data-protocols=\"");
    html.raw(&protocols.join(" ")).raw("\" data-cancelled=\"").text(words.text("cancelled"));
    html.raw("\" data-failed=\"").text(words.text("failed"));
    html.raw("\"><h2>")
        .text(words.text("browser"))
        .raw("</h2><p><button id=\"choose\" type=\"button\">");
    html.text(words.text("choose")).raw("</button></p></section>");
}

fn on_this_device(html: &mut Html, view: &PageView, words: &Words, own: Addresses<'_>) {
    let scheme = view.scheme();
    html.raw("<section><h2>")
        .text(words.text("here"))
        .raw("</h2><p><a class=\"button\" data-scheme=\"");
    html.raw(scheme.key())
        .raw("\" href=\"")
        .text(&view.link(scheme))
        .raw("\">")
        .text(words.text("open"));
    html.raw("</a></p><details><summary>").text(words.text("others")).raw("</summary><ul>");
    // By way of the gateway: a request by value is long, and these are for few.
    for other in Scheme::ALL.into_iter().filter(|other| *other != scheme) {
        html.raw("<li><a href=\"").text(&own.of("open")).raw(if own.framed {
            "&amp;"
        } else {
            "?"
        });
        html.raw("scheme=").raw(other.key()).raw("\">").text(words.text("open")).raw(" (");
        html.raw(other.prefix().trim_end_matches('?')).raw(")</a></li>");
    }
    html.raw("</ul></details></section>");
}

fn by_scan(html: &mut Html, view: &PageView, words: &Words) {
    // What does not fit into a code is for this device alone.
    let Some(qr) = view.qr_code().as_deref().and_then(Qr::of) else { return };
    let is_large = qr.side() > LARGE_CODE;
    html.raw(if is_large { "<section class=\"wide\"><h2>" } else { "<section><h2>" });
    html.text(words.text("elsewhere")).raw("</h2><p>").text(words.text("scan")).raw("</p>");
    html.raw("<svg id=\"qr\" role=\"img\" aria-label=\"").text(words.text("code_name"));
    html.raw("\" viewBox=\"").raw(&qr.view_box()).raw("\" shape-rendering=\"crispEdges\"");
    if is_large {
        html.raw(" width=\"").raw(&qr.side().saturating_mul(MODULE_PIXELS).to_string()).raw("\"");
    }
    html.raw(
        "><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/><path fill=\"none\" stroke=\"#000\"",
    );
    html.raw(" d=\"").raw(&qr.path()).raw("\" stroke-dasharray=\"").raw(qr.dashes());
    html.raw("\"/></svg></section>");
}

/// Where the script says what it cannot do; without it a link asks again.
fn status(html: &mut Html, words: &Words) {
    html.raw("<p id=\"notice\" role=\"status\" data-offline=\"").text(words.text("offline"));
    html.raw("\"></p><noscript><p><a href=\"\">")
        .text(words.text("refresh"))
        .raw("</a></p></noscript>");
}

fn back(html: &mut Html, view: &PageView, face: &Face, words: &Words, own: Addresses<'_>) {
    if let Some(way) = view.way_back() {
        html.raw("<p><a class=\"button\" id=\"back\" href=\"").text(&way.uri).raw("\"");
        if way.has_code {
            html.raw(" data-auto");
        }
        html.raw(" rel=\"noreferrer\" target=\"_top\">").text(&named(words.text("back"), face));
        html.raw("</a></p>");
    } else if view.leads_back_once_taken() {
        html.raw("<form method=\"post\" action=\"").text(&own.of("take")).raw("\"><button>");
        html.text(&named(words.text("back"), face)).raw("</button></form>");
    }
}

/// `{name}` is the client's.
fn named(text: &str, face: &Face) -> String {
    text.replace("{name}", &claims::shortened(&face.name))
}

/// Minutes and seconds.
fn clock(left_ms: u64) -> String {
    let seconds = left_ms / 1000;
    let mut text = String::new();
    // Writing into a text has no way to fail.
    let _ = write!(text, "{}:{:02}", seconds / 60, seconds % 60);
    text
}

/// Without the lines that are comments, and indentation: what a browser loads has a budget.
fn bare(source: &str) -> String {
    let is_comment =
        |line: &str| line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"));
    let lines = source.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !is_comment(line));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The style without its comments, and without the spaces that only its reader needs.
fn dense(source: &str) -> String {
    let spaces = [(": ", ":"), ("; ", ";"), (", ", ","), (" { ", "{"), (" }", "}"), (";}", "}")];
    spaces.iter().fold(bare(source), |style, (spaced, plain)| style.replace(spaced, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_served_without_the_spaces_that_only_its_reader_needs() {
        let source = "/* a */\n@media (min-width: 1rem) { .b > c, d :e { f: 0 1rem; g: h; } }\n";
        assert_eq!(dense(source), "@media (min-width:1rem){.b > c,d :e{f:0 1rem;g:h}}\n");
        assert!(!STYLE.contains(['"', '\'']), "a text would lose spaces, too");
    }

    #[test]
    fn a_script_is_served_line_by_line_without_its_comments() {
        let source = "// a\nconst b = 1 // c\n\n/** d */\nif (b) {\n  e()\n}\n";
        assert_eq!(bare(source), "const b = 1 // c\nif (b) {\ne()\n}\n");
    }

    #[test]
    fn an_error_repeats_an_address_as_text_alone() {
        let own = Addresses { token: "a\"b", framed: true };
        let text = refused(Language::of(None), StatusCode::TOO_MANY_REQUESTS, own);
        assert!(text.contains("href=\"/v/a&quot;b?frame\""), "{text}");
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
