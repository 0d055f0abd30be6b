//! How an answer was encrypted, which decides its possible transcripts: for an answer to a session,
//! and for a captured one.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use crate::codec::base64url;
use crate::codec::json::{Tape, Value};
use crate::crypto::{CryptoProvider, DecryptionFailed, EcdhPrivateKey, JwkError, PublicKey};
use crate::formats::mdoc::Handover;
use crate::request::Profile;
use crate::response::HpkeRecipient;
use crate::session::{RequestShape, TranscriptKind};

/// How a captured answer was encrypted; empty for a plain one.
#[derive(Clone, Default)]
pub struct CapturedEncryption {
    key: Option<PublicKey>,
    thumbprint: Option<[u8; 32]>,
    private: Option<EcdhPrivateKey>,
    mdoc_generated_nonce: Option<String>,
}

impl CapturedEncryption {
    /// Adds the key that the answer was encrypted to, as the JSON text of its JWK. `d` is optional;
    /// only a device MAC needs it. The JWK's statements about its use are ignored.
    ///
    /// # Errors
    /// The JWK is not an EC key on a known curve, or its `d` is not a scalar of that curve.
    pub fn with_jwk(mut self, provider: &CryptoProvider, jwk: &[u8]) -> Result<Self, JwkError> {
        self.encrypted_to(provider, CapturedKey::parse(jwk)?);
        Ok(self)
    }

    pub(super) fn encrypted_to(&mut self, provider: &CryptoProvider, key: CapturedKey) {
        self.private = key.private;
        self.thumbprint = Some(key.public.thumbprint(provider));
        self.key = Some(key.public);
    }

    /// Adds the `apu` of the answer's header, in base64url as received: the wallet's nonce (ISO/IEC
    /// TS 18013-7 B.4.4). `None`: it is not base64url of text.
    pub fn with_apu(mut self, apu: &str) -> Option<Self> {
        self.mdoc_generated_nonce = Some(String::from_utf8(base64url::decode(apu).ok()?).ok()?);
        Some(self)
    }

    /// The key that the answer was encrypted to.
    pub fn key(&self) -> Option<&PublicKey> {
        self.key.as_ref()
    }

    /// The private half, for `ExpectedMdoc::reader_key`.
    pub fn reader_key(&self) -> Option<&EcdhPrivateKey> {
        self.private.as_ref()
    }

    /// The handovers to try for an answer to a request of this profile, in the same order as in a
    /// session. Only drafts use that of ISO/IEC TS 18013-7: in OpenID4VP 1.0 `apu` has no meaning.
    pub fn handovers(&self, profile: Profile) -> Vec<Handover<'_>> {
        let has_key = self.thumbprint.is_some();
        let (shape, is_plain) = match profile {
            Profile::V1_0 | Profile::Haip => (RequestShape::haip(), !has_key),
            Profile::Draft if has_key || self.mdoc_generated_nonce.is_some() => {
                (RequestShape::jar(), false)
            }
            Profile::Draft => (RequestShape::inline(), true),
        };
        let encryption = match is_plain {
            true => KnownEncryption::Plain,
            false => KnownEncryption::Jwe {
                thumbprint: self.thumbprint.as_ref(),
                mdoc_generated_nonce: self.mdoc_generated_nonce.as_deref(),
            },
        };
        handovers(&shape.transcripts, encryption, &[])
    }

    /// Opens the answer of ISO/IEC TS 18013-7 Annex C, the text of an EncryptedResponse, that a
    /// page from `origin` received. `encryption_info` is that of the request, in base64url as it
    /// was sent. Verify the content under [`Handover::Iso180137AnnexC`].
    ///
    /// # Errors
    /// The answer was encrypted to another key or for another page, or the private half of the key
    /// is missing.
    pub fn open_device_response(
        &self,
        provider: &CryptoProvider,
        response: &str,
        encryption_info: &str,
        origin: &str,
    ) -> Result<Zeroizing<Vec<u8>>, DecryptionFailed> {
        let key = self.private.as_ref().zip(self.key.as_ref());
        let (private, public) = key.ok_or(DecryptionFailed)?;
        let recipient = HpkeRecipient { private, public, encryption_info };
        let (device_response, _) = recipient.open(provider, response, core::iter::once(origin))?;
        Ok(device_response)
    }

    /// The handover of an answer that came through the browser of a page from `origin`.
    pub fn handover_of_origin<'h>(&'h self, origin: &'h str) -> Handover<'h> {
        Handover::OpenId4VpDcApi { origin, jwk_thumbprint: self.thumbprint.as_ref() }
    }
}

