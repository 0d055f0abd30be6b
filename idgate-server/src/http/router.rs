//! Paths and methods. A path is matched as it was sent: no trailing slash, no percent-encoding.

use std::sync::LazyLock;

use hyper::{Method, Response};
use idgate_core::discovery;
use idgate_core::ids::SessionId;

use super::call::Call;
use super::error::HttpError;
use super::json::Body;
use super::routes::{
    api_keys, audit, health, metrics, openapi, request_object, sessions, stream, wallet, webhooks,
    well_known,
};

/// Where a path leads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Route {
    Sessions,
    Session,
    Open,
    Stream,
    RequestObject,
    WalletResponse,
    ApiKeys,
    ApiKey,
    ApiKeyRotate,
    AuditLog,
    WebhookEndpoint,
    WebhookFailures,
    WebhookRetry,
    Jwks,
    DidDocument,
    AdminMetrics,
    Metrics,
    Healthz,
    Readyz,
    OpenApiJson,
    OpenApiYaml,
}

const ROUTES: &[Route] = &[
    Route::Sessions,
    Route::Session,
    Route::Open,
    Route::Stream,
    Route::RequestObject,
    Route::WalletResponse,
    Route::ApiKeys,
    Route::ApiKey,
    Route::ApiKeyRotate,
    Route::AuditLog,
    Route::WebhookEndpoint,
    Route::WebhookFailures,
    Route::WebhookRetry,
    Route::Jwks,
    Route::DidDocument,
    Route::AdminMetrics,
    Route::Metrics,
    Route::Healthz,
    Route::Readyz,
    Route::OpenApiJson,
    Route::OpenApiYaml,
];

impl Route {
    const fn template(self) -> &'static str {
        match self {
            Self::Sessions => "/v1/sessions",
            Self::Session => "/v1/sessions/{id}",
            Self::Open => "/v1/sessions/{id}/open",
            Self::Stream => "/v1/sessions/{id}/ws",
            Self::RequestObject => "/v1/oid4vp/request/{id}",
            Self::WalletResponse => "/v1/oid4vp/response/{id}",
            Self::ApiKeys => "/v1/api-keys",
            Self::ApiKey => "/v1/api-keys/{id}",
            Self::ApiKeyRotate => "/v1/api-keys/{id}/rotate",
            Self::AuditLog => "/v1/audit-log",
            Self::WebhookEndpoint => "/v1/webhook-endpoint",
            Self::WebhookFailures => "/v1/webhooks/failures",
            Self::WebhookRetry => "/v1/webhooks/failures/{id}/retry",
            Self::Jwks => discovery::JWKS_PATH,
            Self::DidDocument => discovery::DID_DOCUMENT_PATH,
            Self::AdminMetrics => "/v1/admin/metrics",
            Self::Metrics => "/metrics",
            Self::Healthz => "/healthz",
            Self::Readyz => "/readyz",
            Self::OpenApiJson => "/api/openapi.json",
            Self::OpenApiYaml => "/api/openapi.yaml",
        }
    }

    /// Whether the interface has a 429 for it (specification 4, decisions 25).
    const fn lists_429(self) -> bool {
        matches!(
            self,
            Self::Sessions
                | Self::Session
                | Self::RequestObject
                | Self::WalletResponse
                | Self::ApiKeys
                | Self::ApiKey
                | Self::ApiKeyRotate
                | Self::WebhookEndpoint
        )
    }

    /// Whether it is for wallets and whoever else has no key.
    const fn is_for_strangers(self) -> bool {
        matches!(
            self,
            Self::Open
                | Self::RequestObject
                | Self::WalletResponse
                | Self::Jwks
                | Self::DidDocument
                | Self::OpenApiJson
                | Self::OpenApiYaml
        )
    }

    const fn allow(self) -> &'static str {
        match self {
            Self::Sessions | Self::WalletResponse | Self::ApiKeyRotate | Self::WebhookRetry => {
                "POST"
            }
            Self::WebhookEndpoint => "GET, HEAD, PUT",
            Self::ApiKeys => "GET, HEAD, POST",
            Self::ApiKey => "DELETE",
            Self::Session => "GET, HEAD, DELETE",
            Self::Stream => "GET",
            Self::RequestObject => "GET, HEAD, POST",
            Self::Open
            | Self::AuditLog
            | Self::WebhookFailures
            | Self::Jwks
            | Self::DidDocument
            | Self::AdminMetrics
            | Self::Metrics
            | Self::Healthz
            | Self::Readyz
            | Self::OpenApiJson
            | Self::OpenApiYaml => "GET, HEAD",
        }
    }
}

static ROUTER: LazyLock<Router> = LazyLock::new(Router::new);

/// The table of paths.
struct Router(matchit::Router<Route>);

impl Router {
    fn new() -> Self {
        let mut table = matchit::Router::new();
        for route in ROUTES.iter().copied() {
            // Templates that contradict each other would fail the test below.
            let _ = table.insert(route.template(), route);
        }
        Self(table)
    }

