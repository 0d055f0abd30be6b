//! `direct_post` and `direct_post.jwt`: form and JSON bodies (OpenID4VP 8.2, 8.3). A refusal here
//! leaves the session unchanged. The query that was sent decides the shape of `vp_token`, never the
//! answer.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use super::vp_token::VpToken;
use crate::codec::form;
use crate::codec::json::{JsonError, Kind, Tape, Value};
use crate::error::{NotAnAnswer, WalletError};
use crate::limits::{MAX_ANSWER_VALUES, MAX_RESPONSE_BYTES};
use crate::response::Answer;
use crate::session::QueryLanguage;

/// A well-formed body; the session is not checked yet.
#[derive(Debug)]
pub(crate) enum Posted<'a> {
    /// The answer itself.
    Plain(DirectPost<'a>),
    /// The answer as a JWE.
    Encrypted(EncryptedPost<'a>),
}

/// `response`, and `state` if the wallet repeats it outside.
pub(crate) struct EncryptedPost<'a> {
    pub(crate) response: Cow<'a, str>,
    pub(crate) state: Option<Cow<'a, str>>,
}

/// A well-formed answer, and the `state` of the request that it answers.
pub(crate) struct DirectPost<'a> {
    pub(crate) state: Cow<'a, str>,
    pub(crate) answer: Content<'a>,
}

/// The content of a wallet's answer, in every response mode.
pub(crate) enum Content<'a> {
    /// `vp_token` and, under Presentation Exchange, `presentation_submission`.
    Presentation {
        vp_token: VpToken<'a>,
        /// JSON text of an object; `None`: `vp_token` itself names the queries.
        submission: Option<String>,
    },
    /// A DeviceResponse by itself (ISO/IEC TS 18013-7 Annex C).
    DeviceResponse(Zeroizing<Vec<u8>>),
    /// `error`: the wallet could not or would not present anything.
    Error(WalletError),
}

/// Omits the tokens.
impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Presentation { .. } => "Presentation",
            Self::DeviceResponse(_) => "DeviceResponse",
            Self::Error(_) => "Error",
        })
    }
}

/// Omits the state as well.
impl fmt::Debug for DirectPost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.answer.fmt(f)
    }
}

/// Omits the answer.
impl fmt::Debug for EncryptedPost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptedPost")
    }
}

impl DirectPost<'_> {
    /// Reads the plaintext of an encrypted answer: a JSON object with the same parameters.
    ///
    /// # Errors
    /// [`NotAnAnswer::Malformed`].
    pub(crate) fn from_payload(
        payload: &[u8],
        query: QueryLanguage,
    ) -> Result<DirectPost<'static>, NotAnAnswer> {
        match parse_json(payload, query)? {
            Posted::Plain(answer) => Ok(answer.into_owned()),
            Posted::Encrypted(_) => malformed("the encrypted answer contains another response"),
        }
    }

    fn into_owned(self) -> DirectPost<'static> {
        DirectPost { state: owned(self.state), answer: self.answer.into_owned() }
    }
}

impl Content<'_> {
    pub(super) fn into_owned(self) -> Content<'static> {
        match self {
            Self::Presentation { vp_token, submission } => {
                Content::Presentation { vp_token: vp_token.into_owned(), submission }
            }
            Self::DeviceResponse(bytes) => Content::DeviceResponse(bytes),
            Self::Error(error) => Content::Error(error),
        }
    }
}

pub(super) fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl<'a> Posted<'a> {
    /// Reads a body that answers a request in this query language.
    ///
    /// # Errors
    /// [`NotAnAnswer::TooLarge`] and [`NotAnAnswer::Malformed`].
    pub(crate) fn parse(response: Answer<'a>, query: QueryLanguage) -> Result<Self, NotAnAnswer> {
        if response.body.len() > MAX_RESPONSE_BYTES {
            return Err(NotAnAnswer::TooLarge);
        }
        match MediaType::of(response.content_type) {
            Some(MediaType::Form) => parse_form(response.body, query),
            Some(MediaType::Json) => parse_json(response.body, query),
            None => Err(NotAnAnswer::Malformed(
                "Content-Type must be application/x-www-form-urlencoded or application/json",
            )),
        }
    }

    fn plain(state: Cow<'a, str>, answer: Content<'a>) -> Self {
        Self::Plain(DirectPost { state, answer })
    }
}

