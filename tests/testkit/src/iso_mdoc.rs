//! A wallet of ISO/IEC TS 18013-7 Annex C (`org-iso-mdoc`): reads the request that a page passes to its
//! browser, checks the signer, and answers with a DeviceResponse that is encrypted by HPKE. Every part of
//! the answer can be changed before it is sealed.

use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde_json::{Value, json};

use crate::codec::{HashAlg, base64url, from_base64url};
use crate::hpke::Sealing;
use crate::keys::{Curve, SigningKey};
use crate::mdoc::{Cbor, DeviceProof, Document, device_response, iso_18013_7_annex_c};
use crate::openid4vp::Certificate;
use crate::wallet::{Wallet, WalletError, showing};

/// The protocol, by the name that pages and browsers use for it.
pub const PROTOCOL: &str = "org-iso-mdoc";

/// A request, as the wallet reads it.
#[derive(Clone, Debug)]
pub struct IsoMdocRequest {
    /// EncryptionInfo as it was sent.
    pub encryption_info: String,
    /// The origin of the page that asked.
    pub origin: String,
    /// In EncryptionInfo.
    pub nonce: Vec<u8>,
    /// The uncompressed point that the answer is encrypted to.
    pub recipient: Vec<u8>,
    /// The requested documents.
    pub documents: Vec<AskedDocument>,
    /// The registration certificate of a second-edition request, `euWrprc`, which is the same in each document.
    pub registration: Option<String>,
    /// `readerAuthAll`
    pub reader_auth_all: Option<Cbor>,
}

/// One requested document.
#[derive(Clone, Debug)]
pub struct AskedDocument {
    /// Its type.
    pub doc_type: String,
    /// Namespace and name of each element.
    pub elements: Vec<(String, String)>,
    /// Whether the verifier says that it keeps any of them.
    pub retains: bool,
    /// ItemsRequestBytes, with the tag.
    pub items: Vec<u8>,
    /// `readerAuth`
    pub reader_auth: Option<Cbor>,
}

/// The answer before it is sealed.
#[derive(Clone, Debug)]
pub struct IsoMdocAnswer {
    /// The content of the answer.
    pub documents: Vec<Document>,
    /// The encoded SessionTranscript for the device.
    pub transcript: Vec<u8>,
    /// The kind of proof.
    pub proof: DeviceProof,
    /// How the response is encrypted.
    pub sealing: Sealing,
}

impl IsoMdocRequest {
    /// Reads `data` from a page at `origin`. `None`: it has another form.
    pub fn read(data: &Value, origin: &str) -> Option<Self> {
        let encryption_info = data["encryptionInfo"].as_str()?;
        let info = Cbor::decode(&from_base64url(encryption_info)?)?;
        let [Cbor::Text(name), parameters] = info.elements()? else { return None };
        let key = parameters.get("recipientPublicKey")?;
        let coordinate = |label| key.label(label)?.bytes().filter(|bytes| bytes.len() == 32);
        let kind = (key.label(1)?, key.label(-1)?, key.entries()?.len());
        let device_request = Cbor::decode(&from_base64url(data["deviceRequest"].as_str()?)?)?;
        let documents = device_request.get("docRequests")?.elements()?;
        let read = Self {
            encryption_info: encryption_info.into(),
            origin: origin.into(),
            nonce: parameters.get("nonce")?.bytes()?.to_vec(),
            recipient: [&[4], coordinate(-2)?, coordinate(-3)?].concat(),
            documents: documents.iter().map(AskedDocument::read).collect::<Option<_>>()?,
            registration: registration(documents)?,
            reader_auth_all: device_request.get("readerAuthAll").cloned(),
        };
        let is_ours = name == "dcapi" && kind == (&2.into(), &1.into(), 4);
        let is_version = match device_request.get("version")?.text()? {
            "1.0" => read.registration.is_none() && read.reader_auth_all.is_none(),
            "1.1" => read.registration.is_some() && read.reader_auth_all.is_some(),
            _ => false,
        };
        (is_ours && is_version && read.nonce.len() >= 16).then_some(read)
    }

    /// The encoded SessionTranscript.
    pub fn transcript(&self) -> Vec<u8> {
        iso_18013_7_annex_c(&self.encryption_info, &self.origin)
    }

    /// The certificates of the reader that signed a request of the second edition, by its `readerAuthAll` (ISO/IEC 18013-5 second edition 12.5).
    pub fn reader_of_all(&self) -> Option<Vec<Certificate>> {
        let [signature] = self.reader_auth_all.as_ref()?.elements()? else { return None };
        let items = self.documents.iter().map(|asked| Cbor::Raw(asked.items.clone()));
        let authentication = Cbor::Array(vec![
            "ReaderAuthenticationAll".into(),
            Cbor::Raw(self.transcript()),
            Cbor::Array(items.collect()),
            Cbor::Null,
        ]);
        signer_of(signature, &authentication)
    }

    /// The certificates of the reader that signed each document, leaf first. `None`: there is none, or its
    /// signature is wrong.
    pub fn reader(&self) -> Option<Vec<Certificate>> {
        let transcript = self.transcript();
        let mut readers = self.documents.iter().map(|asked| asked.reader(&transcript));
        let first = readers.next()??;
        readers.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }
}

