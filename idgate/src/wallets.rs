//! A handler for the OpenID4VP routes that wallets use.

#[cfg(feature = "tower")]
mod service;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use std::future::{Future, poll_fn};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use idgate_core::error::{NotAnAnswer, NotFetched};
#[cfg(feature = "tower")]
use idgate_core::limits::{MAX_FETCH_FORM_BYTES, MAX_RESPONSE_BYTES};
use idgate_core::{
    Answer, Asked, DID_DOCUMENT_PATH, ErrorCode, HttpReply, JWKS_PATH, OsEntropy, Session, Verifier,
};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

#[cfg(feature = "tower")]
pub use self::service::WalletsService;
use crate::clock;
use crate::decide::NotDecided;
use crate::fetch::Fetcher;
use crate::limits::MAX_HANDLE_BYTES;
use crate::store::{Committed, Store};

/// The four routes that wallets use, for your own service:
///
/// - `GET` and `POST /v1/oid4vp/request/{handle}`: a signed request,
/// - `POST /v1/oid4vp/response/{handle}`: an answer,
/// - `GET /.well-known/did.json` and `GET /.well-known/jwks.json`: the keys that sign.
///
/// Serve them at the root of the verifier's base URL, without a login. You create and read the
/// sessions yourself. It is cheap to clone. It runs on tokio, with each answer on its own task: if
/// a wallet disconnects, its session is not left half verified.
pub struct Wallets<S>(Arc<Inner<S>>);

struct Inner<S> {
    verifier: RwLock<Arc<Verifier>>,
    fetcher: Arc<Fetcher>,
    store: S,
}

impl<S> Clone for Wallets<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> std::fmt::Debug for Wallets<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wallets")
    }
}

const REQUESTS: &str = "/v1/oid4vp/request/";
const RESPONSES: &str = "/v1/oid4vp/response/";
/// A fetch is retried if another one was faster: that one made the session PENDING, and nothing
/// else does.
const TRIES: usize = 3;
/// A larger answer computes for longer than other tasks of the runtime should wait.
const LARGE_ANSWER_BYTES: usize = 64 * 1024;

impl<S: Store + 'static> Wallets<S> {
    /// Creates the routes of `verifier`, with sessions in `store`.
    pub fn new(verifier: Verifier, fetcher: Arc<Fetcher>, store: S) -> Self {
        let verifier = RwLock::new(Arc::new(verifier));
        Self(Arc::new(Inner { verifier, fetcher, store }))
    }

    /// The verifier that takes answers now.
    pub fn verifier(&self) -> Arc<Verifier> {
        self.0.verifier()
    }

    /// Replaces the verifier, for example to change trust. Answers in progress finish with the
    /// previous one.
    pub fn set_verifier(&self, verifier: Verifier) {
        let mut held = self.0.verifier.write().unwrap_or_else(PoisonError::into_inner);
        *held = Arc::new(verifier);
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.0.store
    }

    /// Serves one request of a wallet, whose body has at most
    /// [`MAX_RESPONSE_BYTES`](idgate_core::limits::MAX_RESPONSE_BYTES). Other paths are 404.
    pub async fn handle(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (head, body) = request.into_parts();
        let (path, method) = (head.uri.path(), &head.method);
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if let Some(handle) = path.strip_prefix(RESPONSES).filter(|handle| is_handle(handle)) {
            let content_type = content_type.map(str::to_owned);
            return match *method {
                Method::POST => response(self.answer(handle.into(), content_type, body).await),
                _ => not_allowed("POST"),
            };
        }
        if let Some(handle) = path.strip_prefix(REQUESTS).filter(|handle| is_handle(handle)) {
            return response(match *method {
                // Not HEAD: a preview of a link must not count as a fetch, which changes the
                // session.
                Method::GET => self.0.request_object(handle, Ok(Asked::get(handle))).await,
                Method::POST => {
                    self.0.request_object(handle, Asked::post(handle, content_type, &body)).await
                }
                _ => return not_allowed("GET, POST"),
            });
        }
        let is_document = path == DID_DOCUMENT_PATH || path == JWKS_PATH;
        match (is_document, method) {
            (false, _) => response(no_such_path()),
            (true, &Method::GET | &Method::HEAD) => {
                let verifier = self.verifier();
                let document = match path == JWKS_PATH {
                    true => Some(verifier.jwks_json()),
                    false => verifier.did_document_json(),
                };
                document.map_or_else(|| response(no_such_path()), public)
            }
            (true, _) => not_allowed("GET, HEAD"),
        }
    }

    /// How many bytes of a body this request can use: none, unless a session waits for them.
    #[cfg(feature = "tower")]
    async fn room(&self, head: &http::request::Parts) -> usize {
        let path = head.uri.path();
        let (handle, room) = match (path.strip_prefix(RESPONSES), path.strip_prefix(REQUESTS)) {
            _ if head.method != Method::POST => return 0,
            (Some(handle), _) => (handle, MAX_RESPONSE_BYTES),
            (None, Some(handle)) => (handle, MAX_FETCH_FORM_BYTES),
            (None, None) => return 0,
        };
        match self.0.load(handle).await {
            Ok(Some(session)) if session.accepts_response(clock::now()) => room,
            _ => 0,
        }
    }

    /// Takes an answer that your page received from its browser: the JSON text of
    /// `DigitalCredential.toJSON()`.
    pub async fn dc_api(&self, session_id: &str, body: Bytes) -> HttpReply {
        let (inner, id) = (Arc::clone(&self.0), session_id.to_owned());
        let size = body.len();
        on_a_task(size, async move { inner.decide(&id, Answer::dc_api(&body)).await }).await
    }

    async fn answer(&self, to: String, content_type: Option<String>, body: Bytes) -> HttpReply {
        let (inner, size) = (Arc::clone(&self.0), body.len());
        on_a_task(size, async move {
            let content_type = content_type.as_deref();
            inner.decide(&to, Answer { to: &to, content_type, body: &body }).await
        })
        .await
    }
}

