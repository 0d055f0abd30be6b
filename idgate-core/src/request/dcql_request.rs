//! The authorization request of OpenID4VP 1.0, by value in a URI and as claims of a Request Object
//! (OpenID4VP 5, 8.2, 8.3).

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::codec::form::push_pair;
use crate::codec::json::json_text;
use crate::request::client_metadata::ClientMetadata;
use crate::request::dcql::DcqlQuery;
use crate::request::parameters::{RequestParameters, SELF_ISSUED};
use crate::request::verifier_info::VerifierInfo;
use crate::time::UnixMillis;

/// The length of a typical request with one credential and a few claims, in bytes.
const USUAL_LENGTH: usize = 2048;

/// The claims of a Request Object.
#[derive(Serialize)]
pub(crate) struct Claims<'c> {
    client_id: &'c str,
    response_type: &'static str,
    response_mode: &'static str,
    response_uri: &'c str,
    nonce: &'c str,
    state: &'c str,
    aud: &'static str,
    iat: u64,
    exp: u64,
    dcql_query: DcqlQuery<'c>,
    client_metadata: ClientMetadata,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    verifier_info: &'c [VerifierInfo],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transaction_data: Vec<&'c str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wallet_nonce: Option<&'c str>,
}

impl<'c> Claims<'c> {
    pub(crate) fn new(
        parameters: RequestParameters<'c>,
        issued_at: UnixMillis,
        expires_at: UnixMillis,
        wallet_nonce: Option<&'c str>,
    ) -> Self {
        let RequestParameters { profile, request, .. } = parameters;
        Self {
            client_id: parameters.client_id,
            response_type: "vp_token",
            response_mode: parameters.response_mode(),
            response_uri: parameters.response_uri,
            nonce: parameters.nonce,
            state: parameters.state,
            aud: SELF_ISSUED,
            iat: issued_at.as_secs(),
            exp: expires_at.as_secs(),
            dcql_query: DcqlQuery::new(request, profile),
            client_metadata: ClientMetadata::new(request, parameters.encryption_key),
            verifier_info: parameters.verifier_info,
            transaction_data: transaction_data(parameters),
            wallet_nonce,
        }
    }
}

/// The request as the query of a URI.
pub(crate) fn inline_query(parameters: RequestParameters<'_>) -> String {
    let RequestParameters { profile, request, .. } = parameters;
    let metadata = ClientMetadata::new(request, parameters.encryption_key);
    let mut query = String::with_capacity(USUAL_LENGTH);
    for (name, value) in [
        ("client_id", parameters.client_id),
        ("response_type", "vp_token"),
        ("response_mode", parameters.response_mode()),
        ("response_uri", parameters.response_uri),
        ("nonce", parameters.nonce),
        ("state", parameters.state),
        ("dcql_query", &json_text(&DcqlQuery::new(request, profile))),
        ("client_metadata", &json_text(&metadata)),
    ] {
        push_pair(&mut query, name, value);
    }
    let transaction_data = transaction_data(parameters);
    if !transaction_data.is_empty() {
        push_pair(&mut query, "transaction_data", &json_text(&transaction_data));
    }
    query
}

/// The texts that are hashed.
fn transaction_data<'c>(parameters: RequestParameters<'c>) -> Vec<&'c str> {
    parameters.request.transaction_data.iter().map(|data| &*data.encoded).collect()
}
