//! Status sources: the needed source, the answer, and a source that can be reused.

use alloc::string::String;

use super::token_status_list::{ListKind, VerifiedStatusList};
use crate::ids::CredentialFormat;
use crate::time::UnixMillis;
use crate::trust::crl::VerifiedCrl;

const STATUS_LIST_JWT: &str = "application/statuslist+jwt";
const STATUS_LIST_CWT: &str = "application/statuslist+cwt";

/// A source that must be fetched before a verdict is possible. Its URI comes from signed material
/// only.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Need {
    /// A status list token (draft-ietf-oauth-status-list 8.1). If credentials of two formats name
    /// one list, it is needed twice, because each format has its own token forms and signers.
    StatusList {
        /// The URI of the list.
        uri: String,
        /// The format of the credentials that name it.
        format: CredentialFormat,
    },
    /// A CRL in DER (RFC 5280 5).
    Crl {
        /// The URI of the CRL.
        uri: String,
    },
    /// An identifier list token of mdocs (ISO/IEC 18013-5 second edition 12.3.6).
    IdentifierList {
        /// The URI of the list.
        uri: String,
    },
}

impl Need {
    /// The need for the list of this kind at `uri`, which credentials of `format` name.
    pub(super) fn of_list(kind: ListKind, uri: &str, format: CredentialFormat) -> Self {
        let uri = uri.into();
        match kind {
            ListKind::Statuses => Self::StatusList { uri, format },
            ListKind::Identifiers => Self::IdentifierList { uri },
        }
    }

    /// The URI to fetch.
    pub fn uri(&self) -> &str {
        match self {
            Self::StatusList { uri, .. } | Self::Crl { uri } | Self::IdentifierList { uri } => uri,
        }
    }

    /// The `Accept` header to send: one media type, because some hosts compare the header as a
    /// whole. The list of an SD-JWT VC is a JWT, that of an mdoc a CWT or a JWT
    /// (draft-ietf-oauth-status-list 8.1).
    pub const fn accept(&self) -> &'static str {
        match self {
            Self::StatusList { format: CredentialFormat::Mdoc, .. } => STATUS_LIST_CWT,
            Self::StatusList { .. } => STATUS_LIST_JWT,
            Self::Crl { .. } => "application/pkix-crl",
            Self::IdentifierList { .. } => "application/identifierlist+cwt",
        }
    }

    /// The `Accept` header for a second attempt if the host answers [`Need::accept`] with 404, 406
    /// or 415, because it does not have that form. `None`: there is no other form.
    pub const fn accept_otherwise(&self) -> Option<&'static str> {
        match self {
            Self::StatusList { format: CredentialFormat::Mdoc, .. } => Some(STATUS_LIST_JWT),
            Self::StatusList { .. } | Self::Crl { .. } | Self::IdentifierList { .. } => None,
        }
    }
}

/// The answer to a [`Need`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Supplied<'a> {
    /// The body, as received.
    Bytes(&'a [u8]),
    /// Nothing usable came in time.
    Unavailable,
    /// Nothing usable came. Reports on refused answers name this cause.
    Failed(SourceFault),
}

/// The cause of a failed fetch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SourceFault {
    /// The host has no address, accepts no connection, or has no valid certificate.
    Unreachable,
    /// The address is malformed or not allowed.
    NotAllowed,
    /// The host answers with a status that has no usable body.
    HttpStatus,
    /// The host redirects in a way that is not followed.
    Redirect,
    /// The content coding is not supported.
    ContentCoding,
    /// The body is too large.
    TooLarge,
    /// The answer is not HTTP, or is cut off.
    Broken,
    /// The answer did not come in time.
    TooSlow,
}

impl SourceFault {
    /// Whether the source's content is unknown after this fault. After any other fault the source
    /// is known to be wrong, which is never accepted.
    pub(super) const fn leaves_unknown(self) -> bool {
        match self {
            Self::Unreachable | Self::HttpStatus | Self::TooSlow => true,
            Self::NotAllowed
            | Self::Redirect
            | Self::ContentCoding
            | Self::TooLarge
            | Self::Broken => false,
        }
    }

