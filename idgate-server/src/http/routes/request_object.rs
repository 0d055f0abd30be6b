//! The Request Object that a wallet fetches (RFC 9101 5.2.3, OpenID4VP 5.10, decisions 5).

use std::borrow::Cow;

use hyper::Method;
use idgate_core::codec::form;
use idgate_core::request::RequestObjectJwt;

use crate::app::Visit;
use crate::http::answer_body::of_type;
use crate::http::body::{self, BodyError};
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::limits::MAX_FETCH_FORM_BYTES;

/// `GET` and `HEAD /v1/oid4vp/request/{sessionId}`; HEAD changes nothing.
pub(crate) async fn get(call: Call<'_>) -> Answered {
    let (app, handle) = (&call.gateway.app, call.handle());
    let (part, network) = (call.part()?, call.network());
    let counts = call.head.method != Method::HEAD;
    let visit = Visit { part: part.as_deref(), network: &network, counts };
    let jwt = match counts {
        true => app.fetch_request(&handle, None, &visit, call.admission()).await?,
        false => app.peek_request(&handle, &visit, call.admission()).await?,
    };
    Ok(of_type(RequestObjectJwt::MEDIA_TYPE, jwt.into_string()))
}

/// `POST /v1/oid4vp/request/{sessionId}`: the same, with the wallet's nonce in it.
pub(crate) async fn post(call: Call<'_>) -> Answered {
    let (app, handle) = (&call.gateway.app, call.handle());
    if !body::has_content_type(&call.head.headers, "application/x-www-form-urlencoded") {
        app.expects_fetch(&handle).await?;
        let message = "Content-Type must be application/x-www-form-urlencoded";
        return Err(HttpError::invalid_request(message));
    }
    let (part, network, admit) = (call.part()?, call.network(), call.admission());
    let received = call.read_body_if(app.expects_fetch(&handle), MAX_FETCH_FORM_BYTES).await?;
    let received = received.map_err(BodyError::refuse_64_kib)?;
    let wallet_nonce = wallet_nonce(&received.bytes).map_err(HttpError::invalid_request)?;
    let visit = Visit { part: part.as_deref(), network: &network, counts: true };
    let jwt = app.fetch_request(&handle, wallet_nonce.as_deref(), &visit, admit).await?;
    Ok(of_type(RequestObjectJwt::MEDIA_TYPE, jwt.into_string()))
}

/// The one `wallet_nonce` of a form; one without a value counts as left out (RFC 6749 3.1).
/// `wallet_metadata` is not needed, and other parameters are not ours.
fn wallet_nonce(form: &[u8]) -> Result<Option<Cow<'_, str>>, &'static str> {
    const NOT_A_FORM: &str = "the body is not a UTF-8 form";
    let text = str::from_utf8(form).map_err(|_| NOT_A_FORM)?;
    if text.ends_with(form::LINE_BREAKS) {
        return Err(form::LINE_BREAK_BEHIND);
    }
    let mut found = None;
    for pair in form::pairs(text) {
        let (name, value) = pair.map_err(|_| NOT_A_FORM)?;
        if name == "wallet_nonce" && found.replace(value).is_some() {
            return Err("wallet_nonce is given twice");
        }
    }
    Ok(found.filter(|nonce| !nonce.is_empty()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_wallets_nonce_is_taken_as_it_is() {
        for (form, nonce) in [
            ("", None),
            ("wallet_nonce=", None),
            ("wallet_nonce=abc", Some("abc")),
            ("wallet_metadata=%7B%7D&wallet_nonce=a%2Bb+c&x=1&x=2", Some("a+b c")),
        ] {
            assert_eq!(wallet_nonce(form.as_bytes()).unwrap().as_deref(), nonce, "{form}");
        }
    }

    #[test]
    fn a_second_nonce_and_what_is_no_form_are_refused() {
        for bad in [
            &b"wallet_nonce=a&wallet_nonce=a"[..],
            b"wallet_nonce=a&wallet%5Fnonce=b",
            b"wallet_nonce=%zz",
            b"wallet_nonce=%ff",
            b"wallet_nonce=\xff",
            b"wallet_nonce=a\r\n",
            b"\n",
        ] {
            assert!(wallet_nonce(bad).is_err(), "{bad:?}");
        }
    }
}
