//! SessionTranscript = `[DeviceEngagementBytes, EReaderKeyBytes, Handover]`. Over OpenID4VP the
//! first two are null, and the handover binds the answer to our request.

use alloc::vec::Vec;
use core::fmt;

use crate::codec::cbor::Writer;
use crate::crypto::{CryptoProvider, HashAlg};

/// The handover that the device signed. The forms for answers to a link cover `client_id`, `nonce`
/// and `response_uri`, so it is safe to try one after the other.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Handover<'e> {
    /// OpenID4VP 1.0 B.2.6.1.
    OpenId4Vp {
        /// RFC 7638 thumbprint (SHA-256) of the key that the response was encrypted to; `None`: it
        /// was not encrypted.
        jwk_thumbprint: Option<&'e [u8; 32]>,
    },
    /// ISO/IEC TS 18013-7 B.4.4; only encrypted responses have its nonce.
    Iso180137 {
        /// The decoded `apu` of the response.
        mdoc_generated_nonce: &'e str,
    },
    /// OpenID4VP 1.0 B.2.6.2, for an answer through the browser of a page. It covers no
    /// `client_id`.
    OpenId4VpDcApi {
        /// The origin of the page, as browsers write it.
        origin: &'e str,
        /// As in [`Handover::OpenId4Vp`].
        jwk_thumbprint: Option<&'e [u8; 32]>,
    },
    /// ISO/IEC TS 18013-7 C.5, for an answer through the browser of a page. It covers no
    /// `client_id`, and the nonce only through `encryption_info`.
    Iso180137AnnexC {
        /// EncryptionInfo of the request in base64url, exactly as sent.
        encryption_info: &'e str,
        /// The origin of the page, as browsers write it.
        origin: &'e str,
    },
}

