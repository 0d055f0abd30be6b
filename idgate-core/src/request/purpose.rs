//! The tenant's purpose, in words for the page that shows the request to a person.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::fields::Field;
use crate::error::RequestError;
use crate::limits::MAX_PURPOSE_CHARS;

/// The languages of pages (ISO 639-1). The first is required.
const LANGUAGES: [&str; 8] = ["en", "de", "fr", "es", "it", "nl", "pl", "pt"];

/// The tenant's purpose, in one or more languages.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Purpose(Vec<(String, String)>);

impl Purpose {
    /// The text in `language`, otherwise in English, preceded by its language.
    pub(super) fn in_language(&self, language: &str) -> Option<(&str, &str)> {
        let given = |language| self.0.iter().find(|(of, _)| of == language);
        let (of, text) = given(language).or_else(|| given("en"))?;
        Some((of, text))
    }

    /// Reads an object that maps languages to texts.
    pub(super) fn parse(field: &Field<'_, '_>) -> Result<Self, RequestError> {
        field.refuse_unknown(&LANGUAGES)?;
        field.required("en")?;
        let given =
            LANGUAGES.iter().filter_map(|language| Some((language, field.member(language)?)));
        let texts = given.map(|(language, text)| Ok(((*language).to_owned(), text_of(&text)?)));
        texts.collect::<Result<_, _>>().map(Self)
    }
}

fn text_of(field: &Field<'_, '_>) -> Result<String, RequestError> {
    let text = field.string()?;
    let has_form = !text.trim().is_empty() && !text.chars().any(char::is_control);
    if !has_form || text.chars().count() > MAX_PURPOSE_CHARS {
        return Err(field.invalid("must have 1 to 300 characters and no control characters"));
    }
    Ok(text.trim().to_owned())
}
