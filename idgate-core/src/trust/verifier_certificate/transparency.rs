//! Signed certificate timestamps in a certificate (RFC 6962 3.3). EU wallets treat an access
//! certificate without them as failing authentication (ARF CT_06).

use x509_parser::extensions::ParsedExtension;
use x509_parser::oid_registry::OID_CT_LIST_SCT;

use crate::trust::certificate::Certificate;

/// The timestamp list of a certificate. Wallets verify the logs' signatures, because they know the
/// logs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Transparency {
    /// There is none.
    Missing,
    /// It is not a list of timestamps.
    Unreadable,
    /// It has one or more.
    Present,
}

impl Transparency {
    /// The fault of the list, for people; `None`: it has timestamps.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    #[cfg_attr(not(feature = "shell"), allow(dead_code))] // a shell warns of it
    pub(crate) const fn lacks(self) -> Option<&'static str> {
        match self {
            Self::Missing => Some("has no list of signed certificate timestamps (RFC 6962 3.3)"),
            Self::Unreadable => Some(
                "has a list of signed certificate timestamps that cannot be read (RFC 6962 3.3)",
            ),
            Self::Present => None,
        }
    }

    /// Reads the list of this certificate.
    pub(super) fn of(certificate: &Certificate<'_>) -> Self {
        match certificate.extension(&OID_CT_LIST_SCT) {
            None => Self::Missing,
            Some(extension) => match extension.parsed_extension() {
                ParsedExtension::SCT(timestamps) if !timestamps.is_empty() => Self::Present,
                _ => Self::Unreadable,
            },
        }
    }
}
