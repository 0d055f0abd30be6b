//! Offers: those of the console's form, and an API for `idgate sandbox offer` and other programs on
//! this machine.

use std::sync::Arc;

use bytes::Bytes;
use hyper::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::phones::{Made, OfferLine, Sample, Wish, is_public};
use super::serving::{Sent, answer, sentence};
use super::state::{State, lock};

/// The path of the API: GET lists offers, POST makes one.
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
    /// `None`: demand a code if the gateway can be reached from other machines.
    #[serde(default)]
    pub(super) tx_code: Option<bool>,
    #[serde(default)]
    pub(super) attested: bool,
    #[serde(default)]
    pub(super) haip: bool,
}

/// Makes the requested offer.
fn make_one(state: &State, request: &OfferRequest) -> Result<Made, String> {
    let sample = Sample::named(&request.sample).ok_or_else(|| {
        let keys: Vec<&str> = Sample::ALL.into_iter().map(Sample::key).collect();
        format!("there is no sample {}; choose one of {}", request.sample, keys.join(", "))
    })?;
    state.phones.offer(Wish {
        sample,
        by_reference: request.by_reference,
        // Anyone can redeem an offer through a tunnel, so demand a code that only the person at the
        // console sees.
        tx_code: request.tx_code.unwrap_or_else(|| is_public(&state.base_url)),
        attested: request.attested,
        haip: request.haip,
    })
}

/// Makes an offer and keeps it on the page; returns a message.
///
/// # Errors
/// There is no such sample, or too many offers are open.
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