/// The key that an answer was encrypted to, with its private half if it is known.
#[derive(Clone)]
pub(super) struct CapturedKey {
    public: PublicKey,
    private: Option<EcdhPrivateKey>,
}

impl CapturedKey {
    /// Reads the JSON text of its JWK.
    pub(super) fn parse(jwk: &[u8]) -> Result<Self, JwkError> {
        let mut tape = Tape::default();
        let id = tape.parse(jwk).map_err(|_| JwkError("is not strict JSON"))?;
        let jwk = tape.value(id);
        let public = PublicKey::from_public_members(jwk)?;
        let private = jwk.get("d").map(|scalar| private_key(&public, scalar)).transpose()?;
        Ok(Self { public, private })
    }
}

/// Omits the keys and the nonce.
impl fmt::Debug for CapturedEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CapturedEncryption")
    }
}

/// How an answer was encrypted, as far as it is known.
#[derive(Clone, Copy)]
pub(super) enum KnownEncryption<'h> {
    /// It was not encrypted.
    Plain,
    /// As a JWE.
    Jwe {
        /// The thumbprint of the key that it was encrypted to.
        thumbprint: Option<&'h [u8; 32]>,
        mdoc_generated_nonce: Option<&'h str>,
    },
    /// By HPKE, for the EncryptionInfo of the request as it was sent.
    Hpke { encryption_info: &'h str },
}

/// Those of `kinds`, in their order, that are possible for an answer with these known facts.
/// Through a browser there is one for each origin that the page may have.
pub(super) fn handovers<'h>(
    kinds: &[TranscriptKind],
    encryption: KnownEncryption<'h>,
    origins: &'h [String],
) -> Vec<Handover<'h>> {
    let mut handovers = Vec::new();
    let origins = origins.iter().map(String::as_str);
    for kind in kinds {
        match (kind, encryption) {
            (TranscriptKind::OpenId4Vp1, KnownEncryption::Plain) => {
                handovers.push(Handover::OpenId4Vp { jwk_thumbprint: None });
            }
            (TranscriptKind::OpenId4Vp1, KnownEncryption::Jwe { thumbprint, .. }) => {
                let handover = |known| Handover::OpenId4Vp { jwk_thumbprint: Some(known) };
                handovers.extend(thumbprint.map(handover));
            }
            (TranscriptKind::Iso180137, KnownEncryption::Jwe { mdoc_generated_nonce, .. }) => {
                let handover = |nonce| Handover::Iso180137 { mdoc_generated_nonce: nonce };
                handovers.extend(mdoc_generated_nonce.map(handover));
            }
            (
                TranscriptKind::OpenId4Vp1DcApi,
                KnownEncryption::Jwe { thumbprint: thumbprint @ Some(_), .. },
            ) => {
                let handover =
                    |origin| Handover::OpenId4VpDcApi { origin, jwk_thumbprint: thumbprint };
                handovers.extend(origins.clone().map(handover));
            }
            (TranscriptKind::Iso180137AnnexC, KnownEncryption::Hpke { encryption_info }) => {
                let handover = |origin| Handover::Iso180137AnnexC { encryption_info, origin };
                handovers.extend(origins.clone().map(handover));
            }
            // An answer through a browser is encrypted, and each encryption has its own transcript.
            (TranscriptKind::OpenId4Vp1, KnownEncryption::Hpke { .. })
            | (TranscriptKind::Iso180137, KnownEncryption::Plain | KnownEncryption::Hpke { .. })
            | (
                TranscriptKind::OpenId4Vp1DcApi,
                KnownEncryption::Plain
                | KnownEncryption::Jwe { thumbprint: None, .. }
                | KnownEncryption::Hpke { .. },
            )
            | (
                TranscriptKind::Iso180137AnnexC,
                KnownEncryption::Plain | KnownEncryption::Jwe { .. },
            ) => {}
        }
    }
    handovers
}

