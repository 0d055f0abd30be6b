//! Handover of a page from a computer to a phone, and back (decisions 39).

use hyper::StatusCode;

use super::holding::{cookie, with_cookie};
use super::same_origin::is_from_here;
use super::{
    addresses, html, is_for_person, language, look, look_again, page_of, see, state_of, taken,
};
use crate::app::{PageKey, PageView, Standing};
use crate::http::call::Call;
use crate::http::error::{Answered, HttpError};
use crate::http::page::{self, Addresses, Opening, Showing};
use crate::http::query;

/// `GET /v/{token}/on/{part}`: asks the person on the phone, and changes nothing.
pub(crate) async fn open_on_phone(call: Call<'_>) -> Answered {
    let view = look(&call).await?;
    let own = on_phone(&call)?;
    if is_here(&view) {
        return see(&own.page());
    }
    let (part, seen) = (part_of(&call), seen_of(&call)?);
    let opened = view.opened_on_phone(part, key_of(&call, &view), seen.as_deref())?;
    let Some(opened) = opened else { return late(&call, own) };
    let app = &call.gateway.app;
    let (face, operator) = (app.face(&view).await?, app.operator());
    let language = language(&call.head.headers, own);
    let own = Addresses { opening: Some(Opening { part, seen: &opened.seen }), ..own };
    let showing = Showing { face: &face, operator: &operator, language, own };
    let response = html(StatusCode::OK, page::asks_on_phone(&view, &showing), &[]);
    Ok(with_cookie(response, &cookie(&view, &opened.key, own)))
}

/// `POST /v/{token}/on/{part}`: the page becomes this phone's.
pub(crate) async fn take_over(call: Call<'_>) -> Answered {
    let view = look(&call).await?;
    let own = on_phone(&call)?;
    if !is_from_here(&call) {
        return taken(&call);
    }
    if is_here(&view) {
        return see(&own.page());
    }
    let seen = seen_of(&call)?;
    let key = view.pressed_on_phone(part_of(&call), key_of(&call, &view), seen.as_deref());
    let Some(key) = key else { return late(&call, own) };
    // After a second press, the page is already this phone's.
    let is_own = call.gateway.app.hand_over(&view, &key).await?
        || look_again(&call).await?.standing == Standing::Own;
    if !is_own {
        return conflict(taken(&call));
    }
    Ok(with_cookie(see(&own.page())?, &cookie(&view, &key, own)))
}

/// `POST /v/{token}/back`: the page comes back to the browser that had it first.
pub(crate) async fn bring_back(call: Call<'_>) -> Answered {
    let view = look(&call).await?;
    let own = addresses(&call)?;
    if !is_from_here(&call) || !(view.standing == Standing::Moved || view.is_on_computer()) {
        return taken(&call);
    }
    let is_back = view.is_on_computer() || call.gateway.app.bring_back(&view).await?;
    let is_for_person = is_for_person(&call.head.headers);
    if is_back && is_for_person {
        return see(&own.page());
    }
    let view = look_again(&call).await?;
    let answered = match is_for_person {
        true => page_of(&call, view, own).await,
        false => Ok(state_of(&view, call.id)),
    };
    if is_back { answered } else { conflict(answered) }
}

/// The page for a handover address that is no longer valid.
fn late(call: &Call<'_>, own: Addresses<'_>) -> Answered {
    if !is_for_person(&call.head.headers) {
        return Err(HttpError::not_found());
    }
    let own = Addresses { opening: Some(Opening { part: part_of(call), seen: "" }), ..own };
    let language = language(&call.head.headers, own);
    let text = page::late(language, own, &call.gateway.app.operator());
    Ok(html(StatusCode::NOT_FOUND, text, &[]))
}

/// Whether this browser has the page, or had it first.
fn is_here(view: &PageView) -> bool {
    matches!(view.standing, Standing::Own | Standing::Moved)
}

fn conflict(answered: Answered) -> Answered {
    let mut response = answered?;
    *response.status_mut() = StatusCode::CONFLICT;
    Ok(response)
}

/// A page that a phone opens is never framed.
fn on_phone<'a>(call: &'a Call<'_>) -> Result<Addresses<'a>, HttpError> {
    Ok(Addresses { framed: false, shows_code: false, ..addresses(call)? })
}

/// The last segment of its path.
fn part_of<'a>(call: &Call<'a>) -> &'a str {
    call.head.uri.path().rsplit('/').next().unwrap_or_default()
}

fn seen_of(call: &Call<'_>) -> Result<Option<String>, HttpError> {
    Ok(query::single(call.head.uri.query(), "seen")?.map(Into::into))
}

/// The key that the browser got with the question.
fn key_of(call: &Call<'_>, view: &PageView) -> Option<PageKey> {
    let shown = page::cookie_of(&call.head.headers, &view.cookie_name())?;
    PageKey::made(&shown)
}
