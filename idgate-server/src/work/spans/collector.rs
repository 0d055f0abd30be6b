//! The connection to a trace collector: a single one, kept open between messages, and reopened when
//! it is gone.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{
    CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT,
};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::wire;
use crate::config::Traces;
use crate::limits::MAX_COLLECTOR_ANSWER;
use idgate_base::task::boxed;

/// The outcome of sending a message. The texts are fixed, because a collector may send anything.
#[derive(Debug)]
pub(super) enum Taken {
    /// Accepted, except for this many spans.
    Yes { refused: usize, why: String },
    /// Refused; sending it again would not help.
    Never(String),
    /// Refused for now; it may be sent again, after this time if one is given.
    NotNow { why: String, after: Option<Duration> },
}

/// The collector that spans are sent to.
pub(super) struct Collector {
    endpoint: Url,
    headers: HeaderMap,
    timeout: Duration,
    tls: Option<TlsConnector>,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Collector {
    /// # Errors
    /// TLS cannot be set up, or a header cannot be sent.
    pub(super) fn new(traces: &Traces, extra_ca: Option<&Path>) -> Result<Self, String> {
        let endpoint = traces.endpoint.clone();
        let tls = match endpoint.scheme() {
            "https" => Some(connector(extra_ca)?),
            _ => None,
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &traces.headers {
            let refused = |_| "OTEL_EXPORTER_OTLP_HEADERS: cannot be sent".to_owned();
            let name = HeaderName::try_from(name.as_str()).map_err(|_| refused(()))?;
            let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| refused(()))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        let own = [
            (CONTENT_TYPE, "application/x-protobuf"),
            (USER_AGENT, concat!("idgate/", env!("CARGO_PKG_VERSION"))),
        ];
        for (name, value) in own {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
        Ok(Self { endpoint, headers, timeout: traces.timeout, tls, connection: None })
    }

    /// Sends a message within the operator's time limit.
    pub(super) async fn send(&mut self, message: Bytes) -> Taken {
        let patience = self.timeout;
        let taken = timeout(patience, self.exchange(message)).await;
        let not_now = |why: String| Taken::NotNow { why, after: None };
        taken.unwrap_or_else(|_late| Err("timeout".into())).unwrap_or_else(|why| {
            self.connection = None;
            not_now(why)
        })
    }

    async fn exchange(&mut self, message: Bytes) -> Result<Taken, String> {
        let mut open = self.connection.take();
        if let Some(connection) = &mut open
            && connection.ready().await.is_err()
        {
            open = None;
        }
        let mut connection = match open {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let request = self.request(message)?;
        let response = connection
            .send_request(request)
            .await
            .map_err(|_| "the connection was closed early")?;
        let taken = read(response).await;
        self.connection = Some(connection);
        Ok(taken)
    }

    fn request(&self, message: Bytes) -> Result<Request<Full<Bytes>>, String> {
        let host = self.endpoint.host_str().unwrap_or_default();
        let host = match self.endpoint.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut request = Request::post(self.endpoint.path())
            .header(HOST, host)
            .body(Full::new(message))
            .map_err(|error| error.to_string())?;
        request.headers_mut().extend(self.headers.clone());
        Ok(request)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, String> {
        let host = self.endpoint.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let port = self.endpoint.port_or_known_default().unwrap_or(4318);
        let stream = TcpStream::connect((bare, port)).await;
        let stream = stream.map_err(|error| format!("no connection: {}", error.kind()))?;
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => begin(stream).await,
            Some(tls) => {
                let name =
                    ServerName::try_from(bare.to_owned()).map_err(|error| error.to_string())?;
                let stream = tls.connect(name, stream).await;
                begin(stream.map_err(|error| format!("no TLS: {error}"))?).await
            }
        }
    }
}

async fn begin<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) =
        handshake(TokioIo::new(stream)).await.map_err(|_| "the connection was closed early")?;
    // Ends with its sender.
    tokio::spawn(boxed(async move { drop(connection.await) }));
    Ok(sender)
}

/// Interprets a response (OTLP, "Failures" and "Partial success").
async fn read(response: Response<Incoming>) -> Taken {
    let status = response.status();
    let after = response.headers().get(RETRY_AFTER).and_then(seconds);
    let body = Limited::new(response.into_body(), MAX_COLLECTOR_ANSWER).collect().await;
    let why = format!("status {}", status.as_u16());
    match status {
        status if status.is_success() => {
            let refused = body.map_or(0, |body| wire::refused(&body.to_bytes()));
            Taken::Yes { refused, why: "refused in part".into() }
        }
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Taken::NotNow { why, after },
        _ => Taken::Never(why),
    }
}

fn seconds(value: &HeaderValue) -> Option<Duration> {
    value.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

/// A TLS connector that trusts the system's roots and those in `extra`.
fn connector(extra: Option<&Path>) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = extra {
        let unusable = |why: &dyn std::fmt::Display| {
            format!("IDGATE_EXTRA_CA_FILE: {}: {why}", path.display())
        };
        let pem = std::fs::read(path).map_err(|error| unusable(&error))?;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.map_err(|error| unusable(&error))?;
            roots.add(certificate).map_err(|error| unusable(&error))?;
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot set up TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
