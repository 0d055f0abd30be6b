//! What a credential publishes about its status.

use super::context::{SignerStatus, Voucher};
use super::token_status_list::StatusListReference;
use crate::codec::{cbor, json};

/// What a credential publishes about its status.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum PublishedStatus {
    /// No `status`.
    #[default]
    None,
    /// A `status` of no known mechanism, or one that cannot be followed.
    Unknown,
    /// A place in a status list, or an identifier in an identifier list.
    List(StatusListReference),
}

impl PublishedStatus {
    /// From the `status` member of a JWT payload (draft-ietf-oauth-status-list 6.2). Mechanisms
    /// beside the status list are other ways to the same status, and are left alone.
    pub(crate) fn from_json(status: Option<json::Value<'_, '_>>) -> Self {
        let Some(status) = status else { return Self::None };
        let list = status.get("status_list").and_then(StatusListReference::from_json);
        list.map_or(Self::Unknown, Self::List)
    }

    /// From the `status` member of an MSO (draft-ietf-oauth-status-list 6.3, ISO/IEC 18013-5 second
    /// edition 12.3.6). If it names a status list, the identifier list is left alone, also where the
    /// status list cannot be followed: an attacker who blocks one list must not choose the other.
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

/// Everything that can be asked about one credential.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Published {
    /// Of the credential.
    pub(crate) status: PublishedStatus,
    /// Of the certificate that signed it; `None` with a bare key.
    pub(crate) signer: Option<SignerStatus>,
    /// `None` with a bare key.
    pub(crate) voucher: Option<Voucher>,
}