impl AskedDocument {
    fn read(request: &Cbor) -> Option<Self> {
        let items = request.get("itemsRequest")?;
        let asked = items.embedded()?;
        let (mut elements, mut retains) = (Vec::new(), false);
        for (name_space, names) in asked.get("nameSpaces")?.entries()? {
            for (name, retain) in names.entries()? {
                elements.push((name_space.text()?.into(), name.text()?.into()));
                retains |= *retain != Cbor::Bool(false);
            }
        }
        Some(Self {
            doc_type: asked.get("docType")?.text()?.into(),
            elements,
            retains,
            items: items.encode(),
            reader_auth: request.get("readerAuth").cloned(),
        })
    }

    /// ISO/IEC 18013-5 9.1.4.
    fn reader(&self, transcript: &[u8]) -> Option<Vec<Certificate>> {
        let authentication = Cbor::Array(vec![
            "ReaderAuthentication".into(),
            Cbor::Raw(transcript.to_vec()),
            Cbor::Raw(self.items.clone()),
        ]);
        signer_of(self.reader_auth.as_ref()?, &authentication)
    }
}

/// The registration certificate of these requests, which must all have the same one (ETSI TS 119 472-2 5.3.2).
/// `None`: they have another form.
fn registration(documents: &[Cbor]) -> Option<Option<String>> {
    let mut found = Vec::new();
    for request in documents {
        let asked = request.get("itemsRequest")?.embedded()?;
        found.push(match asked.get("requestInfo") {
            None => None,
            Some(info) => Some(String::from_utf8(info.get("euWrprc")?.bytes()?.to_vec()).ok()?),
        });
    }
    found.dedup();
    (found.len() == 1).then(|| found.remove(0))
}

/// The certificates of the reader that signed this, leaf first. `None`: the signature is invalid.
fn signer_of(message: &Cbor, authentication: &Cbor) -> Option<Vec<Certificate>> {
    let [protected, unprotected, Cbor::Null, signature] = message.elements()? else {
        return None;
    };
    let chain: Vec<Certificate> = match unprotected.label(33)? {
        Cbor::Bytes(only) => vec![Certificate::read(only)?],
        several => {
            let each = several.elements()?.iter();
            each.map(|one| Certificate::read(one.bytes()?)).collect::<Option<_>>()?
        }
    };
    let signed = Cbor::Array(vec![
        "Signature1".into(),
        protected.clone(),
        Cbor::Bytes(Vec::new()),
        Cbor::Bytes(authentication.to_encoded().encode()),
    ]);
    let key = VerifyingKey::from_sec1_bytes(&chain.first()?.point).ok()?;
    let signature = Signature::from_slice(signature.bytes()?).ok()?;
    let is_es256 = protected.bytes()? == b"\xa1\x01\x26";
    (is_es256 && key.verify(&signed.encode(), &signature).is_ok()).then_some(chain)
}

impl Wallet {
    /// Answers a request of ISO/IEC TS 18013-7 Annex C: for each requested document, with the first one that
    /// has all of its elements.
    ///
    /// # Errors
    /// No document fits one of them.
    pub fn answer_iso_mdoc(&self, request: &IsoMdocRequest) -> Result<IsoMdocAnswer, WalletError> {
        let show = |asked: &AskedDocument| {
            let mut fitting = self.documents().iter().filter(|one| one.doc_type == asked.doc_type);
            let elements =
                || asked.elements.iter().map(|(space, name)| (space.as_str(), name.as_str()));
            let found = fitting.find_map(|one| showing(one, elements()));
            found.ok_or_else(|| WalletError::NoCredential(asked.doc_type.clone()))
        };
        let documents = request.documents.iter().map(show).collect::<Result<_, _>>()?;
        Ok(IsoMdocAnswer::new(request, documents))
    }
}

impl IsoMdocAnswer {
    /// An answer with these documents. The ephemeral key depends on the request: different for each, the
    /// same on every run.
    pub fn new(request: &IsoMdocRequest, documents: Vec<Document>) -> Self {
        let seed = HashAlg::Sha256.hash(format!("hpke {}", request.encryption_info).as_bytes());
        let transcript = request.transcript();
        Self {
            documents,
            proof: DeviceProof::Signature,
            sealing: Sealing {
                recipient: request.recipient.clone(),
                ephemeral: SigningKey::from_seed(Curve::P256, seed),
                info: transcript.clone(),
            },
            transcript,
        }
    }

    /// Signed by the device; change any entry before it is sealed.
    pub fn device_response(&self) -> Cbor {
        let prove = |one: &Document| one.prove(&self.transcript, &self.proof);
        device_response(self.documents.iter().map(prove).collect())
    }

    /// `["dcapi", {"enc", "cipherText"}]` of this plaintext; empty when a key is not on P-256.
    pub fn encrypted(&self, plaintext: &[u8]) -> Cbor {
        let (enc, sealed) = self.sealing.seal(plaintext).unwrap_or_default();
        let parts = [("enc", Cbor::Bytes(enc)), ("cipherText", Cbor::Bytes(sealed))];
        Cbor::Array(vec!["dcapi".into(), Cbor::map(parts)])
    }

    /// The result of `DigitalCredential.toJSON()` for the page.
    pub fn credential(&self) -> Value {
        self.credential_of(&self.device_response().encode())
    }

    /// The same with another plaintext.
    pub fn credential_of(&self, plaintext: &[u8]) -> Value {
        let response = base64url(&self.encrypted(plaintext).encode());
        json!({ "protocol": PROTOCOL, "data": { "response": response } })
    }
}
