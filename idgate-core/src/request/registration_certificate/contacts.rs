//! The contacts for people in a registration certificate (ETSI TS 119 475 5.2.4, table 7).

use alloc::string::String;

use super::{RegistrationError, text_of};
use crate::codec::json::Value;
use crate::limits::MAX_CONTACT_CHARS;

/// The contacts to request deletion of data, and to report a request that asks for too much.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Contacts {
    /// `support_uri`: the address of a page or of mail, for the deletion of data.
    pub deletion: Option<String>,
    /// `supervisory_authority.uri`
    pub authority_uri: Option<String>,
    /// `supervisory_authority.email`
    pub authority_email: Option<String>,
    /// `supervisory_authority.phone`
    pub authority_phone: Option<String>,
}

impl Contacts {
    /// Reads the contacts from the payload, each a text that a page can show.
    pub(super) fn checked(payload: Value<'_, '_>) -> Result<Self, RegistrationError> {
        const AUTHORITY: &str = "supervisory_authority";
        let authority = payload.get(AUTHORITY);
        if authority.is_some_and(|authority| authority.members().is_none()) {
            return Err(RegistrationError::Member(AUTHORITY));
        }
        let of_authority = |member: &str, name: &'static str| {
            shown(authority.and_then(|authority| authority.get(member)), name)
        };
        Ok(Self {
            deletion: shown(payload.get("support_uri"), "support_uri")?,
            authority_uri: of_authority("uri", "supervisory_authority.uri")?,
            authority_email: of_authority("email", "supervisory_authority.email")?,
            authority_phone: of_authority("phone", "supervisory_authority.phone")?,
        })
    }
}

/// A text of one line. An empty text counts as absent: some registrars write empty texts.
fn shown(
    value: Option<Value<'_, '_>>,
    name: &'static str,
) -> Result<Option<String>, RegistrationError> {
    let Some(value) = value else { return Ok(None) };
    let text = text_of(value).ok_or(RegistrationError::Member(name))?;
    if text.chars().count() > MAX_CONTACT_CHARS || text.chars().any(char::is_control) {
        return Err(RegistrationError::Member(name));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}
