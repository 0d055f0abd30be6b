//! The sandbox's own listeners: HTTP/1.1 with a handler for each request, plain or over TLS.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::limits::{
    MAX_HEAD_BYTES, MAX_SANDBOX_BODY_BYTES, MAX_SANDBOX_CONNECTIONS, SANDBOX_EXCHANGE_TIME,
};
use idgate_base::task::boxed;

/// The body of a response: its own, or one that is streamed through.
pub(super) type Sent = Either<Full<Bytes>, Incoming>;

/// Pause after a failed accept, so that the loop does not spin.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Answers requests on `listener` with `handle` for as long as it is polled.
pub(super) async fn serve<H, F>(listener: TcpListener, tls: Option<TlsAcceptor>, handle: H)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Sent>> + Send,
{
    let places = Arc::new(Semaphore::new(MAX_SANDBOX_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
            continue;
        };
        let (tls, handle) = (tls.clone(), handle.clone());
        tokio::spawn(boxed(async move {
            let _place = place;
            match tls {
                None => requests(stream, handle).await,
                Some(tls) => {
                    let shaken = tokio::time::timeout(SANDBOX_EXCHANGE_TIME, tls.accept(stream));
                    if let Ok(Ok(stream)) = shaken.await {
                        requests(stream, handle).await;
                    }
                }
            }
        }));
    }
}

async fn requests<H, F>(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, handle: H)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Sent>> + Send,
{
    let service = service_fn(|request| {
        let answer = handle(request);
        async { Ok::<_, Infallible>(answer.await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(SANDBOX_EXCHANGE_TIME)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    // The client may be gone; its error does not matter.
    let _ended = served.await;
}

/// The body of a request; `None` if it is too large or did not arrive.
pub(super) async fn body_of(request: Request<Incoming>) -> Option<Bytes> {
    let body = Limited::new(request.into_body(), MAX_SANDBOX_BODY_BYTES).collect();
    let body = tokio::time::timeout(SANDBOX_EXCHANGE_TIME, body).await.ok()?;
    Some(body.ok()?.to_bytes())
}

/// A response of this media type, without caching and without type sniffing.
pub(super) fn answer(
    status: StatusCode,
    media_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Sent> {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A plain-text response for people.
pub(super) fn sentence(status: StatusCode, text: &str) -> Response<Sent> {
    answer(status, "text/plain; charset=utf-8", format!("{text}\n"))
}