    /// The report's text about a list.
    pub(super) const fn of_list(self) -> &'static str {
        match self {
            Self::Unreachable => "the status list is unavailable: its host cannot be reached",
            Self::NotAllowed => "the status list is unavailable: its address is not allowed",
            Self::HttpStatus => {
                "the status list is unavailable: its host answers with an error status"
            }
            Self::Redirect => {
                "the status list is unavailable: its host redirects in a way that is not followed"
            }
            Self::ContentCoding => {
                "the status list is unavailable: its content coding is not supported"
            }
            Self::TooLarge => "the status list is unavailable: it is too large",
            Self::Broken => "the status list is unavailable: the answer is not HTTP, or is cut off",
            Self::TooSlow => "the status list is unavailable: it did not arrive in time",
        }
    }

    /// The report's text about a CRL.
    pub(super) const fn of_crl(self) -> &'static str {
        match self {
            Self::Unreachable => "the certificate's CRL is unavailable: its host cannot be reached",
            Self::NotAllowed => "the certificate's CRL is unavailable: its address is not allowed",
            Self::HttpStatus => {
                "the certificate's CRL is unavailable: its host answers with an error status"
            }
            Self::Redirect => {
                "the certificate's CRL is unavailable: its host redirects in a way that is not \
                 followed"
            }
            Self::ContentCoding => {
                "the certificate's CRL is unavailable: its content coding is not supported"
            }
            Self::TooLarge => "the certificate's CRL is unavailable: it is too large",
            Self::Broken => {
                "the certificate's CRL is unavailable: the answer is not HTTP, or is cut off"
            }
            Self::TooSlow => "the certificate's CRL is unavailable: it did not arrive in time",
        }
    }
}

impl core::fmt::Debug for Supplied<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Unavailable => f.write_str("Unavailable"),
            Self::Failed(fault) => write!(f, "Failed({fault:?})"),
        }
    }
}

/// An authenticated source that later verifications can use as well. Keep it until
/// [`VerifiedSource::fresh_until`]. If its host is down it may be used longer, but never after
/// [`VerifiedSource::expires_at`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum VerifiedSource {
    /// A status list, or an identifier list.
    StatusList(VerifiedStatusList),
    /// A CRL, and the URI that it came from.
    Crl {
        /// The URI.
        uri: String,
        /// The list.
        crl: VerifiedCrl,
    },
}

impl VerifiedSource {
    /// The need that it answers.
    pub fn need(&self) -> Need {
        match self {
            Self::StatusList(list) => Need::of_list(list.kind(), list.uri(), list.format()),
            Self::Crl { uri, .. } => Need::Crl { uri: uri.clone() },
        }
    }

    /// The time until which it need not be fetched again.
    pub fn fresh_until(&self) -> UnixMillis {
        match self {
            Self::StatusList(list) => list.fresh_until(),
            Self::Crl { crl, .. } => crl.next_update(),
        }
    }

    /// Roughly the memory that it takes, in bytes: a status list may take 32 MiB.
    pub fn weight(&self) -> usize {
        match self {
            Self::StatusList(list) => list.weight(),
            Self::Crl { crl, .. } => crl.weight(),
        }
    }

    /// The time from which it is no longer valid; `None`: its signer set no end.
    pub fn expires_at(&self) -> Option<UnixMillis> {
        match self {
            Self::StatusList(list) => list.expires_at(),
            Self::Crl { crl, .. } => Some(crl.next_update()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hosts compare the header as a whole, so it is one media type, without parameters.
    #[test]
    fn each_need_has_one_media_type_and_an_mdocs_list_a_second_form() {
        let list = |format| Need::StatusList { uri: "https://a.example".into(), format };
        let crl = Need::Crl { uri: "https://a.example".into() };
        for (need, first, second) in [
            (list(CredentialFormat::SdJwtVc), "application/statuslist+jwt", None),
            (
                list(CredentialFormat::Mdoc),
                "application/statuslist+cwt",
                Some("application/statuslist+jwt"),
            ),
            (crl, "application/pkix-crl", None),
        ] {
            assert_eq!((need.accept(), need.accept_otherwise()), (first, second));
        }
    }
}