impl<S: Store> Inner<S> {
    fn verifier(&self) -> Arc<Verifier> {
        Arc::clone(&self.verifier.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn load(&self, handle: &str) -> Result<Option<Session>, HttpReply> {
        self.store.load(handle).await.map_err(|error| {
            tracing::error!(%error, "a session could not be loaded");
            HttpReply::try_again()
        })
    }

    async fn decide(&self, handle: &str, answer: Answer<'_>) -> HttpReply {
        let session = match self.load(handle).await {
            Ok(Some(session)) if session.accepts_response(clock::now()) => session,
            Ok(_) => return NotAnAnswer::SessionClosed.reply(),
            Err(reply) => return reply,
        };
        let verifier = self.verifier();
        let verification = match verifier.begin(&session, answer, &mut OsEntropy, clock::now()) {
            Ok(verification) => verification,
            Err(error) => return error.reply(),
        };
        match self.fetcher.decide(verification, &self.store).await {
            Ok(decision) => {
                if let Some(error) = decision.report.error() {
                    // Logs the check and its clause, never the presentation.
                    tracing::info!(session = %session.id(), %error, "refused");
                }
                decision.reply()
            }
            Err(error) => {
                if !matches!(error, NotDecided::Response(_)) {
                    tracing::error!(session = %session.id(), %error, "not decided");
                }
                error.reply()
            }
        }
    }

    async fn request_object(
        &self,
        handle: &str,
        asked: Result<Asked<'_>, NotFetched>,
    ) -> HttpReply {
        for _ in 0..TRIES {
            let session = match self.load(handle).await {
                Ok(Some(session)) if session.accepts_response(clock::now()) => session,
                Ok(_) => return NotFetched::NotFetchable.reply(),
                Err(reply) => return reply,
            };
            let asked = match &asked {
                Ok(asked) => asked,
                Err(error) => return error.reply(),
            };
            let made = match self.verifier().request_object(&session, asked, clock::now()) {
                Ok(made) => made,
                Err(error) => {
                    if let NotFetched::Signer(error) = &error {
                        tracing::error!(session = %session.id(), %error, "not signed");
                    }
                    return error.reply();
                }
            };
            let Some(transition) = &made.transition else { return made.reply() };
            match self.store.commit(transition).await {
                Ok(Committed::Stored) => return made.reply(),
                Ok(Committed::LostRace) => {}
                Err(error) => {
                    tracing::error!(session = %session.id(), %error, "not stored");
                    return HttpReply::try_again();
                }
            }
        }
        HttpReply::try_again()
    }
}

impl<E> NotDecided<E> {
    /// The reply to the wallet.
    pub fn reply(&self) -> HttpReply {
        match self {
            Self::Response(error) => error.reply(),
            Self::Store(_) | Self::NotAsked(_) => HttpReply::try_again(),
        }
    }
}

/// Runs an answer to its end, whether or not the wallet waits for it. While a large answer
/// computes, other tasks leave its thread; while it waits, it occupies none.
async fn on_a_task(
    size: usize,
    work: impl Future<Output = HttpReply> + Send + 'static,
) -> HttpReply {
    let yields = size > LARGE_ANSWER_BYTES
        && Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    let mut work = Box::pin(work);
    let polled = poll_fn(move |context| match yields {
        true => block_in_place(|| work.as_mut().poll(context)),
        false => work.as_mut().poll(context),
    });
    tokio::spawn(polled).await.unwrap_or_else(|_| {
        tracing::error!("an answer was not decided because of a panic");
        HttpReply::refusal(ErrorCode::InternalError, "a fault of this service")
    })
}

/// Whether a path may end with this text: the characters of ids, and no more of them than ids have.
fn is_handle(text: &str) -> bool {
    let is_of_ids = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=MAX_HANDLE_BYTES).contains(&text.len()) && text.bytes().all(is_of_ids)
}

fn no_such_path() -> HttpReply {
    HttpReply::refusal(ErrorCode::NotFound, "there is nothing at this path")
}

/// A document that is public, also for pages.
fn public(document: String) -> Response<Bytes> {
    let mut response = response(HttpReply::json(document));
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

fn not_allowed(methods: &'static str) -> Response<Bytes> {
    let reply = HttpReply::refusal(
        ErrorCode::MethodNotAllowed,
        "this path does not support that method; see Allow",
    );
    let mut response = response(reply);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

fn response(reply: HttpReply) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.headers() {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    *response.body_mut() = Bytes::from(reply.body);
    response
}
