//! HTTP for the built-in wallet and the sandbox's own tenant, limited to this machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use idgate_testkit::wallet::Body;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::{Host, Position, Url};

use crate::limits::{MAX_SANDBOX_BODY_BYTES, SANDBOX_EXCHANGE_TIME};
use idgate_base::task::boxed;

/// A client for servers on this machine.
#[derive(Clone, Default)]
pub(super) struct Way {
    /// URLs of this origin are sent to this address in plain HTTP: a tunnel or a proxy is in front
    /// of it.
    over: Option<(String, SocketAddr)>,
    tls: Option<TlsConnector>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) content_type: String,
    pub(super) location: Option<String>,
    pub(super) bytes: Bytes,
}

impl Reply {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Its body as JSON; null if it is not JSON.
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }
}

impl Way {
    /// Sends URLs below `base_url` to `address`.
    #[must_use]
    pub(super) fn over(mut self, base_url: &str, address: SocketAddr) -> Self {
        self.over = Some((base_url.to_owned(), address));
        self
    }

    /// Allows https to names of this machine whose certificates are signed by a CA in `file`.
    ///
    /// # Errors
    /// The file holds no certificate.
    pub(super) fn trusting(mut self, file: &Path) -> Result<Self, String> {
        let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        let pem = std::fs::read(file).map_err(|error| wrong(&error))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.map_err(|_| wrong(&"is not PEM"))?;
            roots.add(certificate).map_err(|error| wrong(&error))?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        self.tls = Some(TlsConnector::from(Arc::new(config)));
        Ok(self)
    }

    /// # Errors
    /// The URL leads elsewhere, or the server does not answer.
    pub(super) async fn get(&self, url: &str) -> Result<Reply, String> {
        self.exchange("GET", url, &[], Bytes::new()).await
    }

    /// # Errors
    /// As [`Way::get`].
    pub(super) async fn head(&self, url: &str) -> Result<Reply, String> {
        self.exchange("HEAD", url, &[], Bytes::new()).await
    }

    /// # Errors
    /// As [`Way::get`].
    pub(super) async fn post(&self, url: &str, body: &Body) -> Result<Reply, String> {
        let headers = [(CONTENT_TYPE.as_str(), &*body.content_type)];
        self.exchange("POST", url, &headers, body.bytes.clone().into()).await
    }

    /// Sends a request as a tenant, with its API key.
    ///
    /// # Errors
    /// As [`Way::get`].
    pub(super) async fn tenant(
        &self,
        method: &str,
        url: &str,
        api_key: &str,
        body: Option<&Value>,
    ) -> Result<Reply, String> {
        let authorization = format!("Bearer {api_key}");
        let mut headers = vec![(AUTHORIZATION.as_str(), &*authorization)];
        if body.is_some() {
            headers.push((CONTENT_TYPE.as_str(), "application/json"));
        }
        let text = body.map(Value::to_string).unwrap_or_default();
        self.exchange(method, url, &headers, text.into()).await
    }

    async fn exchange(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Reply, String> {
        let parsed = Url::parse(url).map_err(|_| format!("{url} is not a URL"))?;
        let (address, over_tls) = self.target(&parsed)?;
        let said = &parsed[Position::BeforePath..Position::AfterQuery];
        let host = &parsed[Position::BeforeHost..Position::AfterPort];
        let mut request = Request::builder().method(method).uri(said).header(HOST, host);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).map_err(|error| error.to_string())?;
        let cannot = |error: &dyn std::fmt::Display| format!("{address} does not answer: {error}");
        let talk = async {
            let stream = TcpStream::connect(address).await.map_err(|error| cannot(&error))?;
            match over_tls {
                None => talk(stream, request).await.map_err(|error| cannot(&error)),
                Some((connector, name)) => {
                    let stream = connector.connect(name, stream).await;
                    let stream = stream.map_err(|error| cannot(&error))?;
                    talk(stream, request).await.map_err(|error| cannot(&error))
                }
            }
        };
        timeout(SANDBOX_EXCHANGE_TIME, talk).await.map_err(|_| cannot(&"too late"))?
    }