enum MediaType {
    Form,
    Json,
}

impl MediaType {
    /// Parameters such as `charset` are allowed and ignored: both types are UTF-8.
    fn of(content_type: Option<&str>) -> Option<Self> {
        let essence = content_type?.split(';').next()?.trim_matches([' ', '\t']);
        if essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            Some(Self::Form)
        } else if essence.eq_ignore_ascii_case("application/json") {
            Some(Self::Json)
        } else {
            None
        }
    }
}

/// The parameters of the body. Unknown ones are ignored (RFC 6749 3.1).
struct Parameters<T> {
    vp_token: Option<T>,
    presentation_submission: Option<T>,
    state: Option<T>,
    error: Option<T>,
    response: Option<T>,
}

const PARAMETERS: [&str; 5] = ["vp_token", "presentation_submission", "state", "error", "response"];

enum Kept<T> {
    Presentation { vp_token: T, presentation_submission: Option<T>, state: T },
    Error { error: T, state: T },
    Encrypted { response: T, state: Option<T> },
}

impl<T> Parameters<T> {
    fn slot(&mut self, name: &str) -> Option<&mut Option<T>> {
        match name {
            "vp_token" => Some(&mut self.vp_token),
            "presentation_submission" => Some(&mut self.presentation_submission),
            "state" => Some(&mut self.state),
            "error" => Some(&mut self.error),
            "response" => Some(&mut self.response),
            _ => None,
        }
    }

    /// A presentation, an error or an encrypted answer, each with the parameters that it needs. A
    /// submission that the query does not need is ignored like any unknown parameter (RFC 6749
    /// 3.1).
    fn choose(self, query: QueryLanguage) -> Result<Kept<T>, NotAnAnswer> {
        if let Some(response) = self.response {
            if self.vp_token.is_some() || self.error.is_some() {
                return malformed("response excludes vp_token and error");
            }
            return Ok(Kept::Encrypted { response, state: self.state });
        }
        let Some(state) = self.state else { return malformed("state is missing") };
        let vp_token = match (self.vp_token, self.error) {
            (Some(_), Some(_)) => return malformed("error and vp_token exclude each other"),
            (None, Some(error)) => return Ok(Kept::Error { error, state }),
            (None, None) => return malformed("vp_token is missing"),
            (Some(vp_token), None) => vp_token,
        };
        let presentation_submission = match (query, self.presentation_submission) {
            (QueryLanguage::Dcql, _) => None,
            (QueryLanguage::PresentationExchange, None) => {
                return malformed("presentation_submission is missing");
            }
            (QueryLanguage::PresentationExchange, submission) => submission,
        };
        Ok(Kept::Presentation { vp_token, presentation_submission, state })
    }
}

impl<T> Default for Parameters<T> {
    fn default() -> Self {
        Self {
            vp_token: None,
            presentation_submission: None,
            state: None,
            error: None,
            response: None,
        }
    }
}

pub(super) fn malformed<T>(what: &'static str) -> Result<T, NotAnAnswer> {
    Err(NotAnAnswer::Malformed(what))
}

fn parse_form(body: &[u8], query: QueryLanguage) -> Result<Posted<'_>, NotAnAnswer> {
    let Ok(body) = core::str::from_utf8(body) else { return malformed("the body is not UTF-8") };
    if body.ends_with(form::LINE_BREAKS) {
        return malformed(form::LINE_BREAK_BEHIND);
    }
    let mut parameters = Parameters::default();
    for pair in form::pairs(body) {
        let Ok((name, value)) = pair else { return malformed("the form is not well-formed") };
        if let Some(slot) = parameters.slot(&name)
            && slot.replace(value).is_some()
        {
            return malformed("a parameter is repeated");
        }
    }
    match parameters.choose(query)? {
        Kept::Error { error, state } => {
            non_empty(&error, "error is empty")?;
            non_empty(&state, "state is empty")?;
            Ok(Posted::plain(state, Content::Error(WalletError::of(&error))))
        }
        Kept::Presentation { vp_token, presentation_submission, state } => {
            non_empty(&state, "state is empty")?;
            let vp_token = VpToken::from_text(vp_token, query)?;
            let submission =
                presentation_submission.map(|text| submission_from_text(&text)).transpose()?;
            Ok(Posted::plain(state, Content::Presentation { vp_token, submission }))
        }
        Kept::Encrypted { response, state } => {
            non_empty(&response, "response is empty")?;
            if let Some(state) = &state {
                non_empty(state, "state is empty")?;
            }
            Ok(Posted::Encrypted(EncryptedPost { response, state }))
        }
    }
}

