//! The request that becomes a stream (RFC 6455 4.2), and its API key. Browsers cannot set a header
//! on a WebSocket, so the key may be offered as a subprotocol; it is not echoed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{
    AUTHORIZATION, CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{StatusCode, Version};

use crate::http::answer_body::empty;
use crate::http::auth;
use crate::http::error::{Answered, HttpError};
use crate::http::head::only;
use idgate_base::api_key::ApiKey;

/// The subprotocol of the status stream.
const PROTOCOL: &str = "svc-id-v1";
/// The prefix of every API key, and of no other subprotocol.
const KEY: &str = "sk_";
/// RFC 6455 1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A valid handshake whose key is not checked yet.
pub(crate) struct Handshake {
    accept: String,
    key: Option<ApiKey>,
}

impl Handshake {
    /// Reads the handshake from a request without a body.
    pub(crate) fn read(head: &Parts) -> Result<Self, HttpError> {
        let headers = &head.headers;
        let upgrades = head.version == Version::HTTP_11
            && elements(headers, &UPGRADE).any(|it| it.eq_ignore_ascii_case("websocket"))
            && elements(headers, &CONNECTION).any(|it| it.eq_ignore_ascii_case("upgrade"));
        if !upgrades {
            return Err(HttpError::bad_handshake("this path accepts only WebSocket upgrades"));
        }
        if only(headers, &SEC_WEBSOCKET_VERSION) != Some("13") {
            return Err(HttpError::bad_handshake("Sec-WebSocket-Version must be 13"));
        }
        let nonce = only(headers, &SEC_WEBSOCKET_KEY).filter(|nonce| is_nonce(nonce));
        let nonce = nonce.ok_or_else(|| {
            HttpError::bad_handshake("Sec-WebSocket-Key must be 16 bytes in base64")
        })?;
        if elements(headers, &SEC_WEBSOCKET_PROTOCOL).filter(|it| *it == PROTOCOL).count() != 1 {
            let message = "Sec-WebSocket-Protocol must offer svc-id-v1 exactly once";
            return Err(HttpError::bad_handshake(message));
        }
        Ok(Self { accept: accept(nonce), key: key(headers) })
    }

    /// The API key from either place; `None` if it is missing, malformed, repeated or in both
    /// places.
    pub(crate) fn key(&self) -> Option<&ApiKey> {
        self.key.as_ref()
    }

    /// The 101 response.
    pub(crate) fn accept(self) -> Answered {
        let accept = HeaderValue::try_from(self.accept)
            .map_err(|_| HttpError::internal("base64 that is not a header value"))?;
        let mut response = empty(StatusCode::SWITCHING_PROTOCOLS);
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
        Ok(response)
    }
}

fn key(headers: &HeaderMap) -> Option<ApiKey> {
    let mut offered = elements(headers, &SEC_WEBSOCKET_PROTOCOL).filter(|it| it.starts_with(KEY));
    match (offered.next(), offered.next(), headers.contains_key(AUTHORIZATION)) {
        (Some(key), None, false) => ApiKey::parse(key),
        (None, _, true) => auth::api_key(headers),
        _ => None,
    }
}

/// The elements of a list, which may be spread over several headers (RFC 9110 5.6.1).
fn elements<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter();
    let lists = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    lists.map(|element| element.trim_matches([' ', '\t'])).filter(|element| !element.is_empty())
}

fn is_nonce(text: &str) -> bool {
    STANDARD.decode(text).is_ok_and(|bytes| bytes.len() == 16)
}

/// RFC 6455 4.2.2. SHA-1 is harmless here: the value is not a secret and needs no collision
/// resistance.
fn accept(nonce: &str) -> String {
    use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
    let answer = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[nonce.as_bytes(), GUID].concat());
    STANDARD.encode(answer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_value_is_that_of_the_rfc() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
