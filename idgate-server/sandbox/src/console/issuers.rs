//! The sample issuers, their trusted lists, and how to follow these from another gateway.

use idgate_server::http::Html;

use super::frame::{Section, wide};
use super::notice::notice;
use super::parts::{Tone, command, pill};
use crate::issuers::Provider;
use crate::state::{LISTS, State, lock};

pub(super) fn page(state: &State) -> String {
    let lists = lock(&state.lists).clone();
    wide(Section::Issuers, "Issuers", |html| {
        notice(html, state, Section::Issuers.path());
        html.raw("<h1 tabindex=\"-1\">Issuers</h1><p class=\"soft\">The issuers that the sandbox gateway trusts. Withdraw a ");
        html.raw("provider to see its credentials refused within one refresh of the list.</p>");
        html.raw("<div class=\"wrap gap\" tabindex=\"0\" role=\"region\" aria-label=\"Providers\"><table><thead><tr>");
        html.raw("<th scope=\"col\">Provider</th><th scope=\"col\">On the trusted lists</th>");
        html.raw("<th scope=\"col\">Status lists and CRL</th><th scope=\"col\">Action</th></tr></thead><tbody>");
        for (provider, listed) in state.providers.iter().zip(lists.listed) {
            row(html, provider, listed);
        }
        html.raw("</tbody></table></div><h2>Trusted lists</h2><p class=\"soft\">Number ");
        html.text(&lists.number.to_string()).raw(", signed again after each change:");
        for (_, path) in LISTS {
            html.raw(" <code>").text(&state.https).text(path).raw("</code>");
        }
        html.raw("</p><h2 class=\"gap\">Trust them from a gateway of your own</h2>");
        command(html, "Shell", &follow(state));
    })
}

fn row(html: &mut Html, provider: &Provider, listed: bool) {
    let is = &provider.is;
    html.raw("<tr><td><b>").text(is.name).raw("</b><span class=\"soft mono\">").text(is.identifier);
    html.raw("</span></td><td>");
    match listed {
        true => pill(html, Tone::Good, "listed"),
        false => pill(html, Tone::Late, "withdrawn"),
    }
    html.raw("</td><td>");
    for (at, file) in ["status.jwt", "status.cwt", "crl"].into_iter().enumerate() {
        html.raw(if at > 0 { " · " } else { "" }).raw("<a href=\"/issuers/").text(is.key).raw("/");
        html.raw(file).raw("\">").raw(file).raw("</a>");
    }
    html.raw("</td><td><form method=\"post\" action=\"/providers\"><input type=\"hidden\" name=\"provider\" value=\"");
    html.text(is.key).raw("\"><button class=\"second\" name=\"listed\" value=\"");
    html.raw(if listed { "false\">Withdraw" } else { "true\">List again" });
    html.raw("<span class=\"unseen\"> ").text(is.name).raw("</span></button></form></td></tr>");
}

fn follow(state: &State) -> String {
    let (page, [(_, pid), _]) = (&state.page, LISTS);
    format!(
        "curl -sO {page}/files/ca.pem -O {page}/files/list-signer.pem\n\
         export IDGATE_EXTRA_CA_FILE=ca.pem IDGATE_FETCH_ALLOW_CIDRS=127.0.0.0/8,::1/128\n\
         idgate trust add eu-pid --test --trusted-list {}{pid} --list-signer-ca list-signer.pem",
        state.https
    )
}
