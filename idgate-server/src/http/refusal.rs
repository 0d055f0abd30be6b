//! Gives hyper's own responses to unreadable heads the format of all other errors. hyper writes
//! such a response directly to the connection: only a head, without a body and without the
//! `X-Request-Id` that all other responses have.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use idgate_core::ErrorCode;
use idgate_core::shell::random_id;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::json::Object;
use idgate_base::entropy::OsEntropy;

/// A stream that adds a body to bare refusals.
pub(crate) struct Explained<T> {
    stream: T,
    refusal: Option<Refusal>,
}

/// A refusal that replaces a bare one.
struct Refusal {
    bytes: Vec<u8>,
    written: usize,
    /// The bytes that hyper believes it has written.
    instead_of: usize,
}

impl<T> Explained<T> {
    pub(crate) fn new(stream: T) -> Self {
        Self { stream, refusal: None }
    }
}

impl<T: AsyncWrite + Unpin> Explained<T> {
    /// Whether this write is, or continues, a bare refusal.
    fn takes(&mut self, bytes: &[u8]) -> bool {
        if self.refusal.is_none()
            && let Some(explained) = explain(bytes)
        {
            self.refusal = Some(Refusal { bytes: explained, written: 0, instead_of: bytes.len() });
        }
        self.refusal.is_some()
    }

    fn poll_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(refusal) = &mut self.refusal else { return Poll::Ready(Ok(0)) };
        while let Some(rest) = refusal.bytes.get(refusal.written..).filter(|it| !it.is_empty()) {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            refusal.written = refusal.written.saturating_add(written);
        }
        let instead_of = refusal.instead_of;
        self.refusal = None;
        Poll::Ready(Ok(instead_of))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Explained<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Explained<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.takes(bytes) {
            return self.poll_refusal(cx);
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut filled = parts.iter().filter(|part| !part.is_empty());
        if let (Some(only), None) = (filled.next(), filled.next())
            && self.takes(only)
        {
            return self.poll_refusal(cx);
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// A bare refusal with a body added; `None` if these bytes are something else.
fn explain(bytes: &[u8]) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"HTTP/1.1 4") {
        return None;
    }
    let head = std::str::from_utf8(bytes).ok()?.strip_suffix("\r\n\r\n")?;
    let (status, headers) = head.split_once("\r\n")?;
    let has = |name: &str| headers.lines().find(|line| line.starts_with(name));
    has("content-length: 0")?;
    if headers.contains("\r\n\r\n") || has("x-request-id").is_some() {
        return None;
    }
    let message = match status.get(9..12)? {
        "414" => "the request target is too long",
        "431" => "the request head is too long or has too many headers",
        _ => "the request head is not valid HTTP/1.1",
    };
    let body = Object::new()
        .text("error", ErrorCode::InvalidRequest.as_str())
        .text("message", message)
        .finish();
    let request_id = random_id("req_", &mut OsEntropy).unwrap_or_default();
    let date = has("date: ").map(|date| format!("{date}\r\n")).unwrap_or_default();
    let length = body.len();
    let head = format!(
        "{status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         cache-control: no-store\r\nx-content-type-options: nosniff\r\n\
         x-request-id: {request_id}\r\nconnection: close\r\n{date}\r\n"
    );
    Some([head.as_bytes(), &body].concat())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const BARE: &str = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\
                        content-length: 0\r\ndate: Sat, 21 Nov 2026 07:29:04 GMT\r\n\r\n";

    #[tokio::test]
    async fn a_bare_refusal_gets_a_body_even_through_partial_writes() {
        let (near, mut far) = tokio::io::duplex(7);
        let writing = tokio::spawn(async move {
            let mut stream = Explained::new(near);
            stream.write_all(BARE.as_bytes()).await.unwrap();
        });
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        writing.await.unwrap();
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{head}");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        assert!(head.contains("\r\ndate: Sat, 21 Nov 2026"), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body.as_object().unwrap().len(), 2);
        assert_eq!(body.pointer("/error").unwrap(), "invalid_request");
    }

    #[test]
    fn other_responses_pass_unchanged() {
        for other in [
            "",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nx-request-id: req_1\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n{}",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n",
            "{\"error\":\"HTTP/1.1 400\"}",
        ] {
            assert!(explain(other.as_bytes()).is_none(), "{other}");
        }
        assert!(explain(BARE.as_bytes()).is_some());
    }
}
