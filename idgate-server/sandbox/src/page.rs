//! The sandbox's page: sessions and what the built-in wallet may do with them, the issuers, and what
//! arrived at the receiver.

use std::sync::Arc;

use idgate_core::UnixMillis;
use idgate_testkit::samples;
use serde_json::{Value, json};

use super::issuers::PID;
use super::offers;
use super::phones::PROOF_OF_AGE;
use super::state::{LISTS, Made, Outcome, State, lock};
use super::wallet::Deed;
use idgate_server::http::{Html, Qr};
use idgate_store::{HostRecord, HostStatus, SessionLine};

pub(super) const STYLE: &str = include_str!("page.css");
pub(super) const SCRIPT: &str = include_str!("page.js");

/// A session that the page can make.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) key: &'static str,
    label: &'static str,
    format: &'static str,
    issuer_id: &'static str,
    claims: &'static [&'static str],
    /// The document type, which is its namespace as well, where the trust entry has several.
    kind: Option<&'static str>,
}

/// The trust entries that follow the lists.
pub(super) const EU_PID: &str = "eu-pid";
pub(super) const EU_MDL: &str = "eu-mdl";
/// The trust entry of samples that phones hold.
pub(super) const PHONES: &str = "phones";
/// The one of membership cards, which are of another type.
pub(super) const PHONE_CARDS: &str = "phone-membership";

pub(super) const ASKS: [Ask; 9] = [
    Ask {
        key: "identity",
        label: "An identity (SD-JWT VC)",
        format: "dc+sd-jwt",
        issuer_id: samples::ISSUER,
        claims: &["given_name", "family_name"],
        kind: None,
    },
    Ask {
        key: "licence",
        label: "A driving licence (mdoc)",
        format: "mso_mdoc",
        issuer_id: samples::MDL_ISSUER,
        claims: &["family_name", "age_over_18"],
        kind: None,
    },
    Ask {
        key: "eu-identity",
        label: "An identity of any provider on the list (SD-JWT VC)",
        format: "dc+sd-jwt",
        issuer_id: EU_PID,
        claims: &["given_name", "family_name"],
        kind: None,
    },
    Ask {
        key: "eu-licence",
        label: "A driving licence of any provider on the list (mdoc)",
        format: "mso_mdoc",
        issuer_id: EU_MDL,
        claims: &["family_name", "age_over_18"],
        kind: None,
    },
    Ask {
        key: "phone-pid",
        label: "On a phone: the sample identity (SD-JWT VC)",
        format: "dc+sd-jwt",
        issuer_id: PHONES,
        claims: &["given_name", "family_name"],
        kind: None,
    },
    Ask {
        key: "phone-membership",
        label: "On a phone: the sample membership card (SD-JWT VC)",
        format: "dc+sd-jwt",
        issuer_id: PHONE_CARDS,
        claims: &["membership_number", "level"],
        kind: None,
    },
    Ask {
        key: "phone-mdl",
        label: "On a phone: the sample driving licence (mdoc)",
        format: "mso_mdoc",
        issuer_id: PHONES,
        claims: &["family_name", "age_over_18"],
        kind: None,
    },
    Ask {
        key: "phone-pid-mdoc",
        label: "On a phone: the sample identity (mdoc)",
        format: "mso_mdoc",
        issuer_id: PHONES,
        claims: &["family_name", "age_over_18"],
        kind: Some(PID),
    },
    Ask {
        key: "phone-age",
        label: "On a phone: the sample proof of age (mdoc)",
        format: "mso_mdoc",
        issuer_id: PHONES,
        claims: &["age_over_18"],
        kind: Some(PROOF_OF_AGE),
    },
];

impl Ask {
    /// The body of `POST /v1/sessions` as a developer sends it, who may copy it to another gateway.
    pub(super) fn shown(&self, profiles: &[&str]) -> Value {
        let mut request = self.request();
        if let Value::Object(members) = &mut request
            && profiles.contains(&"1.0")
        {
            members.insert("profiles".into(), json!(["1.0"]));
        }
        request
    }

    /// The body of `POST /v1/sessions`.
    pub(super) fn request(&self) -> Value {
        let mut credential =
            json!({ "format": self.format, "issuer_id": self.issuer_id, "claims": self.claims });
        if let (Some(kind), Value::Object(members)) = (self.kind, &mut credential) {
            members.insert("doc_type".into(), kind.into());
            members.insert("namespace".into(), kind.into());
        }
        json!({ "credentials": [credential] })
    }
}

