//! Public routes that an embedding program adds to the gateway. The gateway matches their paths,
//! reads their bodies within a bound and logs them; it does not know what they are for.

use bytes::Bytes;
use hyper::Response;
use hyper::http::request::Parts;

use super::answer_body::Body;
use super::body::BodyError;
use super::call::Call;
use super::error::{Answered, HttpError};

/// Additional routes. They are on the gateway's public listener, so anyone can call them.
pub trait AddedRoutes: Send + Sync {
    /// The template of a path, for logs and metrics; `None` if the path is not one of these routes.
    fn template(&self, path: &str) -> Option<&'static str>;

    /// The maximum size of a request body.
    fn max_body_bytes(&self) -> usize;

    /// Answers a request. `body` is `None` if the body exceeds the bound and was not read.
    fn answer(&self, head: &Parts, body: Option<Bytes>) -> Response<Bytes>;
}

/// Answers a call through an added route.
pub(crate) async fn answer(call: Call<'_>) -> Answered {
    let gateway = call.gateway;
    let path = call.head.uri.path();
    let found = gateway.added.as_deref().and_then(|added| Some((added, added.template(path)?)));
    let Some((added, template)) = found else { return Err(HttpError::no_such_path()) };
    call.trace.route = Some(template);
    if call.slot.is_on_probation() {
        return Err(HttpError::temporarily_unavailable().closing());
    }
    let head = call.head;
    let body = match call.read_body(added.max_body_bytes()).await {
        Ok(received) => Some(received.bytes),
        Err(BodyError::TooLarge) => None,
        Err(error) => return Err(error.refuse_64_kib()),
    };
    Ok(added.answer(head, body).map(Body::whole))
}
