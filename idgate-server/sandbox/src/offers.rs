//! Offers on the console: a form and a list on the page, and an API for `idgate sandbox offer` and other programs of
//! this machine.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::phones::{Made, OfferLine, Sample, Wish, is_public};
use super::serving::{Sent, answer, sentence};
use super::state::{State, lock};
use idgate_server::http::{Html, Qr};

/// The API: GET lists offers, POST makes one.
pub(super) const PATH: &str = "/api/offers";

/// The body of `POST /api/offers`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfferRequest {
    /// The key of a sample, or the id of its configuration.
    #[serde(rename = "type")]
    pub(super) sample: String,
    #[serde(default)]
    pub(super) by_reference: bool,
    /// `None`: where others than this machine reach the gateway.
    #[serde(default)]
    pub(super) tx_code: Option<bool>,
    #[serde(default)]
    pub(super) attested: bool,
    #[serde(default)]
    pub(super) haip: bool,
}

/// Makes the offer that is asked for.
fn make_one(state: &State, request: &OfferRequest) -> Result<Made, String> {
    let sample = Sample::named(&request.sample).ok_or_else(|| {
        let keys: Vec<&str> = Sample::ALL.into_iter().map(Sample::key).collect();
        format!("there is no sample {}; take one of {}", request.sample, keys.join(", "))
    })?;
    state.phones.offer(Wish {
        sample,
        by_reference: request.by_reference,
        // The world redeems what comes through a tunnel: the person who sees the console has the code.
        tx_code: request.tx_code.unwrap_or_else(|| is_public(&state.base_url)),
        attested: request.attested,
        haip: request.haip,
    })
}

/// Makes an offer on the page and keeps it there; what is said of it.
///
/// # Errors
/// There is no such sample, or no more offers are made.
pub(super) fn make(state: &State, sample: &str, tx_code: bool) -> Result<String, String> {
    let tx_code = tx_code.then_some(true);
    let request = OfferRequest { sample: sample.to_owned(), tx_code, ..OfferRequest::default() };
    let made = make_one(state, &request)?;
    let said = format!("{} is offered", made.configuration);
    *lock(&state.shown_offer) = Some(made);
    Ok(said)
}

/// Answers a POST to the API.
pub(super) fn post(state: &State, path: &str, body: &Bytes) -> Response<Sent> {
    let rest = path.strip_prefix(PATH).unwrap_or_default();
    if let Some(id) = rest.strip_prefix('/').and_then(|rest| rest.strip_suffix("/withdraw")) {
        return match state.phones.withdraw(id) {
            Ok(Some(count)) => as_json(StatusCode::OK, &json!({ "withdrawn": count })),
            Ok(None) => sentence(StatusCode::NOT_FOUND, "there is no such offer"),
            Err(why) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &why),
        };
    }
    if !rest.is_empty() {
        return sentence(StatusCode::NOT_FOUND, "there is nothing here");
    }
    let request: OfferRequest = match serde_json::from_slice(body) {
        Ok(request) => request,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    match make_one(state, &request) {
        Ok(made) => as_json(StatusCode::CREATED, &made_json(&made)),
        Err(why) => refuse(StatusCode::BAD_REQUEST, &why),
    }
}

/// Answers a GET of the API.
pub(super) fn list(state: &Arc<State>) -> Response<Sent> {
    let offers: Vec<Value> = state.phones.offers().iter().map(OfferLine::to_json).collect();
    as_json(StatusCode::OK, &json!({ "offers": offers }))
}

fn made_json(made: &Made) -> Value {
    json!({
        "id": made.id,
        "link": made.link,
        "credential_offer": made.credential_offer,
        "credential_offer_uri": made.credential_offer_uri,
        "tx_code": made.tx_code,
        "configuration": made.configuration,
    })
}

fn as_json(status: StatusCode, body: &Value) -> Response<Sent> {
    answer(status, "application/json", body.to_string())
}

fn refuse(status: StatusCode, message: &str) -> Response<Sent> {
    as_json(status, &json!({ "error": "invalid_request", "message": message }))
}

/// Where a person chooses a sample.
pub(super) fn form(html: &mut Html) {
    html.raw(
        "<form method=\"post\" action=\"/offers\"><label>or offer a phone <select name=\"type\">",
    );
    for sample in Sample::ALL {
        html.raw("<option value=\"").text(sample.key()).raw("\">");
        html.text(sample.name()).raw("</option>");
    }
    html.raw("</select></label> <label><input type=\"checkbox\" name=\"tx_code\" value=\"true\"> with a code to type");
    html.raw("</label> <button>Make an offer</button></form>");
}

/// The offers and how far they are.
pub(super) fn section(html: &mut Html, state: &State) {
    let lines = state.phones.offers();
    if lines.is_empty() {
        return;
    }
    html.raw("<section aria-labelledby=\"offers\"><h2 id=\"offers\">Offers for phones</h2>");
    let shown = {
        let mut shown = lock(&state.shown_offer);
        // Its code is of no use any more, and must not stay in memory.
        let is_open = |made: &Made| lines.iter().any(|line| line.id == made.id && line.is_open);
        *shown = shown.take().filter(is_open);
        shown.clone()
    };
    html.raw("<ul class=\"offers\">");
    for line in &lines {
        html.raw("<li id=\"").text(&line.id).raw("\"><strong class=\"status\">");
        html.text(line.progress.name()).raw("</strong> ").text(line.rule.unwrap_or_default());
        html.raw(" <code>").text(line.configuration).raw("</code>");
        if line.attested {
            html.raw(", with attestations");
        }
        if line.issued > line.withdrawn {
            html.raw(" <form method=\"post\" action=\"/withdraw\" class=\"inline\">");
            html.raw("<input type=\"hidden\" name=\"offer\" value=\"").text(&line.id);
            html.raw("\"><button>Withdraw</button></form>");
        } else if line.issued > 0 {
            html.raw(", <strong>withdrawn</strong>");
        }
        if let Some(made) = shown.as_ref().filter(|made| made.id == line.id && line.is_open) {
            scannable(html, made);
        }
        html.raw("</li>");
    }
    html.raw("</ul></section>");
}

fn scannable(html: &mut Html, made: &Made) {
    if let Some(code) = &made.tx_code {
        html.raw("<p>Type this code on the phone: <strong>").text(code).raw("</strong></p>");
    }
    if let Some(qr) = Qr::of(&made.link) {
        html.raw("<svg class=\"qr\" role=\"img\" aria-label=\"QR code\" viewBox=\"");
        html.text(&qr.view_box()).raw("\" shape-rendering=\"crispEdges\"><path fill=\"none\" d=\"");
        html.text(&qr.path()).raw("\" stroke-dasharray=\"").text(qr.dashes()).raw("\"/></svg>");
    }
    html.raw("<code class=\"link\">").text(&made.link).raw("</code>");
}
