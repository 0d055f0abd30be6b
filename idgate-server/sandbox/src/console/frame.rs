//! The frame of each page: the bar with the sections, and the banner.

use idgate_server::http::Html;

use super::parts::{GATE, icon};

/// A section of the bar.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Section {
    Sessions,
    Receive,
    Issuers,
    Webhooks,
    Keys,
}

impl Section {
    const ALL: [Self; 5] =
        [Self::Sessions, Self::Receive, Self::Issuers, Self::Webhooks, Self::Keys];

    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Sessions => "/sessions",
            Self::Receive => "/receive",
            Self::Issuers => "/issuers",
            Self::Webhooks => "/webhooks",
            Self::Keys => "/keys",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "Sessions",
            Self::Receive => "Receive on your phone",
            Self::Issuers => "Issuers",
            Self::Webhooks => "Webhooks",
            Self::Keys => "Keys and curl",
        }
    }
}

/// Writes a page of a section; `inside` writes its `<main>`.
pub(super) fn page(section: Section, title: &str, inside: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.raw("<title>").text(title).raw(" – idgate sandbox</title>");
    html.raw("<link rel=\"icon\" href=\"/icon.svg\" type=\"image/svg+xml\">");
    html.raw("<link rel=\"stylesheet\" href=\"/console.css\">");
    html.raw("<script src=\"/console.js\" defer></script></head>");
    html.raw(
        "<body><div class=\"console\"><header><div class=\"bar\"><a class=\"sign\" href=\"/\">",
    );
    icon(&mut html, GATE);
    html.raw("idgate sandbox</a><nav aria-label=\"Sections\">");
    for one in Section::ALL {
        html.raw("<a href=\"").raw(one.path());
        html.raw(if one == section { "\" aria-current=\"page\">" } else { "\">" });
        html.raw(one.name()).raw("</a>");
    }
    // Without a script the page does not refresh.
    html.raw("</nav><span class=\"state-of scripted\" role=\"status\" id=\"live\"><i></i>");
    html.raw("<span>Live</span></span><noscript><a class=\"state-of\" href=\"\">Look again</a></noscript>");
    html.raw("</div><p class=\"strip\">For development only. Sample issuers: nothing they say is ");
    html.raw("true. Anyone on this computer can answer.</p>");
    html.raw("<p class=\"said\" role=\"status\" id=\"said\"></p></header>");
    inside(&mut html);
    html.raw("</div></body></html>");
    html.finish()
}

/// Writes a page with one column.
pub(super) fn wide(section: Section, title: &str, inside: impl FnOnce(&mut Html)) -> String {
    page(section, title, |html| {
        html.raw("<main class=\"wide\">");
        inside(html);
        html.raw("</main>");
    })
}
