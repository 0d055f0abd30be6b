//! The ways to answer an open session: the six actions of the sandbox's wallet, the page for
//! people, and the code for another wallet.

use idgate_server::http::Html;

use super::Known;
use crate::console::parts::{copy_text, qr, quoted};
use crate::state::State;
use crate::wallet::Deed;

pub(super) fn write(html: &mut Html, state: &State, known: &Known) {
    html.raw("<section class=\"acts\" id=\"acts\" aria-label=\"Answer\">");
    html.raw("<form method=\"post\" action=\"/answer\" class=\"answering\">");
    html.raw("<input type=\"hidden\" name=\"session\" value=\"").text(&known.line.id).raw("\">");
    html.raw("<header><h2>Answer as the sandbox wallet</h2><label class=\"row\">Credentials of ");
    providers(html, state);
    html.raw("</label></header>");
    deeds(html, known.line.formats.iter().any(|format| format == "mso_mdoc"));
    html.raw("</form>");
    if let Some(asked) = &known.remembered.asked {
        ways(html, asked.page_url.as_deref(), &asked.link);
    }
    html.raw("</section>");
}

/// The choice of the provider whose credentials the wallet shows.
pub(crate) fn providers(html: &mut Html, state: &State) {
    html.raw("<select name=\"from\">");
    for provider in &state.providers {
        html.raw("<option value=\"").text(provider.is.key).raw("\">").text(provider.is.name);
        html.raw("</option>");
    }
    html.raw("</select>");
}

fn deeds(html: &mut Html, has_mdoc: bool) {
    html.raw("<ul class=\"deeds\">");
    for (deed, name, does) in Deed::ALL {
        html.raw("<li><button class=\"deed\" name=\"do\" value=\"").text(deed.name()).raw("\"><b>");
        html.text(name).raw("</b><span>").text(does).raw("</span><code>→ ");
        html.text(deed.outcome(has_mdoc)).raw("</code></button></li>");
    }
    html.raw("</ul>");
}

fn ways(html: &mut Html, page_url: Option<&str>, link: &str) {
    html.raw("<div class=\"ways\">");
    if let Some(page) = page_url {
        html.raw("<a class=\"button second\" href=\"").text(page);
        html.raw("\" target=\"_blank\" rel=\"noreferrer\">Open the page for people</a>");
    }
    html.raw(
        "<details id=\"code\"><summary class=\"button second\">Show the code for your own wallet",
    );
    html.raw("</summary>");
    qr(html, link);
    html.raw("<p class=\"small\"><a href=\"")
        .text(link)
        .raw("\">Open a wallet on this computer</a></p>");
    html.raw("<code class=\"link\">").text(link).raw("</code></details>");
    copy_text(html, "Copy link", link);
    copy_text(html, "Copy wallet command", &format!("idgate sandbox wallet {}", quoted(link)));
    html.raw("</div>");
}
