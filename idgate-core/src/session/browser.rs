//! What an offer has that goes to the browser of a page (OpenID4VP A, W3C Digital Credentials API).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::ClientIdentifier;
use crate::session::{ClientIdForm, EncryptionKey};

/// A protocol of the Digital Credentials API, by the name that pages and browsers use for it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub enum DcApiProtocol {
    /// The parameters as they are (OpenID4VP A.3.1).
    #[serde(rename = "openid4vp-v1-unsigned")]
    Unsigned,
    /// Signed, as a compact JWS (OpenID4VP A.3.2.1).
    #[serde(rename = "openid4vp-v1-signed")]
    Signed,
    /// Signed under each name that the verifier has, as a JWS in JSON (OpenID4VP A.3.2.2).
    #[serde(rename = "openid4vp-v1-multisigned")]
    Multisigned,
    /// A DeviceRequest, for mdocs alone (ISO/IEC TS 18013-7 Annex C).
    #[serde(rename = "org-iso-mdoc")]
    IsoMdoc,
}

impl DcApiProtocol {
    /// All of them.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const ALL: [Self; 4] =
        [Self::Unsigned, Self::Signed, Self::Multisigned, Self::IsoMdoc];

    /// From its name.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unsigned => "openid4vp-v1-unsigned",
            Self::Signed => "openid4vp-v1-signed",
            Self::Multisigned => "openid4vp-v1-multisigned",
            Self::IsoMdoc => "org-iso-mdoc",
        }
    }
}

impl fmt::Display for DcApiProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a page asks its browser for.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserOffer {
    /// Where the page may be from: an answer is good for one of them. Never empty.
    pub(crate) origins: Vec<String>,
    /// What the page passes on, in that order.
    pub(crate) protocols: Vec<DcApiProtocol>,
    /// Who signs, the one who signs alone first; empty: nobody does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) identities: Vec<Identity>,
    /// What `org-iso-mdoc` has of its own; `None`: it is not passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) iso_mdoc: Option<IsoMdocOffer>,
}

/// The request of ISO/IEC TS 18013-7 Annex C: no key serves two protocols.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IsoMdocOffer {
    /// EncryptionInfo in base64url as it is sent, nonce and all: transcripts cover the text.
    pub(crate) encryption_info: String,
    /// What the answer is encrypted to, until the settlement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encryption_key: Option<EncryptionKey>,
    /// The `key_id` of whoever signs readerAuth; `None`: nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reader: Option<String>,
}

impl IsoMdocOffer {
    /// Nothing can be answered any more.
    pub(super) fn close(&mut self) {
        self.encryption_info = String::new();
        self.encryption_key = None;
    }
}

/// Never the nonce.
impl fmt::Debug for IsoMdocOffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IsoMdocOffer")
    }
}

/// A name that the verifier signs under.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    pub(crate) client_identifier: ClientIdentifier,
    pub(crate) form: ClientIdForm,
    /// The `key_id` of whoever signs.
    pub(crate) signer: String,
}

/// The audience of an answer through the browser of a page from there, signed request or not
/// (OpenID4VP A.4).
pub(crate) fn audience_of(origin: &str) -> String {
    ["origin:", origin].concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_of_protocols_are_the_stored_ones_and_lead_back() {
        for protocol in DcApiProtocol::ALL {
            assert_eq!(DcApiProtocol::from_name(protocol.name()), Some(protocol));
            assert_eq!(serde_json::to_value(protocol).unwrap(), protocol.name());
        }
        for unknown in ["", "openid4vp", "openid4vp-v1", "OPENID4VP-V1-SIGNED", "org.iso.mdoc"] {
            assert_eq!(DcApiProtocol::from_name(unknown), None, "{unknown}");
        }
    }
}
