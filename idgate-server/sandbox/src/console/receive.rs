//! Offers for phones: the current one with its code, and the state of all.

use idgate_server::http::Html;

use super::frame::{Section, wide};
use super::notice::notice;
use super::parts::{Tone, command, copy_text, nothing, pill, qr, time, verdict};
use crate::phones::{Made, OfferLine, Progress, Sample, is_public};
use crate::state::{State, lock};

pub(super) fn page(state: &State) -> String {
    let lines = state.phones.offers();
    let shown = shown(state, &lines);
    wide(Section::Receive, "Receive on your phone", |html| {
        notice(html, state, Section::Receive.path());
        html.raw("<h1 tabindex=\"-1\">Receive on your phone</h1><p class=\"soft\">Gives your own wallet a sample ");
        html.raw("credential (OpenID4VCI), so that it can answer the sessions made here.</p>");
        html.raw("<div class=\"two\"><div>");
        if !is_public(&state.base_url) {
            unreachable(html);
        }
        match &shown {
            Some((made, line)) => scannable(html, made, line),
            None if is_public(&state.base_url) => nothing(
                html,
                "No offer is open.",
                "Choose a credential and make an offer: its code for the phone’s camera is here.",
            ),
            None => {}
        }
        html.raw("</div><div>");
        form(html);
        html.raw("<h2 class=\"gap\">Offers so far</h2>");
        offers(html, &lines);
        html.raw("</div></div>");
    })
}

/// The offer last made here, as long as a phone can redeem it.
fn shown(state: &State, lines: &[OfferLine]) -> Option<(Made, OfferLine)> {
    let mut shown = lock(&state.shown_offer);
    let open = |made: &Made| lines.iter().find(|line| line.id == made.id && line.is_open).cloned();
    let found = shown.as_ref().and_then(|made| open(made).map(|line| (made.clone(), line)));
    if found.is_none() {
        // Its code is useless now and must not stay in memory.
        *shown = None;
    }
    found
}

/// Explains how a phone can reach this computer.
fn unreachable(html: &mut Html) {
    verdict(html, "warn", |html| {
        html.raw("<p><b>A phone cannot reach this computer’s loopback address.</b></p><p>Start the sandbox so ");
        html.raw("that it can, then scan the code here. A wallet on this computer can use an offer directly.</p>");
    });
    command(html, "In the same network", "idgate sandbox --lan");
    command(html, "Through a tunnel", "idgate sandbox \\\n  --base-url https://abc.tunnel.example");
}

fn scannable(html: &mut Html, made: &Made, line: &OfferLine) {
    qr(html, &made.link);
    if let Some(code) = &made.tx_code {
        html.raw("<p class=\"row gap\"><span class=\"soft\">Code to type in your wallet</span>");
        html.raw("<span class=\"pin\">").text(code).raw("</span></p>");
    }
    html.raw("<p class=\"row small soft\" role=\"status\">");
    pill(html, tone(line), line.progress.name());
    html.raw("One wallet, within 10 minutes</p><p class=\"row\">");
    copy_text(html, "Copy link", &made.link);
    html.raw("</p><p class=\"small\"><code class=\"link\">").text(&made.link).raw("</code></p>");
}

const fn tone(line: &OfferLine) -> Tone {
    match line.progress {
        Progress::Issued | Progress::Stored => Tone::Good,
        Progress::Failed => Tone::Bad,
        _ if line.is_open => Tone::Open,
        _ => Tone::Dull,
    }
}

fn form(html: &mut Html) {
    html.raw("<form method=\"post\" action=\"/offers\" id=\"offer\"><fieldset class=\"cards\"><legend><h2>Credential</h2></legend>");
    for (at, sample) in Sample::ALL.into_iter().enumerate() {
        html.raw("<label class=\"pick\"><input type=\"radio\" name=\"type\" value=\"")
            .text(sample.key());
        html.raw(if at == 0 { "\" checked><b>" } else { "\"><b>" }).text(sample.name());
        html.raw("</b><span>").text(sample.kind());
        html.raw(if sample.is_mdoc() { ", mdoc" } else { ", SD-JWT VC" }).raw("</span></label>");
    }
    html.raw("<label class=\"pick\"><input type=\"checkbox\" name=\"tx_code\" value=\"true\"><b>With a code to type</b>");
    html.raw("<span>The wallet asks for it. Behind a tunnel every offer has one.</span></label></fieldset>");
    html.raw("<p class=\"row\"><button>New offer</button></p></form>");
}

fn offers(html: &mut Html, lines: &[OfferLine]) {
    if lines.is_empty() {
        html.raw("<p class=\"soft\">No offers yet. To see <code>credential_revoked</code> with your own wallet, withdraw ");
        html.raw("here a credential that it received.</p>");
        return;
    }
    html.raw("<div class=\"wrap\" tabindex=\"0\" role=\"region\" aria-label=\"Offers\"><table><thead><tr>");
    html.raw("<th scope=\"col\">When</th><th scope=\"col\">What</th><th scope=\"col\">State</th>");
    html.raw("<th scope=\"col\">Action</th></tr></thead><tbody>");
    for line in lines {
        row(html, line);
    }
    html.raw("</tbody></table></div>");
}

fn name_of(line: &OfferLine) -> &'static str {
    Sample::named(line.configuration).map_or(line.configuration, Sample::name)
}

fn row(html: &mut Html, line: &OfferLine) {
    html.raw("<tr id=\"").text(&line.id).raw("\"><td class=\"mono\">").text(&time(line.made_at));
    html.raw("</td><td>").text(name_of(line)).raw("<span class=\"soft mono\">");
    html.text(line.configuration).raw("</span>");
    html.raw(if line.attested { "<span class=\"soft\">with attestations</span>" } else { "" });
    html.raw("</td><td>");
    pill(html, tone(line), line.progress.name());
    if let Some(rule) = line.rule {
        html.raw("<span class=\"soft\">").text(rule).raw("</span>");
    }
    html.raw("</td><td>");
    if line.issued > line.withdrawn {
        html.raw("<form method=\"post\" action=\"/withdraw\"><input type=\"hidden\" name=\"offer\" value=\"");
        html.text(&line.id).raw("\"><button class=\"second\">Withdraw<span class=\"unseen\"> ");
        html.text(name_of(line)).raw("</span></button></form>");
    } else if line.issued > 0 {
        pill(html, Tone::Late, "withdrawn");
    } else {
        html.raw("<span class=\"soft\">none</span>");
    }
    html.raw("</td></tr>");
}
