//! The line with the page's status and remaining time, and the notes of a page that cannot follow
//! its session.

use super::Addresses;
use super::html::Html;
use super::words::Words;

const MINUTE_MS: u64 = 60_000;

/// The status and the remaining minutes. The script keeps both up to date.
pub(super) fn line(html: &mut Html, words: &Words, left_ms: u64, waits: &str) {
    let is_last = left_ms < MINUTE_MS;
    html.raw("<p class=\"live\"><span class=\"dot\"><i></i><span id=\"said\" role=\"status\" data-waits=\"");
    html.text(waits).raw("\" data-last=\"").text(words.text("left_last"));
    html.raw("\" data-reconnect=\"").text(words.text("reconnect")).raw("\">");
    html.text(if is_last { words.text("left_last") } else { waits });
    html.raw("</span></span><span id=\"left\" role=\"timer\" data-text=\"")
        .text(words.text("left"));
    html.raw("\">");
    if !is_last {
        let minutes = left_ms.div_ceil(MINUTE_MS).to_string();
        html.text(&words.text("left").replace("{n}", &minutes));
    }
    html.raw("</span></p>");
}

/// The note that the script shows while the gateway cannot be reached, and the note of a page
/// without its script, which reloads every `seconds`.
pub(super) fn notices(html: &mut Html, words: &Words, own: Addresses<'_>, seconds: u64) {
    html.raw("<div id=\"notice\" class=\"note warn\" role=\"alert\" data-offline=\"");
    html.text(words.text("offline")).raw("\"></div><noscript><div class=\"note\"><p>");
    html.text(&words.text("noscript").replace("{n}", &seconds.to_string())).raw(" <a href=\"");
    html.text(&own.page()).raw("\">").text(words.text("look")).raw("</a></p></div></noscript>");
}
