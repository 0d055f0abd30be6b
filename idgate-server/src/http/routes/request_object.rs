//! The Request Object that a wallet fetches (RFC 9101 5.2.3, OpenID4VP 5.10, decisions 5).

use hyper::Method;
use idgate_core::Asked;
use idgate_core::limits::MAX_FETCH_FORM_BYTES;
use idgate_core::shell::RequestObjectJwt;

use crate::app::{AppError, Visit};
use crate::http::answer_body::of_type;
use crate::http::body::{self, BodyError};
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};

/// `GET` and `HEAD /v1/oid4vp/request/{sessionId}`; HEAD changes nothing.
pub(crate) async fn get(call: Call<'_>) -> Answered {
    let (app, handle) = (&call.gateway.app, call.handle());
    let (part, network) = (call.part()?, call.network());
    let counts = call.head.method != Method::HEAD;
    let visit = Visit { part: part.as_deref(), network: &network, counts };
    let jwt = match counts {
        true => {
            let asked = Asked::get(handle.as_str());
            app.fetch_request(&handle, &asked, &visit, call.admission()).await?
        }
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
    let content_type = body::content_type(&call.head.headers).map(str::to_owned);
    let received = call.read_body_if(app.expects_fetch(&handle), MAX_FETCH_FORM_BYTES).await?;
    let received = received.map_err(BodyError::refuse_64_kib)?;
    let asked = Asked::post(handle.as_str(), content_type.as_deref(), &received.bytes);
    let asked = asked.map_err(AppError::from)?;
    let visit = Visit { part: part.as_deref(), network: &network, counts: true };
    let jwt = app.fetch_request(&handle, &asked, &visit, admit).await?;
    Ok(of_type(RequestObjectJwt::MEDIA_TYPE, jwt.into_string()))
}