    /// Where a URL leads, and the name that the certificate there must have.
    #[allow(clippy::type_complexity)] // both describe one connection
    fn target(
        &self,
        url: &Url,
    ) -> Result<(SocketAddr, Option<(TlsConnector, ServerName<'static>)>), String> {
        if let Some((base, address)) = &self.over
            && Url::parse(base).is_ok_and(|base| base.origin() == url.origin())
        {
            return Ok((*address, None));
        }
        let ip = match url.host() {
            Some(Host::Ipv4(address)) if address.is_loopback() => IpAddr::V4(address),
            Some(Host::Ipv6(address)) if address.is_loopback() => IpAddr::V6(address),
            Some(Host::Domain("localhost")) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            _ => return Err(elsewhere(url)),
        };
        let port = url.port_or_known_default().ok_or_else(|| elsewhere(url))?;
        match (url.scheme(), &self.tls) {
            ("http", _) => Ok(((ip, port).into(), None)),
            ("https", Some(connector)) => {
                let name = match url.host() {
                    Some(Host::Domain(_)) => ServerName::try_from("localhost"),
                    _ => Ok(ServerName::from(ip)),
                };
                let name = name.map_err(|_| elsewhere(url))?;
                Ok(((ip, port).into(), Some((connector.clone(), name))))
            }
            ("https", None) => Err(format!("{url}: give the CA of its certificate with --ca FILE")),
            _ => Err(elsewhere(url)),
        }
    }
}

fn elsewhere(url: &Url) -> String {
    let origin = &url[..Position::AfterPort];
    format!(
        "{origin} is not on this machine, and the built-in wallet answers gateways on loopback only; if \
         a tunnel or a proxy leads here, give the gateway's own address: --gateway 127.0.0.1:8080"
    )
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Reply, String> {
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(boxed(async move { drop(connection.await) }));
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let header = |name| {
        let value: Option<&hyper::header::HeaderValue> = response.headers().get(name);
        value.and_then(|value| value.to_str().ok()).map(String::from)
    };
    let (content_type, location) = (header(CONTENT_TYPE).unwrap_or_default(), header(LOCATION));
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_SANDBOX_BODY_BYTES).collect().await;
    let bytes = body.map_err(|error| error.to_string())?.to_bytes();
    Ok(Reply { status, content_type, location, bytes })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn it_reaches_only_this_machine() {
        let way = Way::default();
        let target = |url: &str| way.target(&Url::parse(url).unwrap()).map(|(address, _)| address);
        assert_eq!(target("http://localhost:81/a"), Ok("127.0.0.1:81".parse().unwrap()));
        assert_eq!(target("http://127.9.9.9/"), Ok("127.9.9.9:80".parse().unwrap()));
        assert_eq!(target("http://[::1]:81/"), Ok("[::1]:81".parse().unwrap()));
        for elsewhere in [
            "http://192.168.0.1/",
            "http://0.0.0.0/",
            "http://[::]/",
            "http://localhost.example/",
            "http://gateway.example/",
            "http://169.254.169.254/latest",
            "ftp://127.0.0.1/",
            "file:///etc/passwd",
        ] {
            assert!(target(elsewhere).is_err(), "{elsewhere}");
        }
        assert!(target("https://127.0.0.1/").unwrap_err().contains("--ca FILE"));
    }

    #[test]
    fn only_the_named_origin_is_sent_to_the_given_gateway_address() {
        let here = "127.0.0.1:8080".parse().unwrap();
        let way = Way::default().over("https://abc.tunnel.example", here);
        let target = |url: &str| way.target(&Url::parse(url).unwrap()).map(|(address, _)| address);
        assert_eq!(target("https://abc.tunnel.example/v1/x"), Ok(here));
        for other in [
            "http://abc.tunnel.example/",
            "https://abc.tunnel.example:444/",
            "https://abc.tunnel.example.evil.example/",
            "https://abc.tunnel.example@evil.example/",
        ] {
            assert!(target(other).is_err(), "{other}");
        }
    }
}
