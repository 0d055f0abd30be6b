//! Answers that a verifier must refuse, or accepts for a reason: one part differs from that of an honest
//! wallet.

use serde_json::{Map, Value, json};

use super::answer::{Answer, Shown, encrypt_to};
use super::request::Request;
use crate::jws;
use crate::keys::{Curve, SigningKey};
use crate::mdoc::{DeviceProof, Document, iso_18013_7, openid4vp};
use crate::request_object::ResponseKey;
use crate::time::{MINUTE_MS, YEAR_MS, numeric_date};

/// The fault of an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Forgery {
    /// Nothing.
    None,
    /// The credential is signed by another key than its issuer's.
    CredentialSignature,
    /// The device signed another SessionTranscript.
    Transcript,
    /// It signed the one of ISO/IEC TS 18013-7 Annex B.
    TranscriptOfAnnexB,
    /// It signed one without a thumbprint although there is a key, or with one although there is none.
    TranscriptThumbprint,
    /// It signed one for another nonce.
    TranscriptNonce,
    /// It signed one for the client without its prefix; through a browser, the one of links.
    TranscriptClient,
    /// It made a MAC instead.
    DeviceMac,
    /// Two documents in one response.
    TwoDocuments,
    /// The requested document and one of a type that was not requested.
    AnotherDocument,
    /// A proof signed with another key than the credential's.
    DeviceKey,
    /// The holder's signature, with one bit changed.
    KbSignature,
    /// A proof signed with another key than the credential's.
    KbKey,
    /// The proof covers other disclosures.
    SdHash,
    /// The proof repeats another nonce.
    Nonce,
    /// The proof is for another verifier.
    Audience,
    /// The proof is for the client without its prefix.
    AudienceWithoutPrefix,
    /// The proof is for the address that the answer is posted to.
    AudienceOfResponseUri,
    /// The proof is a year old.
    IatYearBack,
    /// The proof is from tomorrow.
    IatAhead,
    /// No proof.
    NoProof,
    /// An additional answer to a query that does not exist.
    UnknownQueryId,
    /// The first query is not answered.
    MissingQueryId,
    /// No query is answered.
    NoQueryId,
    /// Two presentations for a query that asked for one.
    SeveralPresentations,
    /// No presentation for a query.
    NoPresentations,
    /// A bare string instead of an array of one.
    BareString,
    /// An object where a presentation is a string.
    ObjectElement,
    /// A number where a presentation is a string.
    NumberElement,
    /// `vp_token` in the form of the drafts: one string.
    DraftString,
    /// `vp_token` in the form of the drafts: an array, with a `presentation_submission`.
    DraftArray,
    /// Another `state`.
    State,
    /// No `state`.
    NoState,
    /// Encrypted to a key that the request does not have.
    OtherKey,
    /// Not encrypted although it should be.
    Unencrypted,
}

impl Forgery {
    /// Faults of SD-JWT VCs only.
    pub const SD_JWT_VC: &[Self] = &[
        Self::KbSignature,
        Self::KbKey,
        Self::SdHash,
        Self::Nonce,
        Self::Audience,
        Self::AudienceWithoutPrefix,
        Self::AudienceOfResponseUri,
        Self::IatYearBack,
        Self::IatAhead,
        Self::NoProof,
    ];

    /// Faults of mdocs only.
    pub const MDOC: &[Self] = &[
        Self::Transcript,
        Self::TranscriptOfAnnexB,
        Self::TranscriptThumbprint,
        Self::TranscriptNonce,
        Self::TranscriptClient,
        Self::DeviceMac,
        Self::TwoDocuments,
        Self::AnotherDocument,
        Self::DeviceKey,
    ];

    /// Faults of answers in either format.
    pub const EVERY: &[Self] = &[
        Self::CredentialSignature,
        Self::UnknownQueryId,
        Self::MissingQueryId,
        Self::NoQueryId,
        Self::SeveralPresentations,
        Self::NoPresentations,
        Self::BareString,
        Self::ObjectElement,
        Self::NumberElement,
        Self::DraftString,
        Self::DraftArray,
        Self::State,
        Self::NoState,
        Self::OtherKey,
        Self::Unencrypted,
    ];

    pub(super) fn change_presentation(self, shown: &mut Shown, request: &Request, now_ms: u64) {
        match shown {
            Shown::SdJwtVc { presentation, kb_jwt } => {
                if self == Self::CredentialSignature {
                    presentation.jwt = with_other_signature(&presentation.jwt);
                    kb_jwt.set("sd_hash", presentation.sd_hash());
                }
                let (prefix, client) = request.client_id.split_once(':').unwrap_or_default();
                match self {
                    Self::KbKey => kb_jwt.key = another_key(),
                    Self::SdHash => kb_jwt.set("sd_hash", presentation.hash.digest("another")),
                    Self::Nonce => kb_jwt.set("nonce", another(&request.nonce)),
                    Self::Audience => kb_jwt.set("aud", format!("{prefix}:another.example")),
                    Self::AudienceWithoutPrefix => kb_jwt.set("aud", client),
                    Self::AudienceOfResponseUri => kb_jwt.set("aud", &*request.response_uri),
                    Self::IatYearBack => {
                        kb_jwt.set("iat", numeric_date(now_ms.saturating_sub(YEAR_MS)));
                    }
                    Self::IatAhead => {
                        kb_jwt.set("iat", numeric_date(now_ms.saturating_add(1440 * MINUTE_MS)));
                    }
                    _ => {}
                }
            }
            Shown::Mdoc { documents, transcript, proof } => {
                if let Some(other) = self.transcript(request) {
                    *transcript = other;
                }
                match self {
                    Self::TwoDocuments => documents.extend(documents.first().cloned()),
                    Self::AnotherDocument => {
                        let doc_type = "org.example.another".into();
                        let another = documents.first().cloned();
                        documents.extend(another.map(|one| Document { doc_type, ..one }));
                    }
                    Self::CredentialSignature => {
                        let signers = documents.iter_mut().map(|one| &mut one.issuer_signed.key);
                        signers.for_each(|key| *key = another_key());
                    }
                    Self::DeviceKey => {
                        let devices = documents.iter_mut().map(|one| &mut one.device_key);
                        devices.for_each(|key| *key = another_key());
                    }
                    Self::DeviceMac => {
                        let key = request.encryption.as_ref().map(|(key, _)| key.point.clone());
                        *proof = DeviceProof::Mac(key.unwrap_or(another_key().public_sec1()));
                    }
                    _ => {}
                }
            }
        }
    }

