//! The routes as a service of tower, which axum and its like take.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use idgate_core::error::NotAnAnswer;
use idgate_core::limits::MAX_RESPONSE_BYTES;
use tower_service::Service;

use super::{Wallets, response};
use crate::store::Store;

/// [`Wallets`] as a [`Service`] that reads bodies itself, up to their bound.
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
            let answered = match Limited::new(body, MAX_RESPONSE_BYTES).collect().await {
                Ok(body) => wallets.handle(Request::from_parts(head, body.to_bytes())).await,
                Err(error) if error.is::<LengthLimitError>() => {
                    response(NotAnAnswer::TooLarge.reply())
                }
                Err(_) => response(NotAnAnswer::Malformed("the body is incomplete").reply()),
            };
            Ok(answered.map(Full::new))
        })
    }
}
