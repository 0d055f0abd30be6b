//! The answer of ISO/IEC TS 18013-7 Annex C: a DeviceResponse, encrypted with HPKE for one origin.
//! A refusal here leaves the session unchanged, and all faults have the same error.

use alloc::string::String;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::dc_api::{DcApiAnswer, Given};
use super::direct_post_jwt::AnswerEncryption;
use crate::codec::base64url;
use crate::codec::cbor::{Tape, Value};
use crate::crypto::{CryptoProvider, DecryptionFailed, EcdhPrivateKey, PublicKey};
use crate::error::NotAnAnswer;
use crate::formats::mdoc::Handover;
use crate::response::Content;
use crate::session::BrowserOffer;

/// Returns the answer that came through a browser to the DeviceRequest of an offer. Each origin of
/// the offer is tried, because the answer does not name its own.
///
/// # Errors
/// [`NotAnAnswer::DecryptionFailed`].
pub(crate) fn unpack_iso_mdoc<'s>(
    provider: &CryptoProvider,
    browser: &'s BrowserOffer,
    answer: DcApiAnswer<'_>,
) -> Result<(Content<'static>, Option<AnswerEncryption<'s>>), NotAnAnswer> {
    let response = match answer.given {
        Given::Error(error) => return Ok((Content::Error(error), None)),
        Given::Encrypted(response) => response,
    };
    let open = || {
        let offered = browser.iso_mdoc.as_ref().ok_or(DecryptionFailed)?;
        let key = offered.encryption_key.as_ref().ok_or(DecryptionFailed)?;
        let recipient = HpkeRecipient {
            private: key.private(),
            public: key.public(),
            encryption_info: &offered.encryption_info,
        };
        let origins = browser.origins.iter().map(String::as_str);
        recipient.open(provider, &response, origins)
    };
    let (device_response, origin) = open().map_err(|_| NotAnAnswer::DecryptionFailed)?;
    Ok((Content::DeviceResponse(device_response), Some(AnswerEncryption::Hpke { origin })))
}

/// The recipient of such an answer.
pub(crate) struct HpkeRecipient<'r> {
    pub(crate) private: &'r EcdhPrivateKey,
    pub(crate) public: &'r PublicKey,
    /// The text from the request, in base64url.
    pub(crate) encryption_info: &'r str,
}

impl HpkeRecipient<'_> {
    /// Returns the DeviceResponse in the text of an EncryptedResponse, and the one of `origins`
    /// that it is for.
    ///
    /// # Errors
    /// The text has another form, or was encrypted to another key or for another origin.
    pub(crate) fn open<'o>(
        &self,
        provider: &CryptoProvider,
        response: &str,
        origins: impl Iterator<Item = &'o str>,
    ) -> Result<(Zeroizing<Vec<u8>>, &'o str), DecryptionFailed> {
        let response = base64url::decode(response).map_err(|_| DecryptionFailed)?;
        let mut tape = Tape::default();
        let root = tape.parse(&response).map_err(|_| DecryptionFailed)?;
        let (enc, sealed) = parts(tape.value(root)).ok_or(DecryptionFailed)?;
        let (enc, sealed) = (enc.as_bytes(), sealed.as_bytes());
        let (enc, sealed) = enc.zip(sealed).ok_or(DecryptionFailed)?;
        let secret = provider.hpke_decap(self.private, self.public, &enc)?;
        for origin in origins {
            let encryption_info = self.encryption_info;
            let handover = Handover::Iso180137AnnexC { encryption_info, origin };
            let info = handover.session_transcript(provider, "", "", "");
            if let Ok(opened) = provider.hpke_open(&secret, &info, &sealed) {
                return Ok((opened, origin));
            }
        }
        Err(DecryptionFailed)
    }
}

