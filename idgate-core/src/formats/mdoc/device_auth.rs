//! Device authentication (ISO/IEC 18013-5 9.1.3): the device's key signs, or authenticates by MAC,
//! `["DeviceAuthentication", SessionTranscript, DocType, DeviceNameSpacesBytes]`.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use crate::codec::cbor::{CborError, Entries, NodeId, Tape, Value, Writer};
use crate::cose::{CoseError, HMAC_256, Mac0, Sign1, alg_of_label};
use crate::crypto::{CryptoProvider, EcdhPrivateKey, HashAlg, PublicKey, ct};

/// The proof in `deviceAuth`.
#[derive(Debug)]
pub(crate) enum DeviceAuth<'t, 'a> {
    Signature(Sign1<'t, 'a>),
    Mac(Mac0<'t, 'a>),
}

impl<'t, 'a> DeviceAuth<'t, 'a> {
    /// Reads exactly one of `deviceSignature` and `deviceMac`, with a detached payload.
    pub(crate) fn read(device_auth: Value<'t, 'a>) -> Result<Self, CoseError> {
        let (read, payload) =
            match (device_auth.get("deviceSignature"), device_auth.get("deviceMac")) {
                (Some(signature), None) => {
                    let signature = Sign1::read(signature)?;
                    let detached = signature.payload.is_none();
                    (Self::Signature(signature), detached)
                }
                (None, Some(mac)) => {
                    let mac = Mac0::read(mac)?;
                    let detached = mac.payload.is_none();
                    (Self::Mac(mac), detached)
                }
                (Some(_), Some(_)) => {
                    return Err(CoseError("there are both a device signature and a device MAC"));
                }
                (None, None) => {
                    return Err(CoseError("there is neither a device signature nor a device MAC"));
                }
            };
        if payload {
            Ok(read)
        } else {
            Err(CoseError("the device's proof contains a payload, which must be detached"))
        }
    }

    /// Whether its algorithm fits `device_key`.
    pub(crate) fn fits(&self, device_key: &PublicKey) -> bool {
        match self {
            Self::Signature(signature) => {
                signature.headers.alg().and_then(alg_of_label) == Some(device_key.alg())
            }
            Self::Mac(mac) => mac.headers.alg() == Some(HMAC_256),
        }
    }
}

/// The data that the proof covers in addition to the session transcript.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceAuthentication<'d> {
    pub(crate) doc_type: &'d str,
    /// DeviceNameSpacesBytes as received, including the tag.
    pub(crate) device_name_spaces: &'d [u8],
    pub(crate) device_key: &'d PublicKey,
    /// The private half of the key that the device made its MAC for; without it every MAC is
    /// refused.
    pub(crate) reader_key: Option<&'d EcdhPrivateKey>,
}

impl DeviceAuthentication<'_> {
    /// Whether `proof` was made for this encoded SessionTranscript.
    pub(crate) fn verify(
        &self,
        provider: &CryptoProvider,
        proof: &DeviceAuth<'_, '_>,
        session_transcript: &[u8],
    ) -> bool {
        let payload = self.payload(session_transcript);
        match proof {
            DeviceAuth::Signature(sign1) => {
                let signed = sign1.sig_structure(&payload);
                provider.verify(self.device_key, &signed, &sign1.signature).is_ok()
            }
            DeviceAuth::Mac(mac0) => {
                let Some(key) = self.mac_key(provider, session_transcript) else { return false };
                let authenticated = mac0.mac_structure(&payload);
                let expected = provider.agreement.hmac_sha256(&*key, &authenticated);
                ct::eq(&mac0.tag, &expected)
            }
        }
    }

    /// DeviceAuthenticationBytes: the detached payload (ISO/IEC 18013-5 9.1.3.4).
    fn payload(&self, session_transcript: &[u8]) -> Vec<u8> {
        let len = session_transcript.len() + self.doc_type.len() + self.device_name_spaces.len();
        let encoded = Writer::with_capacity(32 + len)
            .array(4)
            .text("DeviceAuthentication")
            .raw(session_transcript)
            .text(self.doc_type)
            .raw(self.device_name_spaces)
            .finish();
        encoded_cbor(&encoded)
    }

    /// EMacKey (ISO/IEC 18013-5 9.1.3.5).
    fn mac_key(
        &self,
        provider: &CryptoProvider,
        session_transcript: &[u8],
    ) -> Option<Zeroizing<[u8; 32]>> {
        let shared = provider.agreement.ecdh(self.reader_key?, self.device_key).ok()?;
        let salt = provider.hash(HashAlg::Sha256, &encoded_cbor(session_transcript));
        Some(provider.hkdf_sha256(shared.as_bytes(), salt.as_bytes(), b"EMacKey"))
    }
}

/// `#6.24(bstr)` around an encoded item.
fn encoded_cbor(item: &[u8]) -> Vec<u8> {
    Writer::with_capacity(item.len() + 8).tag(24).bytes(item).finish()
}

/// DeviceNameSpaces, decoded: the claims of the device itself. The issuer attests none of them.
#[derive(Debug)]
pub(crate) struct DeviceSigned<'b> {
    tape: Tape<'b>,
    name_spaces: NodeId,
}

impl<'b> DeviceSigned<'b> {
    pub(crate) fn parse(bytes: &'b [u8]) -> Result<Self, CborError> {
        let mut tape = Tape::with_room_for(bytes.len());
        let name_spaces = tape.parse(bytes)?;
        Ok(Self { tape, name_spaces })
    }

    /// Whether `authorized` holds for every namespace and element; `None`: they are not maps.
    pub(crate) fn all(
        &self,
        mut authorized: impl FnMut(Value<'_, 'b>, Value<'_, 'b>) -> bool,
    ) -> Option<bool> {
        let mut all = true;
        for (name_space, elements) in self.tape.value(self.name_spaces).entries()? {
            let mut elements: Entries<'_, '_> = elements.entries()?;
            all &= elements.all(|(element, _)| authorized(name_space, element));
        }
        Some(all)
    }
}
