//! HTTP replies to wallets, the same in every program.

use alloc::string::{String, ToString as _};
use core::fmt;

use serde::Serialize;

use crate::codec::json::json_text;
use crate::error::{ErrorCode, NotAnAnswer, NotFetched};
use crate::request::RequestObjectJwt;
use crate::verifier::RequestObject;
use crate::verify::Decision;

/// An HTTP reply to a wallet.
#[derive(Clone, Eq, PartialEq)]
#[must_use = "the wallet waits for its answer"]
#[non_exhaustive]
pub struct HttpReply {
    /// The status code, for example 200 or 409.
    pub status: u16,
    /// The `Content-Type`.
    pub content_type: &'static str,
    /// The `Retry-After` header in seconds, if the wallet may try again.
    pub retry_after: Option<u32>,
    /// The body. It may contain a response code or a nonce: keep it out of logs.
    pub body: String,
}

const JSON: &str = "application/json";
/// Load is often over after a second, and the person is waiting.
const RETRY_AFTER_SECS: u32 = 1;

#[derive(Serialize)]
struct Refusal<'r> {
    error: &'r str,
    message: &'r str,
}

impl HttpReply {
    /// A reply with status 200 and a JSON body.
    pub fn json(body: String) -> Self {
        Self { status: 200, content_type: JSON, retry_after: None, body }
    }

    /// A refusal: an object with `error`, the code, and `message`, a sentence for a wallet
    /// developer's log.
    pub fn refusal(code: ErrorCode, message: &str) -> Self {
        let status = code.http_status();
        let body = json_text(&Refusal { error: code.as_str(), message });
        let retry_after = (status == 503).then_some(RETRY_AFTER_SECS);
        Self { status, content_type: JSON, retry_after, body }
    }

    /// A reply with status 503, for when you cannot decide or store now. The wallet may try again.
    pub fn try_again() -> Self {
        Self::refusal(ErrorCode::TemporarilyUnavailable, "try again later")
    }

    /// All headers except the length, with lower-case names.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, String)> {
        let always = [("cache-control", "no-store"), ("content-type", self.content_type)];
        let always = always.into_iter().map(|(name, value)| (name, value.into()));
        always.chain(self.retry_after.map(|secs| ("retry-after", secs.to_string())))
    }
}

/// Omits the body, which may contain secrets.
impl fmt::Debug for HttpReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpReply({}, {} bytes)", self.status, self.body.len())
    }
}

impl Decision {
    /// The reply to the wallet, to be sent after the transition is committed: 200, or 400
    /// `invalid_presentation`, the same for every reason.
    pub fn reply(&self) -> HttpReply {
        match self.reply.body() {
            Some(body) => HttpReply::json(body),
            None => {
                HttpReply::refusal(ErrorCode::InvalidPresentation, "the presentation was refused")
            }
        }
    }
}

impl NotAnAnswer {
    /// The reply to the wallet.
    pub fn reply(&self) -> HttpReply {
        match self {
            Self::Entropy(_) => HttpReply::try_again(),
            _ => HttpReply::refusal(self.code(), &self.to_string()),
        }
    }
}

impl RequestObject {
    /// The reply to the wallet, to be sent after the transition, if there is one, is committed.
    pub fn reply(&self) -> HttpReply {
        let body = self.jwt.as_str().into();
        HttpReply { content_type: RequestObjectJwt::MEDIA_TYPE, ..HttpReply::json(body) }
    }
}

impl NotFetched {
    /// The reply to the wallet.
    pub fn reply(&self) -> HttpReply {
        match self {
            Self::Signer(_) => HttpReply::try_again(),
            _ => HttpReply::refusal(self.code(), &self.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_session_is_409_and_says_so() {
        let reply = NotAnAnswer::SessionClosed.reply();
        assert_eq!((reply.status, reply.retry_after), (409, None));
        let body = r#"{"error":"session_not_pending","message":"the session no longer accepts a response"}"#;
        assert_eq!(reply.body, body);
        let headers: alloc::vec::Vec<_> = reply.headers().collect();
        assert_eq!(headers.first(), Some(&("cache-control", "no-store".into())));
        assert_eq!(headers.len(), 2);
    }

    #[test]
    fn our_own_fault_is_503_without_its_text() {
        let signer = crate::crypto::SignerUnavailable::new("the token is locked");
        let none = crate::entropy::EntropyUnavailable::new();
        for reply in [NotFetched::Signer(signer).reply(), NotAnAnswer::Entropy(none).reply()] {
            assert_eq!((reply.status, reply.retry_after), (503, Some(1)));
            assert!(!reply.body.contains("locked"), "{}", reply.body);
            assert!(reply.headers().any(|header| header == ("retry-after", "1".into())));
        }
    }

    #[test]
    fn a_body_is_not_shown_by_debug() {
        let reply =
            HttpReply::json(r#"{"redirect_uri":"https://a.example?response_code=x"}"#.into());
        assert!(!alloc::format!("{reply:?}").contains("response_code"));
    }
}
