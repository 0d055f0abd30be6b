//! SessionTranscript = `[DeviceEngagementBytes, EReaderKeyBytes, Handover]`; over OpenID4VP the
//! first two are null, and the handover ties the answer to our request.

use alloc::vec::Vec;
use core::fmt;

use crate::codec::cbor::Writer;
use crate::crypto::{CryptoProvider, HashAlg};

/// What the device bound its answer to. Both forms cover `client_id`, `nonce` and `response_uri`,
/// so that trying one after the other is safe.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Handover<'e> {
    /// OpenID4VP 1.0 B.2.6.1.
    OpenId4Vp {
        /// RFC 7638 thumbprint, by SHA-256, of the key that the response was encrypted to; `None`:
        /// it was not encrypted.
        jwk_thumbprint: Option<&'e [u8; 32]>,
    },
    /// ISO/IEC TS 18013-7 B.4.4; only encrypted responses carry its nonce.
    Iso180137 {
        /// The decoded `apu` of the response.
        mdoc_generated_nonce: &'e str,
    },
}

impl Handover<'_> {
    /// Its name in `verification_details`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::OpenId4Vp { .. } => "openid4vp-1.0",
            Self::Iso180137 { .. } => "iso18013-7",
        }
    }

    /// The encoded SessionTranscript.
    pub fn session_transcript(
        &self,
        provider: &CryptoProvider,
        client_id: &str,
        nonce: &str,
        response_uri: &str,
    ) -> Vec<u8> {
        let sha256 = |bytes: Vec<u8>| provider.hash(HashAlg::Sha256, &bytes);
        let transcript = Writer::with_capacity(128).array(3).null().null();
        match self {
            Self::OpenId4Vp { jwk_thumbprint } => {
                let len = client_id.len() + nonce.len() + response_uri.len();
                let info = Writer::with_capacity(48 + len).array(4).text(client_id).text(nonce);
                let info = match jwk_thumbprint {
                    Some(thumbprint) => info.bytes(*thumbprint),
                    None => info.null(),
                };
                let info = sha256(info.text(response_uri).finish());
                transcript.array(2).text("OpenID4VPHandover").bytes(info.as_bytes()).finish()
            }
            Self::Iso180137 { mdoc_generated_nonce } => {
                let hash = |text: &str| {
                    let pair = Writer::default().array(2).text(text).text(mdoc_generated_nonce);
                    sha256(pair.finish())
                };
                transcript
                    .array(3)
                    .bytes(hash(client_id).as_bytes())
                    .bytes(hash(response_uri).as_bytes())
                    .text(nonce)
                    .finish()
            }
        }
    }
}

/// Its name, and never the wallet's nonce.
impl fmt::Debug for Handover<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
