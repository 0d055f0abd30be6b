//! The sandbox's own https. It serves what the issuers publish, for trust stores that fetch lists
//! by URL, and forwards everything else to the gateway, for phones. The console that answers
//! sessions is not reachable here.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::Either;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{
    CONNECTION, FORWARDED, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::routes::published;
use super::serving::{Sent, sentence};
use super::state::State;
use idgate_base::task::boxed;

/// Headers of a single connection, as are those that `Connection` names (RFC 9110 7.6.1).
const OF_A_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Answers a request over https, from the published files or through the gateway.
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
    // This task ends with the response body.
    tokio::spawn(boxed(async move { drop(connection.await) }));
    leave_out(request.headers_mut());
    leave_out_origins(request.headers_mut());
    let mut response = sender.send_request(request).await?;
    leave_out(response.headers_mut());
    Ok(response.map(Either::Right))
}

fn leave_out(headers: &mut HeaderMap) {
    let lines = headers.get_all(CONNECTION).iter().filter_map(|line| line.to_str().ok());
    let named: Vec<HeaderName> = lines
        .flat_map(|line| line.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.into_iter().chain(OF_A_CONNECTION) {
        headers.remove(name);
    }
}

/// Removes forwarding headers, because the client is not a proxy: a gateway that trusts proxies on
/// loopback would believe them.
fn leave_out_origins(headers: &mut HeaderMap) {
    let is_such = |name: &HeaderName| {
        *name == FORWARDED || *name == "x-real-ip" || name.as_str().starts_with("x-forwarded-")
    };
    let found: Vec<HeaderName> = headers.keys().filter(|name| is_such(name)).cloned().collect();
    for name in found {
        headers.remove(name);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn left(of: &[(&'static str, &'static str)], leave_out: fn(&mut HeaderMap)) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in of {
            headers.append(*name, HeaderValue::from_static(value));
        }
        leave_out(&mut headers);
        headers.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn hop_by_hop_headers_are_not_forwarded() {
        let headers = [
            ("connection", "close, X-One"),
            ("connection", " x-two ,no name"),
            ("x-one", "1"),
            ("x-two", "2"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "close"),
            ("proxy-authorization", "Basic a"),
            ("te", "trailers"),
            ("trailer", "x"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("cookie", "a=b"),
        ];
        assert_eq!(left(&headers, leave_out), ["cookie"]);
    }

    #[test]
    fn forwarding_headers_of_clients_are_removed() {
        let headers = [
            ("forwarded", "for=192.0.2.1"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-for", "192.0.2.2"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "a.example"),
            ("x-real-ip", "192.0.2.1"),
            ("host", "localhost"),
        ];
        assert_eq!(left(&headers, leave_out_origins), ["host"]);
    }
}
