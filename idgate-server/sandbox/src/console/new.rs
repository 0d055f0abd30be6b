//! The section that creates a session, or answers a link of another gateway.

use std::sync::Arc;

use idgate_core::Profile;
use idgate_server::http::Html;

use super::keys;
use super::list::split;
use super::notice::notice;
use super::parts::command;
use super::session::providers;
use crate::asks::ASKS;
use crate::state::State;
use crate::wallet::Deed;

pub(super) const PATH: &str = "/new";

/// # Errors
/// The store failed.
pub(super) async fn page(state: &Arc<State>) -> Result<String, String> {
    let lines = state.sessions().await?;
    Ok(split(state, &lines, None, "New session", |html| {
        notice(html, state, PATH);
        html.raw("<h1 tabindex=\"-1\">New session</h1>");
        ask(html, state);
        html.raw("<h2 class=\"gap\">Answer the link of another gateway</h2>");
        html.raw("<p class=\"soft\">The gateway must run on this computer: the sandbox’s wallet reaches no other.</p>");
        answer(html, state);
        html.raw("<h2 class=\"gap\">The same with curl</h2>");
        command(html, "POST /v1/sessions", &keys::first(state));
    }))
}

fn ask(html: &mut Html, state: &State) {
    html.raw("<form method=\"post\" action=\"/sessions\"><div class=\"form\"><label>Ask for<select name=\"ask\">");
    for one in &ASKS {
        option(html, one.key, one.label);
    }
    html.raw("</select></label><label>Speak<select name=\"profile\">");
    for profile in &state.profiles {
        option(html, profile, profile);
    }
    html.raw("</select><span>haip: signed, encrypted, by reference</span></label>");
    html.raw("<label class=\"all\">Claims<input name=\"claims\" autocomplete=\"off\" ");
    html.raw("placeholder=\"given_name, family_name\"><span>Leave empty for the sample’s own claims.</span></label>");
    if state.profiles.iter().any(|name| *name != Profile::Draft.name()) {
        html.raw(
            "<label class=\"pick\"><input type=\"checkbox\" name=\"same_device\" value=\"true\">",
        );
        html.raw("<b>Same device only</b><span>The wallet sends the browser back with a code; the result needs it. ");
        html.raw("haip always does this.</span></label>");
    }
    html.raw("</div><p class=\"row\"><button>Create the session</button></p></form>");
}

fn answer(html: &mut Html, state: &State) {
    html.raw(
        "<form method=\"post\" action=\"/answer\"><div class=\"form\"><label class=\"all\">Link",
    );
    html.raw(
        "<input name=\"uri\" required autocomplete=\"off\" placeholder=\"openid4vp://?…\"></label>",
    );
    html.raw("<label>Credentials of");
    providers(html, state);
    html.raw("</label><label>What the wallet does<select name=\"do\">");
    for (deed, name, does) in Deed::ALL {
        option(html, deed.name(), &format!("{name}: {does}"));
    }
    html.raw("</select></label></div><p class=\"row\"><button class=\"second\">Answer the link</button></p></form>");
}

fn option(html: &mut Html, value: &str, label: &str) {
    html.raw("<option value=\"").text(value).raw("\">").text(label).raw("</option>");
}
