//! Paths and methods. A path is matched as it was sent: no trailing slash, no percent-encoding.

use hyper::{Method, Response};
use idgate_core::ids::SessionId;

use super::error::HttpError;
use super::exchange::Call;
use super::json::Body;
use super::routes::{health, sessions, wallet};

/// Where a path leads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Route {
    Sessions,
    Session,
    Open,
    WalletResponse,
    Healthz,
    Readyz,
}

const ROUTES: [Route; 6] = [
    Route::Sessions,
    Route::Session,
    Route::Open,
    Route::WalletResponse,
    Route::Healthz,
    Route::Readyz,
];

impl Route {
    const fn template(self) -> &'static str {
        match self {
            Self::Sessions => "/v1/sessions",
            Self::Session => "/v1/sessions/{id}",
            Self::Open => "/v1/sessions/{id}/open",
            Self::WalletResponse => "/v1/oid4vp/response/{id}",
            Self::Healthz => "/healthz",
            Self::Readyz => "/readyz",
        }
    }

    const fn allow(self) -> &'static str {
        match self {
            Self::Sessions | Self::WalletResponse => "POST",
            Self::Session => "GET, HEAD, DELETE",
            Self::Open | Self::Healthz | Self::Readyz => "GET, HEAD",
        }
    }
}

/// The table of paths.
pub(crate) struct Router(matchit::Router<Route>);

impl Router {
    pub(crate) fn new() -> Self {
        let mut table = matchit::Router::new();
        for route in ROUTES {
            // Templates that contradict each other would fail the test below.
            let _ = table.insert(route.template(), route);
        }
        Self(table)
    }

    fn find(&self, path: &str) -> Option<(Route, SessionId)> {
        if path.contains('%') {
            return None;
        }
        let found = self.0.at(path).ok()?;
        Some((*found.value, SessionId::new(found.params.get("id").unwrap_or_default())))
    }
}

/// Path 404, method 405; the rest of the order is the handler's (decisions 17).
pub(crate) async fn dispatch(call: Call<'_>) -> Result<Response<Body>, HttpError> {
    let head = call.head;
    let found = call.gateway.router.find(head.uri.path());
    let (route, id) = found.ok_or_else(HttpError::no_such_path)?;
    call.trace.route = Some(route.template());
    match (route, &head.method) {
        (Route::Sessions, &Method::POST) => sessions::create(call).await,
        (Route::Session, &Method::GET | &Method::HEAD) => sessions::read(call, &id),
        (Route::Session, &Method::DELETE) => sessions::delete(call, &id).await,
        (Route::Open, &Method::GET) => sessions::follow(call, &id).await,
        (Route::Open, &Method::HEAD) => sessions::peek(call, &id),
        (Route::WalletResponse, &Method::POST) => wallet::respond(call, id).await,
        (Route::Healthz, &Method::GET | &Method::HEAD) => Ok(health::alive()),
        (Route::Readyz, &Method::GET | &Method::HEAD) => Ok(health::ready(call.gateway).await),
        (route, _) => Err(HttpError::method_not_allowed(route.allow())),
    }
}

/// The method for logs: a peer may invent any other.
pub(crate) fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_template_leads_to_its_route() {
        let router = Router::new();
        for route in ROUTES {
            let path = route.template().replace("{id}", "ses_1");
            assert_eq!(router.find(&path).unwrap().0, route);
        }
    }

    #[test]
    fn other_spellings_lead_nowhere() {
        let router = Router::new();
        for path in [
            "",
            "/",
            "*",
            "/v1/sessions/",
            "/v1/sessions/ses_1/",
            "/v1/sessions//open",
            "/v1/sessions/ses_1/open/",
            "/v1/sessions/ses_%31",
            "/v1/sess%69ons/ses_1",
            "/V1/sessions",
            "//v1/sessions",
            "/v1/oid4vp/response",
            "/v1/oid4vp/response/a/b",
        ] {
            assert!(router.find(path).is_none(), "{path}");
        }
    }
}
