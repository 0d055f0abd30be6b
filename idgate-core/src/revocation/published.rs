//! The status that a credential publishes.

use super::context::{SignerStatus, Voucher};
use super::token_status_list::StatusListReference;
use crate::codec::{cbor, json};

/// The status that a credential publishes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum PublishedStatus {
    /// No `status`.
    #[default]
    None,
    /// A `status` with no known mechanism, or one that cannot be used.
    Unknown,
    /// A place in a status list, or an identifier in an identifier list.
    List(StatusListReference),
}

impl PublishedStatus {
    /// Reads the `status` member of a JWT payload (draft-ietf-oauth-status-list 6.2). Mechanisms
    /// other than the status list are alternatives for the same status, and are ignored.
    pub(crate) fn from_json(status: Option<json::Value<'_, '_>>) -> Self {
        let Some(status) = status else { return Self::None };
        let list = status.get("status_list").and_then(StatusListReference::from_json);
        list.map_or(Self::Unknown, Self::List)
    }

    /// Reads the `status` member of an MSO (draft-ietf-oauth-status-list 6.3, ISO/IEC 18013-5
    /// second edition 12.3.6). If it names a status list, the identifier list is ignored, even if
    /// the status list cannot be used: an attacker who blocks one list must not be able to choose
    /// the other.
    pub(crate) fn from_cbor(status: Option<cbor::Value<'_, '_>>) -> Self {
        let Some(status) = status else { return Self::None };
        let list = match (status.get("status_list"), status.get("identifier_list")) {
            (Some(list), _) => StatusListReference::from_cbor(list),
            (None, Some(list)) => StatusListReference::from_identifier_list(list),
            (None, None) => None,
        };
        list.map_or(Self::Unknown, Self::List)
    }
}

/// The published status of a credential and of its signer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Published {
    /// That of the credential.
    pub(crate) status: PublishedStatus,
    /// That of the certificate that signed it; `None` for a bare key.
    pub(crate) signer: Option<SignerStatus>,
    /// `None` for a bare key.
    pub(crate) voucher: Option<Voucher>,
}
