//! The request of a session, and its query as a wallet reads it.

use idgate_server::http::Html;

use super::Known;
use crate::console::parts::{json, nothing};
use crate::console::words::{capital, claim, document, format_name};

pub(super) fn write(html: &mut Html, known: &Known) {
    html.raw("<h2>Requested claims</h2>");
    let Some(asked) = &known.remembered.asked else {
        html.raw("<ul class=\"asked\">");
        for (format, issuer) in known.line.formats.iter().zip(&known.line.issuer_ids) {
            html.raw("<li>").text(format_name(format)).raw("</li><li>Issuer: ");
            html.text(issuer).raw("</li>");
        }
        html.raw("</ul>");
        let text = "The console keeps the requests of the newest sessions while the sandbox runs. The gateway stores \
                    no copy that can be shown.";
        return nothing(html, "The request is no longer here.", text);
    };
    for one in &asked.credentials {
        html.raw("<ul class=\"asked\"><li>").text(&document(&one.kind)).raw(", ");
        html.text(format_name(one.format)).raw("</li>");
        for name in &one.claims {
            html.raw("<li>").text(&capital(&claim(name))).raw("</li>");
        }
        html.raw("<li>Issuer: ").text(&one.issuer_id).raw("</li></ul>");
    }
    json(html, "POST /v1/sessions", &asked.body);
    if let Some(dcql) = &asked.dcql {
        json(html, "What the wallet reads (DCQL)", dcql);
    }
}
