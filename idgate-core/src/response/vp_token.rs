//! `vp_token` in the shape of each query language.

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;

use super::direct_post::{malformed, non_empty, owned, string};
use crate::codec::json::{Tape, Value};
use crate::error::NotAnAnswer;
use crate::limits::MAX_ANSWER_VALUES;
use crate::session::QueryLanguage;

/// The content of `vp_token`.
pub(crate) enum VpToken<'a> {
    /// A non-empty string.
    One(Cow<'a, str>),
    /// A non-empty array of non-empty strings.
    Several(Vec<Cow<'a, str>>),
    /// An object: the presentations under each id of the query. The ids are not checked yet, and
    /// the lists may be empty.
    Map(Vec<(Cow<'a, str>, Vec<Given<'a>>)>),
}

/// A received presentation; `None`: it is not a string.
pub(crate) type Given<'a> = Option<Cow<'a, str>>;

impl<'a> VpToken<'a> {
    /// Reads a member of a JSON body.
    pub(super) fn from_json(
        value: Value<'_, 'a>,
        query: QueryLanguage,
    ) -> Result<Self, NotAnAnswer> {
        match query {
            QueryLanguage::PresentationExchange => list(value),
            QueryLanguage::Dcql => map(value),
        }
    }

    /// Reads a form parameter. Its text is JSON, except for a single token under Presentation
    /// Exchange. Wallets put arrays into forms as JSON text, and some put quotes around a single
    /// token. No presentation begins like JSON.
    pub(super) fn from_text(text: Cow<'a, str>, query: QueryLanguage) -> Result<Self, NotAnAnswer> {
        non_empty(&text, "vp_token is empty")?;
        let is_json = text.trim_start().starts_with(['[', '"', '{']);
        if query == QueryLanguage::PresentationExchange && !is_json {
            return Ok(Self::One(text));
        }
        let mut tape = Tape::holding(MAX_ANSWER_VALUES);
        let Ok(id) = tape.parse(text.as_bytes()) else {
            return malformed("vp_token is not valid JSON");
        };
        VpToken::from_json(tape.value(id), query).map(VpToken::into_owned)
    }

    pub(super) fn into_owned(self) -> VpToken<'static> {
        match self {
            Self::One(token) => VpToken::One(owned(token)),
            Self::Several(tokens) => VpToken::Several(tokens.into_iter().map(owned).collect()),
            Self::Map(answers) => {
                let list = |list: Vec<Given<'a>>| list.into_iter().map(|p| p.map(owned)).collect();
                let answers = answers.into_iter();
                VpToken::Map(answers.map(|(id, presented)| (owned(id), list(presented))).collect())
            }
        }
    }
}

/// A string or an array of strings.
fn list<'a>(value: Value<'_, 'a>) -> Result<VpToken<'a>, NotAnAnswer> {
    const RULE: &str = "vp_token must be a string or an array of strings";
    const EMPTY: &str = "vp_token is empty";
    let Some(elements) = value.elements() else {
        let token = string(value, RULE)?;
        non_empty(&token, EMPTY)?;
        return Ok(VpToken::One(token));
    };
    let mut tokens = Vec::new();
    for element in elements {
        let token = string(element, RULE)?;
        non_empty(&token, EMPTY)?;
        tokens.push(token);
    }
    if tokens.is_empty() { malformed(EMPTY) } else { Ok(VpToken::Several(tokens)) }
}

/// An object. A bare value counts as an array with one element, as in drafts 22 to 24.
fn map<'a>(value: Value<'_, 'a>) -> Result<VpToken<'a>, NotAnAnswer> {
    let Some(members) = value.members() else {
        return malformed("vp_token must be an object: the ids of the query, each with its answer");
    };
    let presented = |value: Value<'_, 'a>| match value.elements() {
        Some(elements) => elements.map(Value::as_str).collect(),
        None => vec![value.as_str()],
    };
    Ok(VpToken::Map(members.map(|(id, value)| (id.unescape(), presented(value))).collect()))
}