impl Handover<'_> {
    /// Returns the name in `verification_details`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::OpenId4Vp { .. } => "openid4vp-1.0",
            Self::Iso180137 { .. } => "iso18013-7",
            Self::OpenId4VpDcApi { .. } => "openid4vp-1.0-dc-api",
            Self::Iso180137AnnexC { .. } => "iso18013-7-annex-c",
        }
    }

    /// The origin of the page whose browser delivered the answer.
    pub(crate) const fn origin(&self) -> Option<&str> {
        match self {
            Self::OpenId4VpDcApi { origin, .. } | Self::Iso180137AnnexC { origin, .. } => {
                Some(origin)
            }
            Self::OpenId4Vp { .. } | Self::Iso180137 { .. } => None,
        }
    }

    /// Returns the encoded SessionTranscript.
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
                let info = with_thumbprint(info, *jwk_thumbprint).text(response_uri);
                let info = sha256(info.finish());
                transcript.array(2).text("OpenID4VPHandover").bytes(info.as_bytes()).finish()
            }
            Self::OpenId4VpDcApi { origin, jwk_thumbprint } => {
                let len = origin.len() + nonce.len();
                let info = Writer::with_capacity(48 + len).array(3).text(origin).text(nonce);
                let info = sha256(with_thumbprint(info, *jwk_thumbprint).finish());
                transcript.array(2).text("OpenID4VPDCAPIHandover").bytes(info.as_bytes()).finish()
            }
            Self::Iso180137AnnexC { encryption_info, origin } => {
                let len = encryption_info.len() + origin.len();
                let info = Writer::with_capacity(16 + len).array(2);
                let info = sha256(info.text(encryption_info).text(origin).finish());
                transcript.array(2).text("dcapi").bytes(info.as_bytes()).finish()
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

fn with_thumbprint(info: Writer, jwk_thumbprint: Option<&[u8; 32]>) -> Writer {
    match jwk_thumbprint {
        Some(thumbprint) => info.bytes(thumbprint),
        None => info.null(),
    }
}

/// Shows the name, and never the wallet's nonce.
impl fmt::Debug for Handover<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(all(test, feature = "rustcrypto"))]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::crypto::{Curve, PublicKey, rustcrypto::PROVIDER};

    const NONCE: &str = "exc7gBkxjx1rdc9udRrveKvSsJIq80avlXeLHhGwqtA";
    const RESPONSE_URI: &str = "https://example.com/response";

    /// The key of OpenID4VP B.2.6.1; only the required members count.
    fn thumbprint() -> Option<[u8; 32]> {
        let coordinate = |text| crate::codec::base64url::decode(text).ok();
        let x = coordinate("DxiH5Q4Yx3UrukE2lWCErq8N8bqC9CHLLrAwLz5BmE0")?;
        let y = coordinate("XtLM4-3h5o3HUH0MHVJV0kyq0iBlrBwlh8qEDMZ4-Pc")?;
        let key = PublicKey::from_coordinates(Curve::P256, &x, &y).ok()?;
        Some(key.thumbprint(&PROVIDER))
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn transcript(client_id: &str, jwk_thumbprint: Option<&[u8; 32]>) -> Vec<u8> {
        let handover = Handover::OpenId4Vp { jwk_thumbprint };
        handover.session_transcript(&PROVIDER, client_id, NONCE, RESPONSE_URI)
    }

    /// The first is the specification's; other software made the others.
    #[test]
    fn redirect_transcripts_are_those_of_openid4vp_1_0() {
        let key = thumbprint();
        assert_eq!(
            key.map(|key| hex(&key)).as_deref(),
            Some("4283ec927ae0f208daaa2d026a814f2b22dca52cf85ffa8f3f8626c6bd669047")
        );
        for (client_id, key, hash) in [
            (
                "x509_san_dns:example.com",
                key,
                "048bc053c00442af9b8eed494cefdd9d95240d254b046b11b68013722aad38ac",
            ),
            (
                "x509_hash:Uvo3HtuIxuhC92rShpgqcT3YXwrqRxWEviRiA0OZszk",
                key,
                "25ad59c2d51b4aad1860654b34eda164283079341acbbba1e008f997efe2dbaf",
            ),
            (
                "decentralized_identifier:did:web:example.com",
                key,
                "58f2dac990e57776077ea666ee1ed57d20cf313b141cc2a25a1e458c98062033",
            ),
            (
                "redirect_uri:https://example.com/response",
                None,
                "6b44bacc570b4c6ae1b4a727be2d785115695a36ff0f803360b8656c4a681f1a",
            ),
        ] {
            let before = "83f6f682714f70656e494434565048616e646f7665725820";
            let made = transcript(client_id, key.as_ref());
            assert_eq!(hex(&made), format!("{before}{hash}"), "{client_id}");
        }
    }

    /// The encrypted one is the specification's; other software made the plain one.
    #[test]
    fn browser_transcripts_are_those_of_openid4vp_1_0() {
        let key = thumbprint();
        for (key, hash) in [
            (key, "fbece366f4212f9762c74cfdbf83b8c69e371d5d68cea09cb4c48ca6daab761a"),
            (None, "3563b629e28bf0a736c6ba6faacb60a9cd3074e51416a04565031d8690638c43"),
        ] {
            let handover = Handover::OpenId4VpDcApi {
                origin: "https://example.com",
                jwk_thumbprint: key.as_ref(),
            };
            // It contains neither name nor address of the verifier.
            for client_id in ["", "x509_san_dns:example.com"] {
                let made = handover.session_transcript(&PROVIDER, client_id, NONCE, RESPONSE_URI);
                let before = "83f6f682764f70656e4944345650444341504948616e646f7665725820";
                assert_eq!(hex(&made), format!("{before}{hash}"));
            }
        }
    }

    /// Made with other software, which verified the reader authentication of a public verifier with
    /// it.
    #[test]
    fn transcripts_of_annex_c_cover_the_encryption_info_as_sent_and_the_origin() {
        let handover = |origin| Handover::Iso180137AnnexC {
            encryption_info: "gmVkY2FwaaJlbm9uY2VQAAECAwQFBgcICQoLDA0OD3JyZWNpcGllbnRQdWJsaWNLZXmkAQ\
                IgASFYIC2B7hSMb6SZde76cUrRMSMkIgTG7uH9utAnbQycn853IlggTzik5zI2WaVRAWfpPCnNHe9c5G8RAH\
                CQAHo_JyMzN7M",
            origin,
        };
        for client_id in ["", "x509_san_dns:example.com"] {
            let made = handover("https://example.com");
            let made = made.session_transcript(&PROVIDER, client_id, NONCE, RESPONSE_URI);
            let hash = "8c53ed9828a2163243bcddcd930b126209267a97939fa5e82c1c2e4e83d11e97";
            assert_eq!(hex(&made), format!("83f6f6826564636170695820{hash}"));
            let other = handover("https://example.org");
            let other = other.session_transcript(&PROVIDER, client_id, NONCE, RESPONSE_URI);
            assert_ne!(made, other);
        }
    }

    #[test]
    fn the_whole_browser_transcript_of_the_specification_has_its_hash() {
        let key = thumbprint();
        let (origin, jwk_thumbprint) = ("https://example.com", key.as_ref());
        let handover = Handover::OpenId4VpDcApi { origin, jwk_thumbprint };
        let made = handover.session_transcript(&PROVIDER, "", NONCE, "");
        assert_eq!(
            hex(PROVIDER.hash(HashAlg::Sha256, &made).as_bytes()),
            "5acdcd6a96ab754aae6186b7148b3b6d49034498728e4da3d059ec5cef82247b"
        );
    }

    #[test]
    fn the_whole_transcript_of_the_specification_has_its_hash() {
        let made = transcript("x509_san_dns:example.com", thumbprint().as_ref());
        assert_eq!(
            hex(PROVIDER.hash(HashAlg::Sha256, &made).as_bytes()),
            "5892c5070e68b42fc23d2931e581e3f668bb409814a242d520a86b1e225d28eb"
        );
    }
}
