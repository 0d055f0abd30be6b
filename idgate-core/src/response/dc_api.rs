//! The answer that a page got from its browser (OpenID4VP A.4, W3C Digital Credentials API): what
//! `DigitalCredential.toJSON()` gives. What is refused here leaves the session unchanged.

use alloc::borrow::Cow;
use alloc::string::String;

use super::direct_post::{malformed, non_empty, not_json, string};
use super::vp_token::VpToken;
use crate::codec::json::{Kind, Tape, Value};
use crate::error::{ResponseError, WalletError};
use crate::limits::{MAX_ANSWER_VALUES, MAX_RESPONSE_BYTES};
use crate::response::Answer;
use crate::session::QueryLanguage;

/// A well-formed body, whatever session it is for.
pub(crate) struct DcApiAnswer<'a> {
    /// What it says that it answers.
    pub(crate) protocol: Cow<'a, str>,
    pub(crate) given: Given,
}

/// What a wallet gave to the browser.
pub(crate) enum Given {
    /// The answer itself.
    Plain(Answer<'static>),
    /// The answer as a JWE.
    Encrypted(String),
}

impl<'a> DcApiAnswer<'a> {
    /// Reads `{"protocol", "data"}`; other members are the browser's own.
    ///
    /// # Errors
    /// [`ResponseError::TooLarge`] and [`ResponseError::Malformed`].
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, ResponseError> {
        if body.len() > MAX_RESPONSE_BYTES {
            return Err(ResponseError::TooLarge);
        }
        let mut tape = Tape::holding(MAX_ANSWER_VALUES);
        let root = tape.parse(body).map_err(not_json)?;
        let root = tape.value(root);
        if root.kind() != Kind::Object {
            return malformed("the body must be a JSON object");
        }
        let missing = |what| ResponseError::Malformed(what);
        let protocol = root.get("protocol").ok_or(missing("protocol is missing"))?;
        let protocol = string(protocol, "protocol must be a string")?;
        let data = root.get("data").ok_or(missing("data is missing"))?;
        let given = match data.as_str() {
            Some(text) => given_as_text(&text)?,
            None => given(data)?,
        };
        Ok(Self { protocol, given })
    }
}

/// Reads the plaintext of an encrypted answer: a JSON object with the same members.
///
/// # Errors
/// [`ResponseError::Malformed`].
pub(super) fn from_payload(payload: &[u8]) -> Result<Answer<'static>, ResponseError> {
    let mut tape = Tape::holding(MAX_ANSWER_VALUES);
    let root = tape.parse(payload).map_err(not_json)?;
    match given(tape.value(root))? {
        Given::Plain(answer) => Ok(answer),
        Given::Encrypted(_) => malformed("the encrypted answer holds another response"),
    }
}

/// Applications of phones hand on the text that their system gives them.
fn given_as_text(text: &str) -> Result<Given, ResponseError> {
    let mut tape = Tape::holding(MAX_ANSWER_VALUES);
    match tape.parse(text.as_bytes()) {
        Ok(root) => given(tape.value(root)),
        Err(_) => malformed("data is a text that is not valid JSON"),
    }
}

