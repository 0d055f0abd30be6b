//! The icons of a page: line drawings in a square of 24 units, as wide as the text next to them.

use super::html::Html;

/// An icon: the content of its `svg`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Icon(&'static str);

/// A card with a portrait: a document.
pub(super) const DOCUMENT: Icon = Icon(
    "<rect x=\"2.5\" y=\"5\" width=\"19\" height=\"14\" rx=\"2\"/><circle cx=\"8.25\" cy=\"10.75\" r=\"1.9\"/>\
     <path d=\"M5.25 15.75c.6-1.5 1.7-2 3-2s2.4.5 3 2M14.5 10h4M14.5 14h4\"/>",
);
/// An arrow: something unfolds.
pub(super) const CHEVRON: Icon = Icon("<path d=\"M6 9l6 6 6-6\"/>");
/// A phone with a tick.
pub(super) const PHONE: Icon = Icon(
    "<rect x=\"7\" y=\"2.5\" width=\"10\" height=\"19\" rx=\"2.25\"/><path d=\"M11 18.25h2M10.25 10.5l1.5 1.5 2.75-3\"/>",
);
/// A turning circle.
pub(super) const CIRCLE: Icon = Icon(
    "<circle cx=\"12\" cy=\"12\" r=\"8.5\" opacity=\".25\"/><path d=\"M12 3.5a8.5 8.5 0 0 1 8.5 8.5\"/>",
);
/// A tick.
pub(super) const TICK: Icon = Icon("<path d=\"M5 12.5l4.5 4.5L19 7.5\"/>");
/// A circle with a line.
pub(super) const NOTHING: Icon =
    Icon("<circle cx=\"12\" cy=\"12\" r=\"8.5\"/><path d=\"M8 12h8\"/>");
/// A shield with a mark.
pub(super) const SHIELD: Icon = Icon(
    "<path d=\"M12 3l7.5 3v5.5c0 4.5-3 7.75-7.5 9.5-4.5-1.75-7.5-5-7.5-9.5V6z\"/><path d=\"M12 8v4.5M12 15.75v.01\"/>",
);
/// A clock.
pub(super) const CLOCK: Icon =
    Icon("<circle cx=\"12\" cy=\"12\" r=\"8.5\"/><path d=\"M12 7.25V12l3.25 2\"/>");
/// Two windows.
pub(super) const WINDOWS: Icon = Icon(
    "<rect x=\"3\" y=\"4\" width=\"13\" height=\"10.5\" rx=\"1.75\"/>\
     <path d=\"M8 18v.5A1.5 1.5 0 0 0 9.5 20h10a1.5 1.5 0 0 0 1.5-1.5v-8A1.5 1.5 0 0 0 19.5 9H19M3 7.25h13\"/>",
);
/// A link that is cut.
pub(super) const LINK: Icon = Icon(
    "<path d=\"M9.5 14.5l5-5M10.5 7l1.75-1.75a4.25 4.25 0 0 1 6 6L16.5 13M13.5 17l-1.75 1.75a4.25 4.25 0 0 1-6-6L7.5 11\"/>",
);
/// An hourglass.
pub(super) const HOURGLASS: Icon = Icon(
    "<path d=\"M7 3.5h10M7 20.5h10M8 3.5v3c0 2.5 4 3.5 4 5.5s-4 3-4 5.5v3M16 3.5v3c0 2.5-4 3.5-4 5.5s4 3 4 5.5v3\"/>",
);

impl Icon {
    /// Draws it, hidden from screen readers.
    pub(super) fn draw(self, html: &mut Html) {
        self.draw_as(html, "");
    }

    /// The same with additional attributes.
    pub(super) fn draw_as(self, html: &mut Html, attributes: &str) {
        html.raw("<svg")
            .raw(attributes)
            .raw(" width=\"24\" height=\"24\" viewBox=\"0 0 24 24\" fill=\"none\" stroke=\"currentColor\"");
        html.raw(" stroke-width=\"1.75\" stroke-linecap=\"round\" stroke-linejoin=\"round\" aria-hidden=\"true\">");
        html.raw(self.0).raw("</svg>");
    }
}
