//! All routes, one row each. A new route also needs an entry in the API description and in the
//! tests' table.

use idgate_core::shell::discovery;

use super::{
    api_keys, audit, dc_api, health, metrics, openapi, page, request_object, sessions, stream,
    wallet, webhooks, well_known,
};
use crate::http::admission::rates::{
    API_KEYS, CREATE, DC_API, DELETE, READ, REQUEST_OBJECT, RESPONSE, TenantRate, WEBHOOK_ENDPOINT,
    WEBHOOK_TEST,
};
use crate::http::auth::Scope::{ApiKeysManage, AuditRead, SessionCreate, SessionRead};
use crate::http::route::Door::{
    Admin, OfPages, OfSession, Page, Probe, Public, Relay, Stream, Tenant, Wallet,
};
use crate::http::route::{Door, ForTenant, Route};

/// Wraps a handler for the table. `tenant`: it takes the proof of the caller's key. `session`: it
/// takes the session, too.
macro_rules! to {
    ($handler:path) => {
        |call| Box::pin($handler(call))
    };
    (tenant $handler:path) => {
        |call, tenant| Box::pin($handler(call, tenant))
    };
    (session $handler:path) => {
        |call, tenant, session| Box::pin($handler(call, tenant, session))
    };
}

/// Methods of one path must be adjacent.
pub(crate) static ROUTES: &[Route] = &[
    post("/v1/sessions", Tenant(SessionCreate, Some(&CREATE), to!(tenant sessions::create))),
    get("/v1/sessions/{id}", OfSession(SessionRead, &READ, to!(session sessions::read))),
    delete("/v1/sessions/{id}", Tenant(SessionCreate, Some(&DELETE), to!(tenant sessions::delete))),
    get("/v1/sessions/{id}/report", Tenant(AuditRead, None, to!(tenant sessions::report))),
    get("/v1/sessions/{id}/open", Public(to!(sessions::open))),
    post("/v1/sessions/{id}/dc-api", Relay(SessionCreate, &DC_API, to!(tenant dc_api::relay))),
    get(
        "/v1/sessions/{id}/ws",
        Stream(SessionRead, |call, scope| Box::pin(stream::open(call, scope))),
    ),
    get("/v1/sessions/{id}/events", Tenant(SessionRead, Some(&READ), to!(tenant stream::events))),
    get("/v1/oid4vp/request/{id}", Wallet(&REQUEST_OBJECT, to!(request_object::get))),
    post("/v1/oid4vp/request/{id}", Wallet(&REQUEST_OBJECT, to!(request_object::post))),
    post("/v1/oid4vp/response/{id}", Wallet(&RESPONSE, to!(wallet::respond))),
    get("/v1/api-keys", manages(&API_KEYS, to!(tenant api_keys::list))),
    post("/v1/api-keys", manages(&API_KEYS, to!(tenant api_keys::create))),
    delete("/v1/api-keys/{id}", manages(&API_KEYS, to!(tenant api_keys::revoke))),
    post("/v1/api-keys/{id}/rotate", manages(&API_KEYS, to!(tenant api_keys::rotate))),
    get("/v1/audit-log", Tenant(AuditRead, None, to!(tenant audit::list))),
    get("/v1/webhook-endpoint", manages(&WEBHOOK_ENDPOINT, to!(tenant webhooks::read))),
    put("/v1/webhook-endpoint", manages(&WEBHOOK_ENDPOINT, to!(tenant webhooks::put))),
    delete("/v1/webhook-endpoint", manages(&WEBHOOK_ENDPOINT, to!(tenant webhooks::remove))),
    post("/v1/webhook-endpoint/test", manages(&WEBHOOK_TEST, to!(tenant webhooks::test))),
    get("/v1/webhooks/pending", Tenant(AuditRead, None, to!(tenant webhooks::pending))),
    get("/v1/webhooks/failures", Tenant(AuditRead, None, to!(tenant webhooks::failures))),
    post(
        "/v1/webhooks/failures/{id}/retry",
        Tenant(ApiKeysManage, None, to!(tenant webhooks::retry)),
    ),
    get("/v/{id}", Page(to!(page::show))),
    post("/v/{id}/take", Page(to!(page::take))),
    post("/v/{id}/cancel", Page(to!(page::cancel))),
    get("/v/{id}/on/{part}", Page(to!(page::open_on_phone))),
    post("/v/{id}/on/{part}", Page(to!(page::take_over))),
    post("/v/{id}/back", Page(to!(page::bring_back))),
    get("/v/{id}/state", Page(to!(page::state))),
    get("/v/{id}/dc-api", Page(to!(page::requests))),
    post("/v/{id}/dc-api", Page(to!(page::answer))),
    get("/v/{id}/open", Page(to!(page::open))),
    get("/v/{id}/logo", Page(to!(page::logo))),
    get("/v/{id}/theme.css", Page(to!(page::theme))),
    get("/v/page.js", OfPages(to!(page::script))),
    get("/v/page.css", OfPages(to!(page::style))),
    get("/v/icon.svg", OfPages(to!(page::icon))),
    get(discovery::JWKS_PATH, Public(to!(well_known::jwks))),
    get(discovery::DID_DOCUMENT_PATH, Public(to!(well_known::did_document))),
    get("/v1/admin/metrics", Admin(to!(metrics::summary))),
    get("/metrics", Admin(to!(metrics::exposition))),
    get("/healthz", Probe(to!(health::alive))),
    get("/readyz", Probe(to!(health::ready))),
    get("/api/openapi.json", Public(to!(openapi::json))),
    get("/api/openapi.yaml", Public(to!(openapi::yaml))),
    get("/api/openapi-3.0.yaml", Public(to!(openapi::yaml_3_0))),
];

/// For the management of keys and of whatever else redirects data.
const fn manages(rate: &'static TenantRate, handler: ForTenant) -> Door {
    Tenant(ApiKeysManage, Some(rate), handler)
}

const fn get(template: &'static str, door: Door) -> Route {
    Route { method: "GET", template, door }
}

const fn post(template: &'static str, door: Door) -> Route {
    Route { method: "POST", template, door }
}

const fn put(template: &'static str, door: Door) -> Route {
    Route { method: "PUT", template, door }
}

const fn delete(template: &'static str, door: Door) -> Route {
    Route { method: "DELETE", template, door }
}
