//! Paths and methods. A path is matched as sent: a trailing slash or percent-encoding does not
//! match.

use std::sync::LazyLock;

use hyper::Method;

use super::added;
use super::auth::api_key;
use super::call::Call;
use super::cors;
use super::error::{Answered, HttpError};
use super::route::Route;
use super::routes::table::ROUTES;

static ROUTER: LazyLock<Router> = LazyLock::new(Router::new);

/// The paths, each with the rows of its methods.
struct Router(matchit::Router<&'static [Route]>);

impl Router {
    fn new() -> Self {
        let mut paths = matchit::Router::new();
        for rows in ROUTES.chunk_by(|one, next| one.template == next.template) {
            if let Some(first) = rows.first() {
                // Conflicting templates would fail the test below.
                let _ = paths.insert(first.template, rows);
            }
        }
        Self(paths)
    }

    /// The rows of the path, and its `{id}`.
    fn find<'p>(&self, path: &'p str) -> Option<(&'static [Route], &'p str)> {
        if path.contains('%') {
            return None;
        }
        let found = self.0.at(path).ok()?;
        Some((found.value, found.params.get("id").unwrap_or_default()))
    }
}

/// Unknown path 404, unknown method 405; the route makes the other checks in order (decisions 17).
pub(crate) async fn dispatch(mut call: Call<'_>) -> Answered {
    let head = call.head;
    let Some((rows, id)) = ROUTER.find(head.uri.path()) else { return added::answer(call).await };
    if call.gateway.hides_admin && rows.iter().all(Route::is_for_operators) {
        return Err(HttpError::no_such_path());
    }
    call.id = id;
    let app = &call.gateway.app;
    if !rows.iter().any(|row| row.is_there(app)) && !is_relay_to_older_session(&call).await? {
        return Err(HttpError::no_such_path());
    }
    call.trace.route = rows.first().map(|row| row.template);
    call.trace.lists_429 = rows.iter().any(Route::lists_429);
    call.trace.is_of_wallets = rows.iter().any(|row| row.wallets_rate().is_some());
    if rows.iter().any(Route::is_for_strangers) && call.slot.is_on_probation() {
        // There is no room for it, and the end of a probation would interrupt whatever it started.
        return Err(HttpError::temporarily_unavailable().closing());
    }
    if call.trace.is_of_wallets && cors::is_preflight(call.gateway, &head.method, &head.headers) {
        return answer_preflight(call, rows).await;
    }
    match rows.iter().find(|row| row.takes(head.method.as_str())) {
        Some(route) => route.answer(call).await,
        None => {
            let methods: Vec<&str> = rows.iter().map(Route::allow).collect();
            Err(HttpError::method_not_allowed(methods.join(", ")))
        }
    }
}

/// Answers a preflight; it is limited like its route.
async fn answer_preflight(mut call: Call<'_>, rows: &'static [Route]) -> Answered {
    let methods: Vec<&str> = rows.iter().map(Route::allow).collect();
    if let Some(rate) = rows.iter().find_map(Route::wallets_rate) {
        call.limit_wallet(rate).await?.admit_stranger()?;
    }
    Ok(cors::preflight(&methods.join(", ")))
}

/// Whether the path exists for the session that it names, although the gateway no longer offers
/// browser requests. Nothing is looked up for callers without a key.
async fn is_relay_to_older_session(call: &Call<'_>) -> Result<bool, HttpError> {
    let may_relay = call.head.method == Method::POST && api_key(&call.head.headers).is_some();
    Ok(may_relay && call.gateway.app.asked_browsers(&call.session_id()).await?)
}

/// Method and path template of every route. HEAD is implied by GET.
pub fn routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().map(|route| (route.method, route.template))
}

/// The method for logs; anything unknown is replaced, because a peer may send any text.
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
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Each operation, without parameter names, and whether it lists a 429.
    fn routed() -> BTreeSet<(String, bool)> {
        let operation = |route: &Route| format!("{} {}", route.method, anonymous(route.template));
        ROUTES.iter().map(|route| (operation(route), route.lists_429())).collect()
    }

    fn described() -> BTreeSet<(String, bool)> {
        let document: serde_json::Value =
            serde_json::from_str(crate::openapi::BROWSERS.with_pages.json).unwrap();
        let operations = |(path, item): (&String, &serde_json::Value)| {
            let path = anonymous(path);
            let methods =
                item.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters");
            let operation = |(method, operation): (&String, &serde_json::Value)| {
                let lists_429 = operation["responses"].get("429").is_some();
                (format!("{} {path}", method.to_uppercase()), lists_429)
            };
            methods.map(operation).collect::<Vec<_>>()
        };
        document["paths"].as_object().unwrap().iter().flat_map(operations).collect()
    }

    fn anonymous(path: &str) -> String {
        let segments = path.split('/').map(|s| if s.starts_with('{') { "{}" } else { s });
        segments.collect::<Vec<_>>().join("/")
    }

    #[test]
    fn the_api_description_has_exactly_the_routes_with_their_429() {
        assert_eq!(routed(), described());
    }

    #[test]
    fn every_template_matches_its_rows() {
        let router = Router::new();
        for route in ROUTES {
            let path = route.template.replace("{id}", "ses_1");
            let (rows, _) = router.find(&path).unwrap();
            assert_eq!(rows.iter().filter(|row| row.method == route.method).count(), 1, "{path}");
            assert!(rows.iter().all(|row| row.template == route.template), "{path}");
            assert!(rows.iter().any(|row| std::ptr::eq(row, route)), "{path}");
        }
    }

    #[test]
    fn other_spellings_of_a_path_do_not_match() {
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
            "/v1/oid4vp/request",
            "/.well-known/",
            "/.well-known/jwks",
            "/.well-known/DID.json",
            "/v1/oid4vp/response/a/b",
        ] {
            assert!(router.find(path).is_none(), "{path}");
        }
    }
}
