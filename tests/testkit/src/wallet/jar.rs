//! The wallet in the jar profile: its answer is encrypted to the request's key (OpenID4VP 8.3), and
//! an mdoc is proved in one of two session transcripts.

use serde_json::{Map, Value};

use super::{Answer, Body, Wallet, WalletError, prove_mdoc};
use crate::jwe::{Enc, Encryption};
use crate::keys::{Curve, SigningKey};
use crate::mdoc::{DeviceProof, iso_18013_7, openid4vp};
use crate::request_object::JarRequest;

/// The session transcripts of encrypted answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transcript {
    /// OpenID4VP 1.0 B.2.6.1, with the thumbprint of the request's key
    OpenId4Vp,
    /// ISO/IEC TS 18013-7 B.4.4, with the wallet's nonce in `apu`
    Iso180137,
}

/// An answer to a signed request, before it is encrypted: every part can be changed.
#[derive(Clone, Debug)]
pub struct JarAnswer {
    /// The address to post it to.
    pub response_uri: String,
    /// The plaintext, as a JSON object.
    pub payload: Map<String, Value>,
    /// Encrypted instead of `payload`.
    pub payload_bytes: Option<Vec<u8>>,
    /// The encryption.
    pub encryption: Encryption,
}

impl Wallet {
    /// Answers a signed request. A device proves with a MAC when `device_mac`.
    ///
    /// # Errors
    /// No credential fits one of the descriptors.
    pub fn answer_jar(
        &self,
        jar: &JarRequest,
        transcript: Transcript,
        device_mac: bool,
        now_ms: u64,
    ) -> Result<JarAnswer, WalletError> {
        let bytes = transcript.encode(jar, MDOC_GENERATED_NONCE);
        let proof = match device_mac {
            true => DeviceProof::Mac(jar.key.point.clone()),
            false => DeviceProof::Signature,
        };
        let show = |document: &_| prove_mdoc(document, &bytes, &proof);
        let answer = self.answer_with(&jar.request, now_ms, show)?;
        Ok(JarAnswer::new(jar, &answer))
    }
}

/// The mdocGeneratedNonce of ISO/IEC TS 18013-7. A wallet draws it at random; this one is the same on
/// every run.
const MDOC_GENERATED_NONCE: &str = "SKpQ5gK0pfXWTdSwdXNVlg";

impl Transcript {
    /// The encoded SessionTranscript of an answer to `jar`.
    pub fn encode(self, jar: &JarRequest, mdoc_generated_nonce: &str) -> Vec<u8> {
        let request = &jar.request;
        let (client_id, nonce) = (&request.client_id, &request.nonce);
        match self {
            Self::OpenId4Vp => {
                let thumbprint = jar.key.thumbprint();
                openid4vp(client_id, nonce, Some(&thumbprint), &request.response_uri)
            }
            Self::Iso180137 => {
                iso_18013_7(client_id, nonce, mdoc_generated_nonce, &request.response_uri)
            }
        }
    }
}

impl JarAnswer {
    /// `answer`, to be encrypted to the key of `jar` with A256GCM; `apu` and `apv` as ISO/IEC TS
    /// 18013-7 B.4.3.3.2 wants them.
    pub fn new(jar: &JarRequest, answer: &Answer) -> Self {
        let mut made = Self {
            response_uri: jar.request.response_uri.clone(),
            payload: answer.parameters(),
            payload_bytes: None,
            encryption: Self::encryption(jar, Enc::A256Gcm, "sample"),
        };
        made.encryption = made
            .encryption
            .with_party_info(MDOC_GENERATED_NONCE.as_bytes(), jar.request.nonce.as_bytes());
        made
    }

    /// An error of the wallet, to be encrypted like an answer.
    pub fn error(jar: &JarRequest, code: &str) -> Self {
        let payload = Map::from_iter([
            (String::from("error"), code.into()),
            (String::from("state"), jar.request.state.as_str().into()),
        ]);
        Self {
            response_uri: jar.request.response_uri.clone(),
            payload,
            payload_bytes: None,
            encryption: Self::encryption(jar, Enc::A256Gcm, "sample"),
        }
    }

    /// With another `enc`, and the same party information.
    #[must_use]
    pub fn with_enc(mut self, enc: Enc) -> Self {
        self.encryption.set("enc", enc.name());
        self.encryption.enc = enc;
        self
    }

    /// To the key of `jar`, without party information, from the ephemeral key of `seed` and the
    /// request's nonce: a different one for each request, the same on every run.
    pub fn encryption(jar: &JarRequest, enc: Enc, seed: &str) -> Encryption {
        let seed = format!("{seed} ephemeral {}", jar.request.nonce);
        let ephemeral = SigningKey::from_seed(Curve::P256, seed);
        Encryption::new(&jar.key.point, &jar.key.kid, enc, &ephemeral)
    }

    /// The compact JWE; empty when a key is not on P-256.
    pub fn jwe(&self) -> String {
        let text = || Value::from(self.payload.clone()).to_string().into_bytes();
        let plaintext = self.payload_bytes.clone().unwrap_or_else(text);
        self.encryption.encrypt(&plaintext).map(|parts| parts.join(".")).unwrap_or_default()
    }

    /// The form with `response`.
    pub fn form_body(&self) -> Body {
        Body::form(&Map::from_iter([(String::from("response"), self.jwe().into())]))
    }
}