/// The whole page.
pub(super) async fn page(state: &Arc<State>) -> Result<String, String> {
    let mut html = Html::default();
    html.raw(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>idgate sandbox</title><link rel=\"stylesheet\" href=\"/page.css\">\
         <script src=\"/page.js\" defer></script></head><body><header><h1>idgate sandbox</h1>\
         <p>For development only: everybody on this machine may answer here. Gateway: <code>",
    );
    html.text(&state.base_url).raw("</code></p></header><main>");
    forms(&mut html, state);
    html.raw("<div id=\"live\">").raw(&live(state).await?).raw("</div></main></body></html>");
    Ok(html.finish())
}

/// What changes by itself.
pub(super) async fn live(state: &Arc<State>) -> Result<String, String> {
    let mut html = Html::default();
    sessions(&mut html, state, &state.sessions().await?);
    offers::section(&mut html, state);
    issuers(&mut html, state);
    html.raw("<section aria-labelledby=\"webhooks\"><h2 id=\"webhooks\">Webhooks</h2>");
    hosts(&mut html, state, &state.webhook_hosts().await?);
    deliveries(&mut html, state);
    html.raw("</section>");
    Ok(html.finish())
}

fn forms(html: &mut Html, state: &State) {
    html.raw("<section aria-labelledby=\"ask\"><h2 id=\"ask\">Ask</h2>");
    html.raw("<form method=\"post\" action=\"/sessions\"><label>for <select name=\"ask\">");
    for one in &ASKS {
        option(html, one.key, one.label);
    }
    html.raw("</select></label> <label>as <select name=\"profile\">");
    for profile in &state.profiles {
        option(html, profile, profile);
    }
    html.raw("</select></label> <button>Make a session</button></form>");
    html.raw("<form method=\"post\" action=\"/answer\"><label>or answer the link of a gateway on this machine ");
    html.raw("<input name=\"uri\" required size=\"40\" placeholder=\"openid4vp://?…\"></label>");
    buttons(html, state);
    html.raw("</form>");
    offers::form(html);
    html.raw("</section>");
}

fn option(html: &mut Html, value: &str, label: &str) {
    html.raw("<option value=\"").text(value).raw("\">").text(label).raw("</option>");
}

/// One for each thing that the wallet can do.
fn buttons(html: &mut Html, state: &State) {
    html.raw("<label>from <select name=\"from\">");
    for provider in &state.providers {
        option(html, provider.is.key, provider.is.name);
    }
    html.raw("</select></label> ");
    for (deed, label) in Deed::ALL {
        html.raw("<button name=\"do\" value=\"").text(deed.name()).raw("\">");
        html.text(label).raw("</button> ");
    }
}

fn sessions(html: &mut Html, state: &State, lines: &[SessionLine]) {
    html.raw("<section aria-labelledby=\"sessions\"><h2 id=\"sessions\">Sessions</h2>");
    let outcomes: Vec<Outcome> = lock(&state.outcomes).iter().cloned().collect();
    if let Some(last) = outcomes.first().filter(|last| last.session_id.is_empty()) {
        html.raw("<p class=\"outcome\" role=\"status\">");
        told(html, last);
        html.raw("</p>");
    }
    if lines.is_empty() {
        html.raw("<p>None yet: make one above, or with the API.</p>");
    }
    html.raw("<ol class=\"sessions\">");
    for line in lines {
        html.raw("<li id=\"").text(&line.id).raw("\"><p><strong class=\"status\">");
        html.text(&line.status).raw("</strong> ").text(line.reason.as_deref().unwrap_or_default());
        html.raw(" <code>").text(&line.id).raw("</code> ").text(&time(line.created_at));
        html.raw("<br>").text(&line.formats.join(", ")).raw(" of ");
        html.text(&line.issuer_ids.join(", ")).raw("</p>");
        if ["CREATED", "PENDING"].contains(&&*line.status) {
            html.raw("<form method=\"post\" action=\"/answer\">");
            html.raw("<input type=\"hidden\" name=\"session\" value=\"").text(&line.id).raw("\">");
            buttons(html, state);
            html.raw("</form>");
            if let Some(made) = lock(&state.made).get(&line.id) {
                by_phone(html, made);
            }
        }
        for outcome in outcomes.iter().filter(|outcome| outcome.session_id == line.id) {
            html.raw("<p class=\"outcome\">");
            told(html, outcome);
            html.raw("</p>");
        }
        html.raw("</li>");
    }
    html.raw("</ol></section>");
}