/// One of `vp_token`, `response` and `error`; unknown members are ignored (RFC 6749 3.1).
fn given(data: Value<'_, '_>) -> Result<Given, ResponseError> {
    if data.kind() != Kind::Object {
        return malformed("data must be a JSON object");
    }
    // Serialisers write absent members as null.
    let member = |name| data.get(name).filter(|value| value.kind() != Kind::Null);
    match (data.get("vp_token"), member("response"), member("error")) {
        (Some(vp_token), None, None) => {
            let vp_token = VpToken::from_json(vp_token, QueryLanguage::Dcql)?.into_owned();
            Ok(Given::Plain(Answer::Presentation { vp_token, submission: None }))
        }
        (None, Some(response), None) => {
            let response = string(response, "response must be a string")?;
            non_empty(&response, "response is empty")?;
            Ok(Given::Encrypted(response.into_owned()))
        }
        (None, None, Some(error)) => {
            let error = string(error, "error must be a string")?;
            non_empty(&error, "error is empty")?;
            Ok(Given::Plain(Answer::Error(WalletError::of(&error))))
        }
        (None, None, None) => malformed("data has none of vp_token, response and error"),
        _ => malformed("vp_token, response and error exclude each other"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(body: &str, rule: &str) {
        match DcApiAnswer::parse(body.as_bytes()) {
            Err(ResponseError::Malformed(text)) => assert!(text.contains(rule), "{body}: {text}"),
            _ => panic!("{body}"),
        }
    }

    fn data(data: &str) -> String {
        format!(r#"{{"protocol":"p","data":{data}}}"#)
    }

    #[test]
    fn an_answer_is_an_object_or_a_text_that_holds_one() {
        for (given, expected) in [
            (r#"{"response":"a.b.c.d.e"}"#, "a.b.c.d.e"),
            (r#""{\"response\":\"a.b.c.d.e\"}""#, "a.b.c.d.e"),
            (r#"{"response":"j","error":null,"state":"s","id":1}"#, "j"),
        ] {
            let body = data(given);
            let answer = DcApiAnswer::parse(body.as_bytes()).unwrap();
            assert_eq!(answer.protocol, "p");
            assert!(matches!(answer.given, Given::Encrypted(jwe) if jwe == expected), "{given}");
        }
        let with_more =
            r#"{"id":"","type":"digital","protocol":"p","data":{"vp_token":{"a":["b"]}}}"#;
        let answer = DcApiAnswer::parse(with_more.as_bytes()).unwrap();
        assert!(matches!(answer.given, Given::Plain(Answer::Presentation { .. })));
        let body = data(r#"{"error":"access_denied"}"#);
        let declined = DcApiAnswer::parse(body.as_bytes()).unwrap().given;
        assert!(matches!(declined, Given::Plain(Answer::Error(WalletError::AccessDenied))));
    }

    #[test]
    fn an_envelope_without_its_parts_is_refused() {
        refused("", "not valid JSON");
        refused("[]", "must be a JSON object");
        refused(r#"{"a":1,"a":1}"#, "names a JSON member twice");
        refused(r#"{"data":{"response":"j"}}"#, "protocol is missing");
        refused(r#"{"protocol":1,"data":{"response":"j"}}"#, "protocol must be a string");
        refused(r#"{"protocol":"p"}"#, "data is missing");
        refused(&data("null"), "data must be a JSON object");
        refused(&data(r#"["j"]"#), "data must be a JSON object");
        refused(&data(r#""a.b.c.d.e""#), "not valid JSON");
        refused(&data(r#""[]""#), "data must be a JSON object");
    }

    #[test]
    fn data_is_one_kind_of_answer() {
        refused(&data("{}"), "none of vp_token");
        refused(&data(r#"{"response":null,"error":null}"#), "none of vp_token");
        for two in [
            r#"{"response":"j","error":"access_denied"}"#,
            r#"{"response":"j","vp_token":{}}"#,
            r#"{"vp_token":{},"error":"access_denied"}"#,
        ] {
            refused(&data(two), "exclude each other");
        }
        refused(&data(r#"{"response":7}"#), "response must be a string");
        refused(&data(r#"{"response":""}"#), "response is empty");
        refused(&data(r#"{"error":{}}"#), "error must be a string");
        refused(&data(r#"{"error":""}"#), "error is empty");
    }

    #[test]
    fn an_answer_of_the_other_query_language_is_refused() {
        for vp_token in [r#""a~b~""#, r#"["a~b~"]"#, "null"] {
            refused(&data(&format!(r#"{{"vp_token":{vp_token}}}"#)), "vp_token must be an object");
        }
    }

    #[test]
    fn an_answer_over_1_mib_is_refused() {
        let body = vec![b' '; MAX_RESPONSE_BYTES + 1];
        assert!(matches!(DcApiAnswer::parse(&body), Err(ResponseError::TooLarge)));
    }

    #[test]
    fn a_payload_holds_no_further_response() {
        assert!(from_payload(br#"{"vp_token":{},"state":"of nobody"}"#).is_ok());
        for (bad, rule) in [
            (r#"{"response":"a.b.c.d.e"}"#, "another response"),
            ("vp_token", "not valid JSON"),
            ("{}", "none of vp_token"),
        ] {
            let refused = from_payload(bad.as_bytes());
            assert!(matches!(refused, Err(ResponseError::Malformed(text)) if text.contains(rule)));
        }
    }
}