fn parse_json(body: &[u8], query: QueryLanguage) -> Result<Posted<'_>, NotAnAnswer> {
    let mut tape = Tape::holding(MAX_ANSWER_VALUES);
    let root = tape.parse(body).map_err(not_json)?;
    let Some(members) = tape.value(root).members() else {
        return malformed("the body must be a JSON object");
    };
    let mut parameters = Parameters::default();
    for (name, value) in members {
        // Serialisers write absent parameters as null.
        if value.kind() == Kind::Null && (name.is("error") || name.is("response")) {
            continue;
        }
        let known = PARAMETERS.into_iter().find(|known| name.is(known));
        if let Some(slot) = known.and_then(|known| parameters.slot(known)) {
            *slot = Some(value);
        }
    }
    match parameters.choose(query)? {
        Kept::Error { error, state } => {
            let error = string(error, "error must be a string")?;
            non_empty(&error, "error is empty")?;
            Ok(Posted::plain(state_of(state)?, Content::Error(WalletError::of(&error))))
        }
        Kept::Presentation { vp_token, presentation_submission, state } => {
            let state = state_of(state)?;
            let vp_token = VpToken::from_json(vp_token, query)?;
            let submission = presentation_submission.map(submission_from_json).transpose()?;
            Ok(Posted::plain(state, Content::Presentation { vp_token, submission }))
        }
        Kept::Encrypted { response, state } => {
            let response = string(response, "response must be a string")?;
            non_empty(&response, "response is empty")?;
            let state = state.map(state_of).transpose()?;
            Ok(Posted::Encrypted(EncryptedPost { response, state }))
        }
    }
}

/// Describes what is wrong with a JSON body.
pub(super) fn not_json(error: JsonError) -> NotAnAnswer {
    NotAnAnswer::Malformed(match error {
        JsonError::DuplicateName => "the body names a JSON member twice",
        JsonError::TooDeep => "the body nests JSON deeper than 32",
        JsonError::TooMany => {
            "the body has more than 4096 JSON values, or 16 KiB of names with escapes"
        }
        JsonError::NumberRange => "the body has a number outside the range of a double",
        _ => "the body is not valid JSON",
    })
}

pub(super) fn string<'a>(
    value: Value<'_, 'a>,
    or: &'static str,
) -> Result<Cow<'a, str>, NotAnAnswer> {
    value.as_str().ok_or(NotAnAnswer::Malformed(or))
}

pub(super) fn non_empty(text: &str, or: &'static str) -> Result<(), NotAnAnswer> {
    if text.is_empty() { malformed(or) } else { Ok(()) }
}

fn state_of<'a>(value: Value<'_, 'a>) -> Result<Cow<'a, str>, NotAnAnswer> {
    let state = string(value, "state must be a string")?;
    non_empty(&state, "state is empty")?;
    Ok(state)
}

/// Reads an object, or a string that contains one.
fn submission_from_json(value: Value<'_, '_>) -> Result<String, NotAnAnswer> {
    if let Some(text) = value.as_str() {
        return submission_from_text(&text);
    }
    if value.kind() != Kind::Object {
        return malformed("presentation_submission must be an object");
    }
    let mut submission = String::new();
    value.write_source(&mut submission);
    Ok(submission)
}

fn submission_from_text(text: &str) -> Result<String, NotAnAnswer> {
    let mut tape = Tape::holding(MAX_ANSWER_VALUES);
    match tape.parse(text.as_bytes()) {
        Ok(id) if tape.value(id).kind() == Kind::Object => Ok(String::from(text)),
        Ok(_) => malformed("presentation_submission must be an object"),
        Err(_) => malformed("presentation_submission is not valid JSON"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
