//! A wallet's answer, from bytes to one presentation per requested credential.

mod direct_post;
mod direct_post_jwt;
mod submission;

pub(crate) use self::direct_post::{DirectPost, Posted, VpToken};
pub(crate) use self::direct_post_jwt::{AnswerEncryption, unpack};
pub(crate) use self::submission::assign;
use crate::error::ResponseError;
pub(crate) use crate::request::with_response_code;

/// An answer as it came in; nothing in it is trusted.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct WalletResponse<'a> {
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

impl<'a> WalletResponse<'a> {
    /// An answer of that media type.
    pub fn new(content_type: Option<&'a str>, body: &'a [u8]) -> Self {
        Self { content_type, body }
    }

    /// Size and syntax, for an answer to a session that does not exist: what is wrong with the
    /// answer itself is said first (decisions 6).
    ///
    /// # Errors
    /// The answer is too large or not well-formed.
    pub fn check_syntax(self) -> Result<(), ResponseError> {
        Posted::parse(self).map(drop)
    }
}

impl core::fmt::Debug for WalletResponse<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "WalletResponse({} bytes)", self.body.len())
    }
}
