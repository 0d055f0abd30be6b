//! The answer (8.1, 8.3, B.2, B.3): one presentation for each query, plain or encrypted.

use serde_json::{Map, Value};

use super::forgery::Forgery;
use super::query::{CredentialQuery, Format, elements};
use super::request::Request;
use crate::codec::{HashAlg, base64url};
use crate::disclosure::{Disclosure, Segment};
use crate::issuer::Issued;
use crate::jwe::{Enc, Encryption};
use crate::keys::{Curve, SigningKey};
use crate::mdoc::{DeviceProof, Document, device_response, openid4vp, openid4vp_dc_api};
use crate::request_object::ResponseKey;
use crate::wallet::{Body, KbJwt, Presentation, Wallet, WalletError, present, showing};

/// The answer before it is encoded. Every part can be changed.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Where to post it.
    pub response_uri: String,
    /// `vp_token` and `state`, or `error`.
    pub parameters: Map<String, Value>,
    /// The encryption. `None`: plain.
    pub encryption: Option<Encryption>,
}

/// A presentation before it is encoded.
#[derive(Clone, Debug)]
pub(super) enum Shown {
    SdJwtVc { presentation: Presentation, kb_jwt: Box<KbJwt> },
    Mdoc { documents: Vec<Document>, transcript: Vec<u8>, proof: DeviceProof },
}

impl Wallet {
    /// Answers a request of OpenID4VP 1.0.
    ///
    /// # Errors
    /// No credential fits one of the queries.
    pub fn answer_1_0(&self, request: &Request, now_ms: u64) -> Result<Answer, WalletError> {
        self.forge_1_0(request, Forgery::None, now_ms)
    }

    /// The same, with one wrong part.
    ///
    /// # Errors
    /// No credential fits one of the queries.
    pub fn forge_1_0(
        &self,
        request: &Request,
        forgery: Forgery,
        now_ms: u64,
    ) -> Result<Answer, WalletError> {
        let mut vp_token = Map::new();
        for query in self.chosen(request, now_ms)? {
            let missing = || WalletError::NoCredential(query.id.clone());
            let mut shown = self.show(query, request, now_ms).ok_or_else(missing)?;
            forgery.change_presentation(&mut shown, request, now_ms);
            let mut text = shown.text();
            forgery.change_text(&mut text);
            vp_token.insert(query.id.clone(), vec![text].into());
        }
        let mut answer = Answer::new(request, vp_token);
        forgery.change_answer(&mut answer, request);
        Ok(answer)
    }

    /// The queries to answer: the first option of each set that the wallet can answer.
    fn chosen<'a>(
        &self,
        request: &'a Request,
        now_ms: u64,
    ) -> Result<Vec<&'a CredentialQuery>, WalletError> {
        let query = &request.query;
        if query.sets.is_empty() {
            return Ok(query.credentials.iter().collect());
        }
        let held = |id: &String| {
            let found = query.credentials.iter().find(|one| one.id == *id);
            found.is_some_and(|one| self.show(one, request, now_ms).is_some())
        };
        let mut ids: Vec<&String> = Vec::new();
        for set in &query.sets {
            match set.options.iter().find(|option| option.iter().all(held)) {
                Some(option) => ids.extend(option),
                None if set.required => return Err(WalletError::NoCredential("a set".into())),
                None => {}
            }
        }
        Ok(query.credentials.iter().filter(|one| ids.contains(&&one.id)).collect())
    }

    fn show(&self, query: &CredentialQuery, request: &Request, now_ms: u64) -> Option<Shown> {
        match query.format {
            Format::SdJwtVc => {
                let mut fitting = self.credentials().iter().filter(|one| is_of_type(one, query));
                let presentation = fitting.find_map(|one| disclose(one, &query.paths))?;
                let kb_jwt = KbJwt::new(self.key(), &presentation, &request.parties(), now_ms);
                Some(Shown::SdJwtVc { presentation, kb_jwt: Box::new(kb_jwt) })
            }
            Format::Mdoc => {
                let fitting = |one: &&Document| query.types.contains(&one.doc_type);
                let mut documents = self.documents().iter().filter(fitting);
                let document = documents.find_map(|one| show_elements(one, &query.paths))?;
                let transcript = request.transcript();
                let proof = DeviceProof::Signature;
                Some(Shown::Mdoc { documents: vec![document], transcript, proof })
            }
        }
    }
}

impl Request {
    /// The encoded SessionTranscript of its answer (B.2.6).
    pub fn transcript(&self) -> Vec<u8> {
        let thumbprint = self.encryption.as_ref().map(|(key, _)| key.thumbprint());
        self.transcript_with(&self.client_id, &self.nonce, thumbprint.as_deref())
    }

    /// The same for the given client or origin, nonce and key.
    pub(super) fn transcript_with(
        &self,
        client_id: &str,
        nonce: &str,
        thumbprint: Option<&[u8]>,
    ) -> Vec<u8> {
        match &self.origin {
            Some(origin) => openid4vp_dc_api(origin, nonce, thumbprint),
            None => openid4vp(client_id, nonce, thumbprint, &self.response_uri),
        }
    }
}