/// `enc` and `cipherText` of `["dcapi", {"enc", "cipherText"}]`.
fn parts<'t, 'a>(response: Value<'t, 'a>) -> Option<(Value<'t, 'a>, Value<'t, 'a>)> {
    let mut elements = response.elements()?;
    let (name, members) = (elements.next()?, elements.next()?);
    if elements.next().is_some() || !name.is_text("dcapi") {
        return None;
    }
    members.get("enc").zip(members.get("cipherText"))
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::crypto::Curve;
    use crate::crypto::hpke::tests::{ENC, PLAINTEXT, RECIPIENT, SEALED, bytes};
    use crate::crypto::rustcrypto::PROVIDER;

    /// From other software, with its key and a message that it sealed for the origin below.
    const ENCRYPTION_INFO: &str = "gmVkY2FwaaJlbm9uY2VQAAECAwQFBgcICQoLDA0OD3JyZWNpcGllbnRQdWJsaWNLZ\
        XmkAQIgASFYIC2B7hSMb6SZde76cUrRMSMkIgTG7uH9utAnbQycn853IlggTzik5zI2WaVRAWfpPCnNHe9c5G8RAHCQAHo\
        _JyMzN7M";
    const ORIGIN: &str = "https://example.com";

    fn open(response: &[u8], origins: &[&'static str]) -> Option<(Vec<u8>, &'static str)> {
        open_text(&base64url::encode(response), ENCRYPTION_INFO, origins)
    }

    fn open_text(
        response: &str,
        encryption_info: &str,
        origins: &[&'static str],
    ) -> Option<(Vec<u8>, &'static str)> {
        let private = EcdhPrivateKey::from_scalar(Curve::P256, &bytes(RECIPIENT)).unwrap();
        let public = PROVIDER.agreement.public_key(&private).unwrap();
        let recipient = HpkeRecipient { private: &private, public: &public, encryption_info };
        let opened = recipient.open(&PROVIDER, response, origins.iter().copied()).ok()?;
        Some((opened.0.to_vec(), opened.1))
    }

    fn response(head: &[u8], between: &[u8], tail: &[u8]) -> Vec<u8> {
        [head, &*bytes(ENC), between, &*bytes(SEALED), tail].concat()
    }

    const HEAD: &[u8] = b"\x82\x65dcapi\xa2\x63enc\x58\x41";
    const BETWEEN: &[u8] = b"\x6acipherText\x58\x25";

    #[test]
    fn an_answer_of_other_software_opens() {
        let whole = response(HEAD, BETWEEN, b"");
        assert_eq!(open(&whole, &[ORIGIN]), Some((bytes(PLAINTEXT), ORIGIN)));
    }

    #[test]
    fn an_answer_is_for_one_of_several_origins() {
        let whole = response(HEAD, BETWEEN, b"");
        let origins = ["https://example.org", "https://example.com:8443", ORIGIN];
        assert_eq!(open(&whole, &origins).map(|(_, origin)| origin), Some(ORIGIN));
        for others in [&origins[..0], &origins[..2], &["https://example.com/"]] {
            assert_eq!(open(&whole, others), None, "{others:?}");
        }
    }

    #[test]
    fn an_answer_is_for_the_encryption_info_exactly_as_sent() {
        let whole = base64url::encode(&response(HEAD, BETWEEN, b""));
        assert!(open_text(&whole, ENCRYPTION_INFO, &[ORIGIN]).is_some());
        for other in
            [&*ENCRYPTION_INFO.replacen("gmV", "gmU", 1), "", &[ENCRYPTION_INFO, "="].concat()]
        {
            assert_eq!(open_text(&whole, other, &[ORIGIN]), None);
        }
    }

    #[test]
    fn additional_members_are_ignored() {
        let more = response(b"\x82\x65dcapi\xa3\x61x\x01\x63enc\x58\x41", BETWEEN, b"");
        assert!(open(&more, &[ORIGIN]).is_some());
    }

    #[test]
    fn answers_of_another_form_are_refused() {
        for bad in [
            Vec::new(),
            b"\xf6".to_vec(),
            b"\x82\x65dcapi\xa0".to_vec(),
            b"\x82\x65dcapi\xf6".to_vec(),
            b"\x81\x65dcapi".to_vec(),
            b"\x82\x65dcapi\xa2\x63enc\x41\x04\x6acipherText\x41\x00".to_vec(),
            b"\x82\x65dcapi\xa2\x63enc\x01\x6acipherText\x02".to_vec(),
            response(b"\x82\x65dcApi\xa2\x63enc\x58\x41", BETWEEN, b""),
            response(b"\x82\x45dcapi\xa2\x63enc\x58\x41", BETWEEN, b""),
            response(b"\x83\x65dcapi\xa2\x63enc\x58\x41", BETWEEN, b"\xf6"),
            response(HEAD, b"\x6aciphertext\x58\x25", b""),
            response(HEAD, b"\x6acipherText\x78\x25", b""),
            response(HEAD, BETWEEN, b"\xf6"),
            response(b"\xa2\x63enc\x58\x41", BETWEEN, b""),
        ] {
            assert_eq!(open(&bad, &[ORIGIN]), None, "{bad:02x?}");
        }
        let whole = base64url::encode(&response(HEAD, BETWEEN, b""));
        for bad in ["", "=", &[&whole, "="].concat(), &[&whole, "\n"].concat()] {
            assert_eq!(open_text(bad, ENCRYPTION_INFO, &[ORIGIN]), None, "{bad}");
        }
    }
}
