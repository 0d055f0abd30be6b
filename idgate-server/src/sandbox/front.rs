//! The sandbox's own https: what the issuers publish, for trust stores that want lists by URL, and
//! everything else from the gateway behind it, for phones. The page that answers sessions is not behind it.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Either;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HeaderName, TRANSFER_ENCODING, UPGRADE};
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::routes::published;
use super::serving::{Sent, sentence};
use super::state::State;

/// Of one connection alone (RFC 9110 7.6.1).
const OF_A_CONNECTION: [HeaderName; 3] = [CONNECTION, TRANSFER_ENCODING, UPGRADE];

/// Answers a request over https, with what is published or by the gateway.
pub(super) async fn handle(
    state: Arc<State>,
    gateway: SocketAddr,
    request: Request<Incoming>,
) -> Response<Sent> {
    if let Some(published) = published(&state, request.uri().path()) {
        return published;
    }
    match pass_on(gateway, request).await {
        Ok(response) => response,
        Err(_gone) => sentence(StatusCode::BAD_GATEWAY, "the gateway does not answer"),
    }
}

async fn pass_on(
    gateway: SocketAddr,
    mut request: Request<Incoming>,
) -> Result<Response<Sent>, hyper::Error> {
    let Ok(stream) = TcpStream::connect(gateway).await else {
        return Ok(sentence(StatusCode::BAD_GATEWAY, "the gateway does not answer"));
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the answer's body.
    tokio::spawn(connection);
    leave_out(request.headers_mut());
    let mut response = sender.send_request(request).await?;
    leave_out(response.headers_mut());
    Ok(response.map(Either::Right))
}

fn leave_out(headers: &mut HeaderMap) {
    for name in OF_A_CONNECTION {
        headers.remove(name);
    }
}