/// What somebody else's wallet needs.
fn by_phone(html: &mut Html, made: &Made) {
    html.raw("<details><summary>With your own wallet</summary>");
    if let Some(qr) = Qr::of(&made.link) {
        html.raw("<svg class=\"qr\" role=\"img\" aria-label=\"QR code\" viewBox=\"");
        html.text(&qr.view_box()).raw("\" shape-rendering=\"crispEdges\"><path fill=\"none\" d=\"");
        html.text(&qr.path()).raw("\" stroke-dasharray=\"").text(qr.dashes()).raw("\"/></svg>");
    }
    html.raw("<p><a href=\"").text(&made.link).raw("\">On this device</a>");
    if let Some(page) = &made.page_url {
        html.raw(" · <a href=\"").text(page).raw("\">Page for the person</a>");
    }
    html.raw("</p><code class=\"link\">").text(&made.link).raw("</code></details>");
}

fn told(html: &mut Html, outcome: &Outcome) {
    html.raw("<b>").text(&outcome.deed).raw("</b>: ").text(&outcome.said);
    if !outcome.session.is_null() {
        html.raw("<br>the service reads <code>").text(&outcome.session.to_string()).raw("</code>");
    }
}

fn issuers(html: &mut Html, state: &State) {
    html.raw("<section aria-labelledby=\"issuers\"><h2 id=\"issuers\">Issuers</h2><ul>");
    let lists = lock(&state.lists).clone();
    for (provider, listed) in state.providers.iter().zip(lists.listed) {
        html.raw("<li>").text(provider.is.name).raw(" <code>").text(provider.is.identifier);
        html.raw("</code>, ").raw(if listed { "listed" } else { "<strong>withdrawn</strong>" });
        html.raw(" <form method=\"post\" action=\"/providers\" class=\"inline\">");
        html.raw("<input type=\"hidden\" name=\"provider\" value=\"").text(provider.is.key);
        html.raw("\"><button name=\"listed\" value=\"").raw(if listed { "false" } else { "true" });
        html.raw("\">").raw(if listed { "Withdraw" } else { "List again" });
        html.raw("</button></form></li>");
    }
    html.raw("</ul><p>Lists, number ").text(&lists.number.to_string()).raw(":");
    for (_, path) in LISTS {
        html.raw(" <code>").text(&state.https).text(path).raw("</code>");
    }
    html.raw("</p></section>");
}

/// The hosts that wait for a review, or were refused one: nothing is sent to them.
fn hosts(html: &mut Html, state: &State, hosts: &[HostRecord]) {
    let folder = lock(&state.kept).0.display().to_string();
    html.raw("<ul class=\"hosts\">");
    for one in hosts.iter().filter(|one| one.status != HostStatus::Approved) {
        html.raw("<li><code>").text(&one.host).raw("</code> of ").text(&one.clients.join(", "));
        html.raw(match one.status {
            HostStatus::Rejected => " is <strong>rejected</strong>: no webhook goes there.",
            _ => " is not reviewed: its webhooks are <strong>held</strong>.",
        });
        html.raw(" <form method=\"post\" action=\"/hosts\" class=\"inline\">");
        html.raw("<input type=\"hidden\" name=\"host\" value=\"").text(&one.host);
        html.raw("\"><button>Approve</button></form> or <code>");
        html.text(&format!("idgate webhook-host approve {} --data-dir '{folder}'", one.host));
        html.raw("</code></li>");
    }
    html.raw("</ul>");
}

fn deliveries(html: &mut Html, state: &State) {
    let deliveries = lock(&state.deliveries);
    if deliveries.iter().next().is_none() {
        html.raw("<p>Nothing arrived yet.</p>");
    }
    html.raw("<ul class=\"deliveries\">");
    for one in deliveries.iter() {
        html.raw("<li>").text(&time(one.at)).raw(" <code>").text(&one.id).raw("</code>, attempt ");
        html.text(&one.attempt).raw(": ");
        match &one.wrong {
            None => html.raw("signature good"),
            Some(why) => html.raw("<strong>").text(why).raw("</strong>"),
        };
        html.raw("<br><code>").text(&one.body).raw("</code></li>");
    }
    html.raw("</ul>");
}

/// The time of day.
fn time(at: UnixMillis) -> String {
    let text = at.to_string();
    format!("{} UTC", text.get(11..19).unwrap_or(&text))
}
