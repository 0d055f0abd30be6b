//! Parts that the sections share: icons, buttons, boxes and messages.

use idgate_core::UnixMillis;
use idgate_server::http::{Html, Qr};
use serde_json::Value;

use super::json::Tree;

/// Line icons of 24 units.
pub(super) const GATE: &str = "<path d=\"M4 21V11a8 8 0 0 1 16 0v10\"/><path d=\"M2 21h20\"/>\
     <path d=\"M8.5 13l2.5 2.5 4.5-5\"/>";
pub(super) const TRAY: &str =
    "<path d=\"M3 13l3-8h12l3 8v6H3z\"/><path d=\"M3 13h5l1.5 3h5L16 13h5\"/>";
pub(super) const TICK: &str = "<path d=\"M5 12.5l4.5 4.5L19 7.5\"/>";
pub(super) const CROSS: &str = "<path d=\"M6.5 6.5l11 11M17.5 6.5l-11 11\"/>";
const DOTS: &str = "<path d=\"M5 12h.01M12 12h.01M19 12h.01\"/>";
const CLOCK: &str = "<circle cx=\"12\" cy=\"12\" r=\"8.5\"/><path d=\"M12 7.5V12l3 2\"/>";
const SHEETS: &str = "<rect x=\"8\" y=\"8\" width=\"12\" height=\"12\" rx=\"2\"/>\
     <path d=\"M16 8V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h2\"/>";

/// A shell line longer than this is folded.
const FOLD: usize = 44;

/// The masked key in commands. The script inserts the real key when a command is copied.
pub(super) const MASKED_KEY: &str = "sk_test_…";

pub(super) fn icon(html: &mut Html, shape: &str) {
    html.raw(
        "<svg viewBox=\"0 0 24 24\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.75\" ",
    );
    html.raw("stroke-linecap=\"round\" stroke-linejoin=\"round\" aria-hidden=\"true\">");
    html.raw(shape).raw("</svg>");
}

/// The look of a status label.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tone {
    Open,
    Dull,
    Good,
    Bad,
    Late,
}

impl Tone {
    /// The tone of a session's status.
    pub(super) fn of(status: &str) -> Self {
        match status {
            "VERIFIED" => Self::Good,
            "FAILED" => Self::Bad,
            "EXPIRED" => Self::Late,
            "CREATED" => Self::Dull,
            _ => Self::Open,
        }
    }

    const fn look(self) -> (&'static str, &'static str) {
        match self {
            Self::Open => ("pill", DOTS),
            Self::Dull => ("pill dull", DOTS),
            Self::Good => ("pill good", TICK),
            Self::Bad => ("pill bad", CROSS),
            Self::Late => ("pill warn", CLOCK),
        }
    }
}

pub(super) fn pill(html: &mut Html, tone: Tone, word: &str) {
    let (class, shape) = tone.look();
    html.raw("<span class=\"").raw(class).raw("\">");
    icon(html, shape);
    html.text(word).raw("</span>");
}

/// A button that copies the content of the nearest box or row. Hidden without a script.
pub(super) fn copy(html: &mut Html) {
    html.raw("<button type=\"button\" class=\"copy scripted\">");
    icon(html, SHEETS);
    html.raw("Copy</button>");
}

/// A button that copies this text.
pub(super) fn copy_text(html: &mut Html, label: &str, text: &str) {
    html.raw("<button type=\"button\" class=\"copy scripted\" data-text=\"").text(text).raw("\">");
    icon(html, SHEETS);
    html.text(label).raw("</button>");
}

/// Code with a button that copies it.
pub(super) fn code_to_copy(html: &mut Html, text: &str) {
    html.raw("<code>").text(text).raw("</code>");
    copy(html);
}

/// A box with a title; its content can be copied.
fn boxed(html: &mut Html, title: &str, inside: impl FnOnce(&mut Html)) {
    html.raw("<div class=\"box\"><header><span>").text(title).raw("</span><span class=\"row\">");
    copy(html);
    html.raw("</span></header><pre tabindex=\"0\">");
    inside(html);
    html.raw("</pre></div>");
}

/// A command of one or more lines.
pub(super) fn command(html: &mut Html, title: &str, text: &str) {
    boxed(html, title, |html| lines(html, text));
}

/// JSON; other text is shown unchanged.
pub(super) fn json(html: &mut Html, title: &str, text: &str) {
    boxed(html, title, |html| json_text(html, text));
}

pub(super) fn json_text(html: &mut Html, text: &str) {
    match Tree::of(text) {
        Some(tree) => tree.write(html),
        None => lines(html, text),
    }
}

/// Text that keeps its line breaks.
fn lines(html: &mut Html, text: &str) {
    for (at, line) in text.split('\n').enumerate() {
        html.raw(if at > 0 { "\n" } else { "" }).text(line);
    }
}

/// A sentence about the state of things.
pub(super) fn verdict(html: &mut Html, class: &str, inside: impl FnOnce(&mut Html)) {
    html.raw("<div class=\"verdict ").raw(class).raw("\"><div>");
    inside(html);
    html.raw("</div></div>");
}

/// A title and a sentence, shown where a box has no content yet.
pub(super) fn nothing(html: &mut Html, title: &str, text: &str) {
    verdict(html, "info", |html| {
        html.raw("<p><b>").text(title).raw("</b></p><p>").text(text).raw("</p>");
    });
}

/// A QR code; nothing if the link is too long for one.
pub(super) fn qr(html: &mut Html, link: &str) {
    let Some(qr) = Qr::of(link) else { return };
    let view_box = qr.view_box();
    html.raw("<svg class=\"qr\" role=\"img\" aria-label=\"QR code\" viewBox=\"").text(&view_box);
    html.raw("\" shape-rendering=\"crispEdges\"><path fill=\"none\" stroke=\"#000\" d=\"");
    html.text(&qr.path()).raw("\" stroke-dasharray=\"").text(qr.dashes()).raw("\"/></svg>");
}

/// The time of day (UTC), to the second.
pub(super) fn time(at: UnixMillis) -> String {
    let text = at.to_string();
    text.get(11..19).unwrap_or(&text).to_owned()
}

/// The time of day to the millisecond.
pub(super) fn exact_time(at: UnixMillis) -> String {
    let text = at.to_string();
    text.get(11..23).unwrap_or(&text).to_owned()
}

/// `1 check`, `2 checks`
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A text member of a JSON object; empty if it is missing or not a text.
pub(super) fn member<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Folds JSON over several shell lines of about 60 characters each.
pub(super) fn folded(json: &str) -> String {
    let (mut folded, mut column) = (String::with_capacity(json.len()), 0_usize);
    let (mut is_in_text, mut is_escaped) = (false, false);
    for c in json.chars() {
        folded.push(c);
        column = column.saturating_add(1);
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_in_text => is_escaped = true,
            '"' => is_in_text = !is_in_text,
            ',' if !is_in_text && column > FOLD => {
                folded.push_str("\n    ");
                column = 0;
            }
            _ => {}
        }
    }
    folded
}

/// Quotes a text for the shell, in single quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_folded_between_its_members_and_nowhere_in_a_text() {
        let text = ",".repeat(FOLD);
        let body = format!(r#"{{"a\\":"\"{text}","b":[1,2],"c":"'"}}"#);
        let folded = folded(&body);
        assert_eq!(folded.matches("\n    ").count(), 1, "{folded}");
        let value = |json: &str| serde_json::from_str::<Value>(json).ok();
        assert_eq!(value(&folded), value(&body));
        assert_eq!(quoted("a'b"), r"'a'\''b'");
    }
}
