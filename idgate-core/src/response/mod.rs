//! A wallet's answer, from bytes to one presentation per requested credential.

mod captured;
mod dc_api;
mod dcql;
mod device_response;
mod direct_post;
mod direct_post_jwt;
mod encrypted_mdoc;
mod submission;
mod vp_token;

use alloc::vec::Vec;

pub use self::captured::CapturedAnswer;
pub(crate) use self::dc_api::DcApiAnswer;
pub(crate) use self::device_response::answered;
pub(crate) use self::direct_post::{Content, DirectPost, Posted};
pub(crate) use self::direct_post_jwt::{AnswerEncryption, unpack, unpack_dc_api};
pub(crate) use self::encrypted_mdoc::{HpkeRecipient, unpack_iso_mdoc};
pub(crate) use self::vp_token::VpToken;
#[cfg(doc)]
use crate::error::Reason;
use crate::error::{NotAnAnswer, VerifyError};
use crate::request::PresentationRequest;
pub(crate) use crate::request::with_response_code;
use crate::session::QueryLanguage;

/// A received answer; its content is untrusted.
///
/// ```
/// use idgate_core::Answer;
/// # fn example(to: &str, content_type: Option<&str>, body: &[u8]) {
/// // POST /v1/oid4vp/response/{to}
/// let posted = Answer { to, content_type, body };
/// // Your page sends the answer that its browser gave it.
/// let brought = Answer::dc_api(body);
/// # }
/// ```
#[derive(Clone, Copy)]
#[allow(clippy::exhaustive_structs)] // named members cannot be confused, and a wallet sends no more
pub struct Answer<'a> {
    /// The last segment of the path that the wallet posted to: the id of a session or of an offer.
    pub to: &'a str,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// The destination of an answer that a page sends. Its address is compared, so no text that arrives
/// in a path equals it. Two statics never share an address.
static BROWSERS: &str = match core::str::from_utf8(&BROWSER_BYTES) {
    Ok(text) => text,
    Err(_) => "",
};
const _: () = assert!(!BROWSERS.is_empty(), "the bytes are a text");
static BROWSER_BYTES: [u8; 21] = *b"the browser of a page";

impl<'a> Answer<'a> {
    /// An answer that a page received from its browser: the JSON text of
    /// `DigitalCredential.toJSON()`, an object with `protocol` and `data`.
    pub fn dc_api(body: &'a [u8]) -> Self {
        Self { to: BROWSERS, content_type: None, body }
    }

    pub(crate) fn is_from_browser(self) -> bool {
        core::ptr::eq(self.to, BROWSERS)
    }

    /// Checks size and syntax, for an answer to a session that does not exist: faults of the answer
    /// itself are reported first.
    ///
    /// # Errors
    /// The answer is too large or not well-formed.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn check_syntax(self) -> Result<(), NotAnAnswer> {
        Posted::parse(self, QueryLanguage::PresentationExchange).map(drop)
    }

    /// The same if sessions have these query languages: the answer must fit one of them.
    ///
    /// # Errors
    /// The answer is too large, or is well-formed in none of the languages.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn check_syntax_of(self, queries: &[QueryLanguage]) -> Result<(), NotAnAnswer> {
        let mut refused = None;
        for query in queries {
            match Posted::parse(self, *query) {
                Ok(_) => return Ok(()),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        refused.map_or(Ok(()), Err)
    }
}

impl core::fmt::Debug for Answer<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Answer({} bytes)", self.body.len())
    }
}

/// Returns the presentation for each credential of `request`, in its order; `None`: it is absent,
/// which the request allows. Only a request with a presentation definition has a submission.
///
/// # Errors
/// [`Reason::SubmissionMismatch`], [`Reason::MalformedPresentation`] and [`Reason::LimitExceeded`].
pub(crate) fn assign<'r>(
    request: &PresentationRequest,
    definition_id: &str,
    vp_token: &'r VpToken<'_>,
    submission: Option<&str>,
) -> Result<Vec<Option<&'r str>>, VerifyError> {
    match submission {
        None => dcql::assign(request, vp_token),
        Some(submission) => {
            let tokens = submission::assign(request, definition_id, vp_token, submission)?;
            Ok(tokens.into_iter().map(Some).collect())
        }
    }
}