fn private_key(public: &PublicKey, scalar: Value<'_, '_>) -> Result<EcdhPrivateKey, JwkError> {
    let read = || {
        let text = Zeroizing::new(scalar.as_str()?.into_owned());
        let bytes = Zeroizing::new(base64url::decode(&text).ok()?);
        EcdhPrivateKey::from_scalar(public.curve(), &bytes).ok()
    };
    read().ok_or(JwkError("has no usable d"))
}

#[cfg(all(test, feature = "rustcrypto"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::crypto::Es256Key;
    use crate::crypto::rustcrypto::PROVIDER;

    fn jwk(more: &str) -> String {
        let key = Es256Key::from_scalar(&[7; 32]).unwrap();
        let text = key.public_key().to_jwk_json(None);
        format!("{}{more}}}", text.strip_suffix('}').unwrap())
    }

    fn names(known: &CapturedEncryption) -> Vec<&'static str> {
        known.handovers(Profile::Draft).iter().map(Handover::name).collect()
    }

    #[test]
    fn known_facts_decide_which_handovers_are_tried_and_in_which_order() {
        let nothing = CapturedEncryption::default;
        let with_key = || nothing().with_jwk(&PROVIDER, jwk("").as_bytes()).unwrap();
        assert_eq!(names(&nothing()), ["openid4vp-1.0"]);
        assert!(matches!(
            nothing().handovers(Profile::Draft)[..],
            [Handover::OpenId4Vp { jwk_thumbprint: None }]
        ));
        assert_eq!(names(&nothing().with_apu("bm9uY2U").unwrap()), ["iso18013-7"]);
        assert_eq!(names(&with_key()), ["openid4vp-1.0"]);
        assert!(matches!(
            with_key().handovers(Profile::Draft)[..],
            [Handover::OpenId4Vp { jwk_thumbprint: Some(_) }]
        ));
        assert_eq!(
            names(&with_key().with_apu("bm9uY2U").unwrap()),
            ["openid4vp-1.0", "iso18013-7"]
        );
    }

    #[test]
    fn outside_drafts_a_wallets_nonce_adds_no_handover() {
        let nothing = CapturedEncryption::default;
        let with_key = || nothing().with_jwk(&PROVIDER, jwk("").as_bytes()).unwrap();
        for profile in [Profile::V1_0, Profile::Haip] {
            for plain in [nothing(), nothing().with_apu("bm9uY2U").unwrap()] {
                let handovers = plain.handovers(profile);
                assert!(matches!(handovers[..], [Handover::OpenId4Vp { jwk_thumbprint: None }]));
            }
            for encrypted in [with_key(), with_key().with_apu("bm9uY2U").unwrap()] {
                let handovers = encrypted.handovers(profile);
                assert!(matches!(handovers[..], [Handover::OpenId4Vp { jwk_thumbprint: Some(_) }]));
            }
        }
    }

    #[test]
    fn a_private_half_is_read_whatever_the_jwks_declared_use() {
        let d = base64url::encode(&[7; 32]);
        let text = jwk(&format!(r#","use":"enc","alg":"ECDH-ES","d":"{d}""#));
        let known = CapturedEncryption::default().with_jwk(&PROVIDER, text.as_bytes()).unwrap();
        assert_eq!(known.reader_key().unwrap().expose_scalar(), [7; 32]);
        for (bad, why) in [
            (jwk(r#","d":"AA""#), "usable d"),
            (jwk(r#","d":7"#), "usable d"),
            ("{}".into(), "kty"),
            ("{".into(), "JSON"),
        ] {
            let refused = CapturedEncryption::default().with_jwk(&PROVIDER, bad.as_bytes());
            assert!(refused.is_err_and(|error| error.0.contains(why)), "{bad}");
        }
    }
}
