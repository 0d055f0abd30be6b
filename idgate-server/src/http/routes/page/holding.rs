//! Binds a page to one browser: the browser takes it, and only that browser can cancel.

use hyper::header::{HeaderValue, SET_COOKIE};
use hyper::{Response, StatusCode};

use super::same_origin::is_from_here;
use super::{
    addresses, is_for_person, is_for_script, look, look_again, page_of, see, state_of, taken,
};
use crate::app::{PageKey, PageView, Standing};
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::json::Body;
use crate::http::page::{self, Addresses};

/// How long after the end of its session a browser still recognizes a page as its own.
const COOKIE_GRACE_SECS: u64 = 3600;

/// A page that this browser has, and the cookie that proves it, unless the browser has the cookie
/// already.
struct Held {
    cookie: Option<String>,
}

impl Held {
    /// `None` if another browser has the page.
    async fn by(
        call: &Call<'_>,
        view: &PageView,
        own: Addresses<'_>,
    ) -> Result<Option<Self>, HttpError> {
        let key = page::key_of(&call.head.headers)?;
        if view.standing == Standing::Own {
            return Ok(Some(Self { cookie: None }));
        }
        // The page may have been taken by this browser, whose reply was lost; its key proves that.
        let key = call.gateway.app.take_page(view, key).await?;
        Ok(key.map(|key| Self { cookie: Some(cookie(view, &key, own)) }))
    }

    /// The response with the cookie, whatever its status: a browser that has the page must not be
    /// locked out.
    fn tell(self, answered: Answered) -> Answered {
        let Some(cookie) = self.cookie else { return answered };
        match answered {
            Ok(response) => Ok(with_cookie(response, &cookie)),
            Err(error) => Err(error.with_cookie(cookie)),
        }
    }
}

pub(super) fn with_cookie(mut response: Response<Body>, cookie: &str) -> Response<Body> {
    if let Ok(mut cookie) = HeaderValue::from_str(cookie) {
        cookie.set_sensitive(true);
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

/// `POST /v/{token}/take`: the page becomes this browser's.
pub(crate) async fn take(call: Call<'_>) -> Answered {
    let view = look(&call).await?;
    let own = addresses(&call)?;
    let Some(held) = Held::by(&call, &view, own).await? else { return taken(&call) };
    held.tell(was_taken(&call, view, own).await)
}

async fn was_taken(call: &Call<'_>, view: PageView, own: Addresses<'_>) -> Answered {
    let app = &call.gateway.app;
    app.open_page(&view).await?;
    match is_for_script(&call.head.headers) {
        true => Ok(state_of(&app.page_taken(view), call.id)),
        false => see(&own.page()),
    }
}

/// `POST /v/{token}/cancel`: the person ends the session. A page that no browser has is taken by
/// this one first.
pub(crate) async fn cancel(call: Call<'_>) -> Answered {
    let app = &call.gateway.app;
    let view = look(&call).await?;
    let own = addresses(&call)?;
    if !is_from_here(&call) {
        return taken(&call);
    }
    // Another browser, and a session that is not open, get other responses.
    if matches!(view.standing, Standing::Free | Standing::Own) && view.phase.is_open() {
        app.expects_cancel().await?;
    }
    let Some(held) = Held::by(&call, &view, own).await? else { return taken(&call) };
    held.tell(was_cancelled(&call, &view, own).await)
}

async fn was_cancelled(call: &Call<'_>, view: &PageView, own: Addresses<'_>) -> Answered {
    let app = &call.gateway.app;
    let is_cancelled = app.cancel(view).await?;
    let is_for_person = is_for_person(&call.head.headers);
    if is_cancelled && is_for_person {
        return see(&own.page());
    }
    let view = app.page_taken(look_again(call).await?);
    let mut response =
        if is_for_person { page_of(call, view, own).await? } else { state_of(&view, call.id) };
    if !is_cancelled {
        *response.status_mut() = StatusCode::CONFLICT;
    }
    Ok(response)
}

/// Bound to this host, https only, and hidden from scripts.
pub(super) fn cookie(view: &PageView, key: &PageKey, own: Addresses<'_>) -> String {
    let age = view.left_ms().div_ceil(1000).saturating_add(COOKIE_GRACE_SECS);
    let site = if own.framed { "SameSite=None; Partitioned" } else { "SameSite=Lax" };
    let (name, key) = (view.cookie_name(), key.expose());
    format!("{name}={key}; Path=/; Max-Age={age}; Secure; HttpOnly; {site}")
}