    pub(super) fn change_text(self, text: &mut String) {
        match self {
            Self::KbSignature => *text = with_other_signature(text),
            Self::NoProof => {
                let end = text.rfind('~').map_or(text.len(), |at| at.saturating_add(1));
                text.truncate(end);
            }
            _ => {}
        }
    }

    pub(super) fn change_answer(self, answer: &mut Answer, request: &Request) {
        self.change_envelope(answer, request);
        let parameters = &mut answer.parameters;
        let Some(Value::Object(vp_token)) = parameters.get_mut("vp_token") else { return };
        let first = vp_token.keys().next().cloned().unwrap_or_default();
        let presentation = vp_token.get(&first).map_or(Value::Null, |list| list[0].clone());
        let changed = match self {
            Self::SeveralPresentations => json!([presentation, presentation]),
            Self::NoPresentations => json!([]),
            Self::BareString => presentation.clone(),
            Self::ObjectElement => json!([{ "presentation": presentation }]),
            Self::NumberElement => json!([1]),
            Self::UnknownQueryId => {
                vp_token.insert("nobody_asked".into(), json!([presentation]));
                return;
            }
            Self::MissingQueryId => {
                vp_token.remove(&first);
                return;
            }
            Self::NoQueryId => return vp_token.clear(),
            Self::DraftString | Self::DraftArray => {
                let several = self == Self::DraftArray;
                let token = if several { json!([presentation]) } else { presentation };
                return as_in_drafts(parameters, &first, token);
            }
            _ => return,
        };
        vp_token.insert(first, changed);
    }

    fn change_envelope(self, answer: &mut Answer, request: &Request) {
        match self {
            Self::State => {
                let state = another(request.state.as_deref().unwrap_or_default());
                answer.parameters.insert("state".into(), state.into());
            }
            Self::NoState => drop(answer.parameters.remove("state")),
            Self::Unencrypted => answer.encryption = None,
            Self::OtherKey => {
                let Some((key, enc)) = &request.encryption else { return };
                let point = another_key().public_sec1();
                let key = ResponseKey { point, ..key.clone() };
                answer.encryption = Some(encrypt_to(&key, *enc, &request.nonce));
            }
            _ => {}
        }
    }

    /// The SessionTranscript to sign instead.
    fn transcript(self, request: &Request) -> Option<Vec<u8>> {
        let own = request.encryption.as_ref().map(|(key, _)| key.thumbprint());
        let (client_id, nonce) = (&*request.client_id, &*request.nonce);
        let response_uri = &*request.response_uri;
        match self {
            Self::Transcript => {
                let other = Request {
                    response_uri: "https://another.example/r".into(),
                    origin: request.origin.as_ref().map(|_| "https://another.example".into()),
                    ..request.clone()
                };
                Some(other.transcript())
            }
            Self::TranscriptOfAnnexB => {
                Some(iso_18013_7(client_id, nonce, "the wallet's nonce", response_uri))
            }
            Self::TranscriptThumbprint => {
                let other = if own.is_some() { None } else { Some(&[7; 32][..]) };
                Some(request.transcript_with(client_id, nonce, other))
            }
            Self::TranscriptNonce => {
                Some(request.transcript_with(client_id, &another(nonce), own.as_deref()))
            }
            Self::TranscriptClient => {
                let (_, client) = client_id.split_once(':').unwrap_or_default();
                Some(openid4vp(client, nonce, own.as_deref(), response_uri))
            }
            _ => None,
        }
    }
}

fn as_in_drafts(parameters: &mut Map<String, Value>, id: &str, vp_token: Value) {
    let path = if vp_token.is_array() { "$[0]" } else { "$" };
    let submission = json!({
        "id": "submission",
        "definition_id": "definition",
        "descriptor_map": [{ "id": id, "format": "vc+sd-jwt", "path": path }],
    });
    parameters.insert("vp_token".into(), vp_token);
    parameters.insert("presentation_submission".into(), submission);
}

fn another_key() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "another")
}

/// A text of the same length and alphabet.
fn another(text: &str) -> String {
    text.chars().map(|c| if c == 'A' { 'B' } else { 'A' }).collect()
}

/// The signature of the JWS at the end of the text, with one bit changed.
fn with_other_signature(text: &str) -> String {
    let flipped = jws::with_signature(text, |mut signature| {
        signature.iter_mut().skip(7).take(1).for_each(|byte| *byte ^= 1);
        signature
    });
    flipped.unwrap_or_default()
}
