//! The browser's own dialogue on a page: its requests and its answers. Both are only for the
//! browser that has the page.

use hyper::{Method, StatusCode};
use idgate_core::limits::MAX_RESPONSE_BYTES;
use zeroize::Zeroizing;

use super::same_origin::is_from_here;
use super::{headers, look, state_of, taken};
use crate::app::Standing;
use crate::http::body::{self, Received};
use crate::http::call::Call;
use crate::http::error::Answered;
use crate::http::json;
use crate::http::page;
use crate::http::routes::wallet;

/// `GET` and `HEAD /v/{token}/dc-api`: the requests that the page passes to its browser, as
/// `digital`. HEAD changes nothing.
pub(crate) async fn requests(call: Call<'_>) -> Answered {
    let view = look(&call).await?;
    if view.standing != Standing::Own {
        return taken(&call);
    }
    let peeks = call.head.method == Method::HEAD;
    let requests = call.gateway.app.page_requests(&view, peeks).await?;
    let requests = Zeroizing::new(requests.to_json().into_bytes());
    let mut response = json::answer(StatusCode::OK, requests);
    headers::add(response.headers_mut(), &[]);
    Ok(response)
}

/// `POST /v/{token}/dc-api`: the answer from the browser.
pub(crate) async fn answer(call: Call<'_>) -> Answered {
    call.trace.is_answer = true;
    let view = look(&call).await?;
    if view.standing != Standing::Own || !is_from_here(&call) {
        return taken(&call);
    }
    body::check_is_json(&call.head.headers)?;
    let (app, limit, rates) = (call.gateway.app.clone(), call.limit, &call.gateway.rates);
    let id = view.session.id().clone();
    // Little is read, and no memory taken, for a session that accepts no answer.
    let admission = async {
        app.expects_page_answer(&view)?;
        rates.charge_answer(&id, app.now()).await
    };
    let (head, token, gateway) = (call.head, call.id, call.gateway);
    let received = call.read_body_and(admission, MAX_RESPONSE_BYTES).await?;
    let received = received.map_err(wallet::refuse_body)?;
    let work = async move {
        let Received { bytes, held: _until_settled } = received;
        app.answer_page(&view, &bytes).await
    };
    wallet::to_its_end(limit, Box::pin(work)).await?;
    let cookies = |name: &str| page::cookie_of(&head.headers, name);
    Ok(state_of(&gateway.app.page(token, cookies).await?, token))
}
