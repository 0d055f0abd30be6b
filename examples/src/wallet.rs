//! The sample wallet reads a request of OpenID4VP 1.0 and answers it.

use idgate_testkit::openid4vp::{Expected, Fetched, Format, Keys, Prefix, Request};
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::Value;

use crate::now;

/// The body that `wallet` posts for the request in `link`. A request by reference is passed as the fetched JWT, and
/// is /// verified with the verifier's DID document.
///
/// # Errors
/// The request is invalid, or the wallet has no credential for it.
pub fn answer(
    wallet: &Wallet,
    link: &str,
    format: Format,
    fetched: Option<(&str, Value)>,
) -> Result<Body, String> {
    let (jwt, document) = fetched.map(|(jwt, document)| (jwt.to_owned(), document)).unzip();
    let signed = jwt.is_some();
    let content_type = "application/oauth-authz-req+jwt".to_owned();
    let fetched = jwt.map(|jwt| Fetched { content_type, jwt, wallet_nonce: None });
    let expected = Expected {
        prefix: if signed { Prefix::DecentralizedIdentifier } else { Prefix::RedirectUri },
        encrypted: signed,
        formats: vec![format],
        haip: false,
        transaction_data: false,
        anchor: None,
        did_document: document,
        now_ms: now().0,
    };
    let (request, faults) = Request::read(link, fetched.as_ref(), &expected, &mut Keys::default());
    if !faults.is_empty() {
        return Err(format!("the request has faults: {faults:?}"));
    }
    let answer = wallet.answer_1_0(&request, now().0).map_err(|error| error.to_string())?;
    Ok(answer.body())
}