impl Shown {
    fn text(&self) -> String {
        match self {
            Self::SdJwtVc { presentation, kb_jwt } => present(presentation, Some(&kb_jwt.sign())),
            Self::Mdoc { documents, transcript, proof } => {
                let proved = documents.iter().map(|one| one.prove(transcript, proof)).collect();
                base64url(&device_response(proved).encode())
            }
        }
    }
}

impl Answer {
    /// An answer with these presentations, encrypted if the request demands it.
    pub fn new(request: &Request, vp_token: Map<String, Value>) -> Self {
        Self::of(request, "vp_token", vp_token.into(), true)
    }

    /// An error of the wallet (8.5), encrypted if the request demands it.
    pub fn error(request: &Request, code: &str, encrypted: bool) -> Self {
        Self::of(request, "error", code.into(), encrypted)
    }

    /// The compact JWE; `None`: it is not encrypted, or a key is not on P-256.
    pub fn jwe(&self) -> Option<String> {
        let plaintext = Value::from(self.parameters.clone()).to_string();
        Some(self.encryption.as_ref()?.encrypt(plaintext.as_bytes())?.join("."))
    }

    /// As `application/x-www-form-urlencoded`.
    pub fn body(&self) -> Body {
        match self.jwe() {
            Some(jwe) => Body::form(&Map::from_iter([(String::from("response"), jwe.into())])),
            None => Body::form(&self.parameters),
        }
    }

    fn of(request: &Request, member: &str, value: Value, encrypted: bool) -> Self {
        let mut parameters = Map::from_iter([(String::from(member), value)]);
        if let Some(state) = &request.state {
            parameters.insert("state".into(), state.as_str().into());
        }
        let encryption = request.encryption.as_ref().filter(|_| encrypted);
        Self {
            response_uri: request.response_uri.clone(),
            parameters,
            encryption: encryption.map(|(key, enc)| encrypt_to(key, *enc, &request.nonce)),
        }
    }
}

/// An encryption to this key, with meaningless party information like that of a conformance suite. All of
/// it depends on the request's nonce: different for each request, the same on every run.
pub(super) fn encrypt_to(key: &ResponseKey, enc: Enc, nonce: &str) -> Encryption {
    let of = |what: &str| HashAlg::Sha256.hash(format!("{what} {nonce}").as_bytes());
    let ephemeral = SigningKey::from_seed(Curve::P256, of("ephemeral"));
    Encryption::new(&key.point, &key.kid, enc, &ephemeral).with_party_info(&of("apu"), &of("apv"))
}

fn is_of_type(credential: &Issued, query: &CredentialQuery) -> bool {
    let payload = credential.payload();
    let vct = payload.get("vct").and_then(Value::as_str).unwrap_or_default();
    query.types.iter().any(|accepted| accepted == vct)
}

/// The disclosures that the paths select, with their ancestors and all their parts. `None`: a path selects nothing.
fn disclose(credential: &Issued, paths: &[Vec<Value>]) -> Option<Presentation> {
    let payload = credential.payload();
    let below = |one: &Disclosure, path: &[Value]| {
        let rest = path.get(one.path.len()..).filter(|_| !one.path.is_empty());
        let value = one.json().and_then(|parts| elements(&parts).last().cloned());
        runs_along(&one.path, path) && rest.zip(value).is_some_and(|(rest, v)| is_visible(&v, rest))
    };
    let held = |path: &Vec<Value>| {
        is_visible(&payload, path) || credential.disclosures.iter().any(|one| below(one, path))
    };
    let wanted = |place: &[Segment]| paths.iter().any(|path| runs_along(place, path));
    paths.iter().all(held).then(|| {
        Presentation::choosing(credential, |one| !one.path.is_empty() && wanted(&one.path))
    })
}

/// Whether one of place and path is a prefix of the other.
fn runs_along(place: &[Segment], path: &[Value]) -> bool {
    place.iter().zip(path).all(|(segment, step)| match segment {
        Segment::Name(name) => step == name.as_str(),
        Segment::Index(index) => step.is_null() || *step == *index,
    })
}

fn is_visible(value: &Value, path: &[Value]) -> bool {
    match path {
        [] => true,
        [Value::Null, rest @ ..] => elements(value).iter().any(|one| is_visible(one, rest)),
        [Value::String(name), rest @ ..] => {
            value.get(name).is_some_and(|value| is_visible(value, rest))
        }
        [step, rest @ ..] => {
            let index = step.as_u64().and_then(|index| usize::try_from(index).ok());
            index.and_then(|index| value.get(index)).is_some_and(|value| is_visible(value, rest))
        }
    }
}

/// The document with only these elements. `None`: it lacks one.
fn show_elements(document: &Document, paths: &[Vec<Value>]) -> Option<Document> {
    let elements: Option<Vec<(&str, &str)>> = paths.iter().map(|path| element(path)).collect();
    showing(document, elements?)
}

/// Namespace and name of an element (7.2).
fn element(path: &[Value]) -> Option<(&str, &str)> {
    match path {
        [Value::String(name_space), Value::String(element)] => Some((name_space, element)),
        _ => None,
    }
}