    /// The route, and the `{id}` of its path.
    fn find<'p>(&self, path: &'p str) -> Option<(Route, &'p str)> {
        if path.contains('%') {
            return None;
        }
        let found = self.0.at(path).ok()?;
        Some((*found.value, found.params.get("id").unwrap_or_default()))
    }
}

/// Path 404, method 405; the rest of the order is the handler's (decisions 17).
pub(crate) async fn dispatch(call: Call<'_>) -> Result<Response<Body>, HttpError> {
    let head = call.head;
    let found = ROUTER.find(head.uri.path());
    let (route, parameter) = found.ok_or_else(HttpError::no_such_path)?;
    let id = SessionId::new(parameter);
    call.trace.route = Some(route.template());
    call.trace.lists_429 = route.lists_429();
    call.trace.is_answer = route == Route::WalletResponse;
    if route.is_for_strangers() && call.slot.is_on_probation() {
        // There is no room for it; and nothing is begun that the end of a probation would cut off.
        return Err(HttpError::temporarily_unavailable().closing());
    }
    match (route, &head.method) {
        (Route::Sessions, &Method::POST) => sessions::create(call).await,
        (Route::Session, &Method::GET | &Method::HEAD) => sessions::read(call, &id).await,
        (Route::Session, &Method::DELETE) => sessions::delete(call, &id).await,
        (Route::Open, &Method::GET) => sessions::follow(call, &id).await,
        (Route::Open, &Method::HEAD) => sessions::peek(call, &id).await,
        (Route::Stream, &Method::GET) => stream::open(call, &id).await,
        (Route::RequestObject, &Method::GET | &Method::HEAD) => {
            request_object::get(call, &id).await
        }
        (Route::RequestObject, &Method::POST) => request_object::post(call, &id).await,
        (Route::WalletResponse, &Method::POST) => wallet::respond(call, id).await,
        (Route::ApiKeys, &Method::GET | &Method::HEAD) => api_keys::list(call).await,
        (Route::ApiKeys, &Method::POST) => api_keys::create(call).await,
        (Route::ApiKey, &Method::DELETE) => api_keys::revoke(call, parameter).await,
        (Route::ApiKeyRotate, &Method::POST) => api_keys::rotate(call, parameter).await,
        (Route::AuditLog, &Method::GET | &Method::HEAD) => audit::list(call).await,
        (Route::WebhookEndpoint, &Method::GET | &Method::HEAD) => webhooks::read(call).await,
        (Route::WebhookEndpoint, &Method::PUT) => webhooks::put(call).await,
        (Route::WebhookFailures, &Method::GET | &Method::HEAD) => webhooks::failures(call).await,
        (Route::WebhookRetry, &Method::POST) => webhooks::retry(call, parameter).await,
        (Route::Jwks, &Method::GET | &Method::HEAD) => well_known::jwks(call.gateway).await,
        (Route::DidDocument, &Method::GET | &Method::HEAD) => {
            well_known::did_document(call.gateway).await
        }
        (Route::AdminMetrics, &Method::GET | &Method::HEAD) => metrics::summary(call).await,
        (Route::Metrics, &Method::GET | &Method::HEAD) => metrics::exposition(call).await,
        (Route::Healthz, &Method::GET | &Method::HEAD) => Ok(health::alive()),
        (Route::Readyz, &Method::GET | &Method::HEAD) => Ok(health::ready(call.gateway).await),
        (Route::OpenApiJson, &Method::GET | &Method::HEAD) => Ok(openapi::json()),
        (Route::OpenApiYaml, &Method::GET | &Method::HEAD) => Ok(openapi::yaml()),
        (route, _) => Err(HttpError::method_not_allowed(route.allow())),
    }
}

/// Path template and methods of every route, as `Allow` names them.
pub fn routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().map(|route| (route.template(), route.allow()))
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
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Each path with a method, whatever its parameters are called. HEAD goes with GET.
    fn routed() -> BTreeSet<String> {
        let methods = |route: Route| {
            let methods = route.allow().split(", ").filter(|method| *method != "HEAD");
            methods.map(move |method| format!("{method} {}", anonymous(route.template())))
        };
        ROUTES.iter().copied().flat_map(methods).collect()
    }

    fn described() -> BTreeSet<String> {
        let document: serde_json::Value = serde_json::from_str(crate::openapi::JSON).unwrap();
        let operations = |(path, item): (&String, &serde_json::Value)| {
            let path = anonymous(path);
            let methods = item.as_object().unwrap().keys().filter(|name| *name != "parameters");
            methods.map(|name| format!("{} {path}", name.to_uppercase())).collect::<Vec<_>>()
        };
        document["paths"].as_object().unwrap().iter().flat_map(operations).collect()
    }

    fn anonymous(path: &str) -> String {
        let segments = path.split('/').map(|s| if s.starts_with('{') { "{}" } else { s });
        segments.collect::<Vec<_>>().join("/")
    }

    #[test]
    fn the_interface_description_has_every_route_and_no_other() {
        assert_eq!(routed(), described());
    }

    #[test]
    fn every_template_leads_to_its_route() {
        let router = Router::new();
        for route in ROUTES.iter().copied() {
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
