//! The keys of the test client, shown on demand, and the calls of a first session.

use idgate_server::http::Html;

use super::frame::{Section, wide};
use super::parts::{MASKED_KEY, code_to_copy, command, copy_text, folded, quoted};
use crate::asks;
use crate::certificate::fingerprint;
use crate::state::{State, lock};

/// Writes the section; the keys themselves only if `shown`.
pub(super) fn page(state: &State, shown: bool) -> String {
    let kept = lock(&state.kept).1.clone();
    let key = if shown { &*kept.api_key } else { MASKED_KEY };
    wide(Section::Keys, "Keys and curl", |html| {
        html.raw("<h1 tabindex=\"-1\">Keys and curl</h1>");
        html.raw("<p class=\"soft\">These keys belong to the sandbox’s test client. They work only here.</p>");
        html.raw(if shown { "<dl class=\"gap\" id=\"shown\">" } else { "<dl class=\"gap\">" });
        value(html, "Gateway", &state.base_url);
        value(html, "client_id", &kept.client_id);
        secret(html, "api_key", "sk_test_", &kept.api_key, shown);
        secret(html, "signing_secret", "whsec_", &kept.signing_secret, shown);
        value(html, "Its CA, SHA-256", &fingerprint(&state.authority.der));
        html.raw("</dl><h2>Set up a shell</h2>");
        let shell = format!("export IDGATE_URL={}\nexport API_KEY={key}", state.gateway);
        command(html, "Shell", &shell);
        html.raw("<h2>Ask, answer, read</h2>");
        command(html, "1. Ask", &ask(state));
        command(html, "2. Answer", "idgate sandbox wallet 'openid4vp://?…'");
        let read = "curl -s $IDGATE_URL/v1/sessions/ses_… -H \"Authorization: Bearer $API_KEY\"";
        command(html, "3. Read", read);
    })
}

/// The commands of a first session, with the key masked.
pub(super) fn first(state: &State) -> String {
    format!("export API_KEY={MASKED_KEY}\n{}", ask(state))
}

fn ask(state: &State) -> String {
    let [first, ..] = &asks::ASKS;
    let body = quoted(&folded(&first.shown(&state.profiles).to_string()));
    format!(
        "curl -s {}/v1/sessions \\\n  -H \"Authorization: Bearer $API_KEY\" \\\n  \
         -H 'Content-Type: application/json' \\\n  -d {body}",
        state.gateway
    )
}

fn value(html: &mut Html, name: &str, text: &str) {
    html.raw("<dt>").text(name).raw("</dt><dd>");
    code_to_copy(html, text);
    html.raw("</dd>");
}

/// Shows a key: its prefix and a button that reveals it, or all of it.
fn secret(html: &mut Html, name: &str, prefix: &str, key: &str, shown: bool) {
    if shown {
        html.raw("<dt>").text(name).raw("</dt><dd id=\"").raw(name).raw("\">");
        code_to_copy(html, key);
        html.raw("</dd>");
        return;
    }
    html.raw("<dt>").text(name).raw("</dt><dd><code>").text(prefix).raw("••••••••••••••••</code>");
    html.raw(
        "<span class=\"row\"><form method=\"post\" action=\"/keys\"><button class=\"copy\">Show",
    );
    html.raw("<span class=\"unseen\"> ").text(name).raw("</span></button></form>");
    copy_text(html, "Copy", &format!("{prefix}…"));
    html.raw("</span></dd>");
}
