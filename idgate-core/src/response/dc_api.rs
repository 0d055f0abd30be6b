//! The answer that a page receives from its browser (OpenID4VP A.4, W3C Digital Credentials API):
//! the result of `DigitalCredential.toJSON()`. A refusal here leaves the session unchanged.

use alloc::borrow::Cow;
use alloc::string::String;

use super::direct_post::{malformed, non_empty, not_json, string};
use super::vp_token::VpToken;
use crate::codec::json::{Kind, Tape, Value};
use crate::error::{NotAnAnswer, WalletError};
use crate::limits::{MAX_ANSWER_VALUES, MAX_RESPONSE_BYTES};
use crate::response::Content;
use crate::session::QueryLanguage;

/// A well-formed body; the session is not checked yet.
pub(crate) struct DcApiAnswer<'a> {
    /// The protocol that the body claims to answer.
    pub(crate) protocol: Cow<'a, str>,
    pub(crate) given: Given,
}

/// The wallet's data. Only an error may be plain, because the wallet may not be able to encrypt.
pub(crate) enum Given {
    /// The answer as a JWE.
    Encrypted(String),
    Error(WalletError),
}

impl<'a> DcApiAnswer<'a> {
    /// Reads `{"protocol", "data"}`; other members belong to the browser.
    ///
    /// # Errors
    /// [`NotAnAnswer::TooLarge`] and [`NotAnAnswer::Malformed`].
    pub(crate) fn parse(body: &'a [u8]) -> Result<Self, NotAnAnswer> {
        if body.len() > MAX_RESPONSE_BYTES {
            return Err(NotAnAnswer::TooLarge);
        }
        let mut tape = Tape::holding(MAX_ANSWER_VALUES);
        let root = tape.parse(body).map_err(not_json)?;
        let root = tape.value(root);
        if root.kind() != Kind::Object {
            return malformed("the body must be a JSON object");
        }
        let missing = |what| NotAnAnswer::Malformed(what);
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

/// Reads the plaintext of an encrypted answer: a JSON object with `vp_token` or `error`.
///
/// # Errors
/// [`NotAnAnswer::Malformed`].
pub(super) fn from_payload(payload: &[u8]) -> Result<Content<'static>, NotAnAnswer> {
    let mut tape = Tape::holding(MAX_ANSWER_VALUES);
    let root = tape.parse(payload).map_err(not_json)?;
    let payload = tape.value(root);
    if payload.kind() != Kind::Object {
        return malformed("the encrypted answer must be a JSON object");
    }
    match (payload.get("vp_token"), member(payload, "error")) {
        (Some(vp_token), None) => {
            let vp_token = VpToken::from_json(vp_token, QueryLanguage::Dcql)?.into_owned();
            Ok(Content::Presentation { vp_token, submission: None })
        }
        (None, Some(error)) => Ok(Content::Error(wallet_error(error)?)),
        (None, None) => malformed("the encrypted answer has neither vp_token nor error"),
        (Some(_), Some(_)) => malformed("vp_token and error exclude each other"),
    }
}

/// Some phone platforms give applications the data as a text.
fn given_as_text(text: &str) -> Result<Given, NotAnAnswer> {
    let mut tape = Tape::holding(MAX_ANSWER_VALUES);
    match tape.parse(text.as_bytes()) {
        Ok(root) => given(tape.value(root)),
        Err(_) => malformed("data is a text that is not valid JSON"),
    }
}

/// Reads `response` or `error`. Unknown members are ignored (RFC 6749 3.1), except a plain
/// presentation, which anyone on the way could have read.
fn given(data: Value<'_, '_>) -> Result<Given, NotAnAnswer> {
    if data.kind() != Kind::Object {
        return malformed("data must be a JSON object");
    }
    if member(data, "vp_token").is_some() {
        return malformed("vp_token must be encrypted; data expects response");
    }
    match (member(data, "response"), member(data, "error")) {
        (Some(response), None) => {
            let response = string(response, "response must be a string")?;
            non_empty(&response, "response is empty")?;
            Ok(Given::Encrypted(response.into_owned()))
        }
        (None, Some(error)) => Ok(Given::Error(wallet_error(error)?)),
        (None, None) => malformed("data has neither response nor error"),
        (Some(_), Some(_)) => malformed("response and error exclude each other"),
    }
}

fn wallet_error(error: Value<'_, '_>) -> Result<WalletError, NotAnAnswer> {
    let error = string(error, "error must be a string")?;
    non_empty(&error, "error is empty")?;
    Ok(WalletError::of(&error))
}

/// A member that is present: serialisers write absent ones as null.
fn member<'v, 'a>(object: Value<'v, 'a>, name: &str) -> Option<Value<'v, 'a>> {
    object.get(name).filter(|value| value.kind() != Kind::Null)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(body: &str, rule: &str) {
        match DcApiAnswer::parse(body.as_bytes()) {
            Err(NotAnAnswer::Malformed(text)) => assert!(text.contains(rule), "{body}: {text}"),
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
        let with_more = r#"{"id":"","type":"digital","protocol":"p","data":{"response":"j"}}"#;
        let answer = DcApiAnswer::parse(with_more.as_bytes()).unwrap();
        assert!(matches!(answer.given, Given::Encrypted(jwe) if jwe == "j"));
        let body = data(r#"{"error":"access_denied"}"#);
        let declined = DcApiAnswer::parse(body.as_bytes()).unwrap().given;
        assert!(matches!(declined, Given::Error(WalletError::AccessDenied)));
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
        refused(&data("{}"), "neither response nor error");
        refused(&data(r#"{"response":null,"error":null}"#), "neither response nor error");
        refused(&data(r#"{"response":"j","error":"access_denied"}"#), "exclude each other");
        refused(&data(r#"{"response":7}"#), "response must be a string");
        refused(&data(r#"{"response":""}"#), "response is empty");
        refused(&data(r#"{"error":{}}"#), "error must be a string");
        refused(&data(r#"{"error":""}"#), "error is empty");
    }

    #[test]
    fn a_presentation_is_never_plain() {
        for plain in [
            r#"{"vp_token":{"a":["b"]}}"#,
            r#"{"vp_token":{},"response":"j"}"#,
            r#"{"vp_token":"a~b~","error":"access_denied"}"#,
            r#""{\"vp_token\":{}}""#,
        ] {
            refused(&data(plain), "vp_token must be encrypted");
        }
    }

    #[test]
    fn an_answer_over_1_mib_is_refused() {
        let body = vec![b' '; MAX_RESPONSE_BYTES + 1];
        assert!(matches!(DcApiAnswer::parse(&body), Err(NotAnAnswer::TooLarge)));
    }

    #[test]
    fn a_payload_is_a_presentation_or_an_error() {
        let presented = from_payload(br#"{"vp_token":{},"error":null,"state":"of nobody"}"#);
        assert!(matches!(presented, Ok(Content::Presentation { .. })));
        let declined = from_payload(br#"{"error":"access_denied"}"#);
        assert!(matches!(declined, Ok(Content::Error(WalletError::AccessDenied))));
        for (bad, rule) in [
            ("vp_token", "not valid JSON"),
            ("[]", "must be a JSON object"),
            ("{}", "neither vp_token nor error"),
            (r#"{"response":"a.b.c.d.e"}"#, "neither vp_token nor error"),
            (r#"{"vp_token":{},"error":"access_denied"}"#, "exclude each other"),
            (r#"{"vp_token":"a~b~"}"#, "vp_token must be an object"),
            (r#"{"vp_token":["a~b~"]}"#, "vp_token must be an object"),
            (r#"{"vp_token":null}"#, "vp_token must be an object"),
            (r#"{"error":""}"#, "error is empty"),
        ] {
            let refused = from_payload(bad.as_bytes());
            assert!(matches!(refused, Err(NotAnAnswer::Malformed(text)) if text.contains(rule)));
        }
    }
}
