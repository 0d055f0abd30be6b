//! The routes as a tower service, for axum and similar frameworks.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use idgate_core::error::NotAnAnswer;
use tokio::time::timeout;
use tower_service::Service;

use super::{Wallets, response};
use crate::store::Store;

/// [`Wallets`] as a [`Service`] that reads bodies itself: only for a session that accepts an answer
/// or has a request to fetch, up to their limit, and for at most 30 seconds. You limit connections,
/// and requests per address.
///
/// ```ignore
/// let app = axum::Router::new().fallback_service(wallets.into_service());
/// ```
pub struct WalletsService<S>(Wallets<S>);

impl<S> Clone for WalletsService<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> std::fmt::Debug for WalletsService<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WalletsService")
    }
}

impl<S: Store + 'static> Wallets<S> {
    /// The routes as a service, for example for `axum::Router::fallback_service`.
    #[allow(clippy::wrong_self_convention, reason = "a handle, cheap to clone")]
    pub fn into_service(&self) -> WalletsService<S> {
        WalletsService(self.clone())
    }
}

/// Enough for the largest answer on a slow network.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Why a body was not read.
enum Unread {
    TooLong,
    Incomplete,
}

/// Reads nothing if `room` is 0, because the body is not needed, and nothing of a body whose
/// declared length is too long.
async fn read<B>(body: B, room: usize) -> Result<Bytes, Unread>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>>,
{
    if room == 0 {
        return Ok(Bytes::new());
    }
    if usize::try_from(body.size_hint().lower()).is_ok_and(|length| length <= room) {
        let read = Limited::new(body, room).collect().await;
        return read.map(|all| all.to_bytes()).map_err(|error| {
            if error.is::<LengthLimitError>() { Unread::TooLong } else { Unread::Incomplete }
        });
    }
    Err(Unread::TooLong)
}

type Answered = Pin<Box<dyn Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send>>;

impl<S, B> Service<Request<B>> for WalletsService<S>
where
    S: Store + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Answered;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answered {
        let wallets = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let room = wallets.room(&head).await;
            let answered = match timeout(BODY_TIME, read(body, room)).await {
                Ok(Ok(body)) => wallets.handle(Request::from_parts(head, body)).await,
                Ok(Err(Unread::TooLong)) => response(NotAnAnswer::TooLarge.reply()),
                Ok(Err(Unread::Incomplete)) => {
                    response(NotAnAnswer::Malformed("the body is incomplete").reply())
                }
                Err(_) => {
                    response(NotAnAnswer::Malformed("the body did not arrive in time").reply())
                }
            };
            Ok(answered.map(Full::new))
        })
    }
}
