//! The part of an offer that is for a page's browser (OpenID4VP A, W3C Digital Credentials API).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::ClientIdentifier;
use crate::session::{ClientIdForm, EncryptionKey};

/// A protocol of the Digital Credentials API, by the name that pages and browsers use.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub enum DcApiProtocol {
    /// The plain parameters (OpenID4VP A.3.1).
    #[serde(rename = "openid4vp-v1-unsigned")]
    Unsigned,
    /// Signed, as a compact JWS (OpenID4VP A.3.2.1).
    #[serde(rename = "openid4vp-v1-signed")]
    Signed,
    /// Signed under each client identifier of the verifier, as a JWS in JSON (OpenID4VP A.3.2.2).
    #[serde(rename = "openid4vp-v1-multisigned")]
    Multisigned,
    /// A DeviceRequest, for mdocs only (ISO/IEC TS 18013-7 Annex C).
    #[serde(rename = "org-iso-mdoc")]
    IsoMdoc,
}

impl DcApiProtocol {
    /// All protocols.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) const ALL: [Self; 4] =
        [Self::Unsigned, Self::Signed, Self::Multisigned, Self::IsoMdoc];

    /// Returns the protocol with this name.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }

    /// Returns the name.
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

/// The request that a page passes to its browser.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserOffer {
    /// The allowed origins of the page; an answer is valid for one of them. Never empty.
    pub(crate) origins: Vec<String>,
    /// The protocols of the requests, in that order.
    pub(crate) protocols: Vec<DcApiProtocol>,
    /// The signers; the first one is used if there is only one signature. Empty: the request is
    /// unsigned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) identities: Vec<Identity>,
    /// The parts that are only for `org-iso-mdoc`; `None`: it is not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) iso_mdoc: Option<IsoMdocOffer>,
}

/// The request of ISO/IEC TS 18013-7 Annex C. It has its own key, because no key may serve two
/// protocols.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IsoMdocOffer {
    /// EncryptionInfo in base64url exactly as it is sent, including the nonce: transcripts cover
    /// this text.
    pub(crate) encryption_info: String,
    /// The key that the answer is encrypted to, until the settlement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encryption_key: Option<EncryptionKey>,
    /// The `key_id` of the signer of readerAuth; `None`: there is no readerAuth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reader: Option<String>,
}

impl IsoMdocOffer {
    /// Erases the key: no more answers are accepted.
    pub(super) fn close(&mut self) {
        self.encryption_info = String::new();
        self.encryption_key = None;
    }
}

/// Omits the nonce.
impl fmt::Debug for IsoMdocOffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IsoMdocOffer")
    }
}

/// A client identifier and its signer.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    pub(crate) client_identifier: ClientIdentifier,
    pub(crate) form: ClientIdForm,
    /// The `key_id` of the signer.
    pub(crate) signer: String,
}

/// The audience of an answer through the browser of a page from this origin, whether the request is
/// signed or not (OpenID4VP A.4).
pub(crate) fn audience_of(origin: &str) -> String {
    ["origin:", origin].concat()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn protocol_names_are_the_stored_ones_and_round_trip() {
        for protocol in DcApiProtocol::ALL {
            assert_eq!(DcApiProtocol::from_name(protocol.name()), Some(protocol));
            assert_eq!(serde_json::to_value(protocol).unwrap(), protocol.name());
        }
        for unknown in ["", "openid4vp", "openid4vp-v1", "OPENID4VP-V1-SIGNED", "org.iso.mdoc"] {
            assert_eq!(DcApiProtocol::from_name(unknown), None, "{unknown}");
        }
    }
}
