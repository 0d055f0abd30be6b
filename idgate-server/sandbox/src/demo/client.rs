//! A minimal HTTP client for the demo: one exchange per connection, loopback only.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::header::CONTENT_TYPE;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use idgate_testkit::wallet::Body;
use serde_json::Value;
use tokio::net::TcpStream;

/// An answer of the gateway.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) content_type: String,
    bytes: Bytes,
}

impl Answer {
    /// Its body as JSON; null when it is none.
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// Its body as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Talks to the gateway as tenant and as wallet.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) address: SocketAddr,
    pub(super) api_key: String,
}

impl Client {
    /// As the tenant, with the API key.
    pub(super) async fn tenant(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Answer, String> {
        let mut request = self.request(method, path);
        request = request.header("authorization", format!("Bearer {}", self.api_key));
        let bytes = body.map(Value::to_string).unwrap_or_default();
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        self.send(request, bytes.into_bytes()).await
    }

    /// As the wallet, without credentials of its own.
    pub(super) async fn wallet(&self, path: &str, body: &Body) -> Result<Answer, String> {
        let request = self.request("POST", path).header(CONTENT_TYPE, &body.content_type);
        self.send(request, body.bytes.clone()).await
    }

    /// What anybody may read.
    pub(super) async fn public(&self, path: &str) -> Result<Answer, String> {
        self.send(self.request("GET", path), Vec::new()).await
    }

    fn request(&self, method: &str, path: &str) -> hyper::http::request::Builder {
        Request::builder().method(method).uri(path).header("host", self.address.to_string())
    }

    async fn send(
        &self,
        request: hyper::http::request::Builder,
        body: Vec<u8>,
    ) -> Result<Answer, String> {
        let request = request.body(Full::new(Bytes::from(body))).map_err(text)?;
        let stream = TcpStream::connect(self.address).await.map_err(text)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(text)?;
        tokio::spawn(connection);
        let response = sender.send_request(request).await.map_err(text)?;
        let status = response.status();
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let bytes = response.into_body().collect().await.map_err(text)?.to_bytes();
        Ok(Answer { status, content_type, bytes })
    }
}

fn text(error: impl std::fmt::Display) -> String {
    format!("the demo cannot reach its own gateway: {error}")
}
