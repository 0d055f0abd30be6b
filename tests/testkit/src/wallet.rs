//! The sample wallet: chooses disclosures, proves possession of its key, answers a request. It does no
//! IO: its caller posts the body. Every part can be changed before the next is made.

mod answer;
mod jar;
mod kb_jwt;
mod mdoc;
mod presentation;

use std::fmt;

pub use self::answer::{Answer, Body};
pub use self::jar::{JarAnswer, Transcript};
pub use self::kb_jwt::KbJwt;
pub(crate) use self::mdoc::showing;
pub use self::mdoc::{disclosing, present_mdoc, prove_mdoc};
pub use self::presentation::{Presentation, present};
use crate::issuer::Issued;
use crate::keys::SigningKey;
use crate::mdoc::Document;
use crate::request::{AuthorizationRequest, InputDescriptor, RequestRefused};

/// A holder with one key and some credentials.
#[derive(Clone, Debug)]
pub struct Wallet {
    key: SigningKey,
    credentials: Vec<Issued>,
    documents: Vec<Document>,
}

/// The reason why the wallet has no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WalletError {
    /// The request breaks a rule.
    Request(RequestRefused),
    /// No credential for the input descriptor of this id.
    NoCredential(String),
}

impl fmt::Display for WalletError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(refused) => refused.fmt(f),
            Self::NoCredential(id) => write!(f, "the wallet holds no credential for {id}"),
        }
    }
}

impl std::error::Error for WalletError {}

impl From<RequestRefused> for WalletError {
    fn from(refused: RequestRefused) -> Self {
        Self::Request(refused)
    }
}

impl Wallet {
    /// A wallet without credentials.
    pub fn new(key: SigningKey) -> Self {
        Self { key, credentials: Vec::new(), documents: Vec::new() }
    }

    /// With an mdoc, which has its own device key.
    #[must_use]
    pub fn with_mdoc(mut self, document: Document) -> Self {
        self.documents.push(document);
        self
    }

    /// With a credential.
    #[must_use]
    pub fn with(mut self, credential: Issued) -> Self {
        self.credentials.push(credential);
        self
    }

    /// The credentials that it holds.
    pub fn credentials(&self) -> &[Issued] {
        &self.credentials
    }

    /// The mdocs that it holds.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The key that credentials are bound to.
    pub fn key(&self) -> &SigningKey {
        &self.key
    }

    /// Reads the request from its URI and answers it.
    ///
    /// # Errors
    /// The request breaks a rule, or no credential fits.
    pub fn answer_uri(&self, uri: &str, now_ms: u64) -> Result<Answer, WalletError> {
        self.answer(&AuthorizationRequest::parse(uri)?, now_ms)
    }

    /// Answers a request: one presentation per input descriptor.
    ///
    /// # Errors
    /// No credential fits one of the descriptors.
    pub fn answer(
        &self,
        request: &AuthorizationRequest,
        now_ms: u64,
    ) -> Result<Answer, WalletError> {
        self.answer_with(request, now_ms, |document| present_mdoc(document, request))
    }

    /// The same, with a function that presents an mdoc.
    fn answer_with(
        &self,
        request: &AuthorizationRequest,
        now_ms: u64,
        show: impl Fn(&Document) -> String,
    ) -> Result<Answer, WalletError> {
        let presentations: Result<Vec<String>, WalletError> = request
            .descriptors
            .iter()
            .map(|descriptor| self.present_for(descriptor, request, now_ms, &show))
            .collect();
        Ok(Answer::new(request, presentations?))
    }

    /// The first credential of an accepted type that has every requested claim.
    pub fn find(&self, descriptor: &InputDescriptor) -> Option<&Issued> {
        self.credentials.iter().find(|credential| {
            let payload = credential.payload();
            let vct = payload.get("vct").and_then(|vct| vct.as_str()).unwrap_or_default();
            let accepted = descriptor.vct.is_empty() || descriptor.vct.iter().any(|v| v == vct);
            accepted && descriptor.claims.iter().all(|claim| credential.has_claim(claim))
        })
    }

    fn present_for(
        &self,
        descriptor: &InputDescriptor,
        request: &AuthorizationRequest,
        now_ms: u64,
        show: &dyn Fn(&Document) -> String,
    ) -> Result<String, WalletError> {
        let missing = || WalletError::NoCredential(descriptor.id.clone());
        if let Some(name_space) = &descriptor.name_space {
            let documents =
                self.documents.iter().filter(|document| document.doc_type == descriptor.id);
            let mut shown =
                documents.filter_map(|one| disclosing(one, name_space, &descriptor.claims));
            return Ok(show(&shown.next().ok_or_else(missing)?));
        }
        let credential = self.find(descriptor).ok_or_else(missing)?;
        let presentation = Presentation::disclosing(credential, &descriptor.claims);
        let kb_jwt = KbJwt::new(&self.key, &presentation, request, now_ms);
        Ok(present(&presentation, Some(&kb_jwt.sign())))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::{jws, samples};

    fn request(vct: &str, claims: &[&str]) -> AuthorizationRequest {
        AuthorizationRequest {
            client_id: "redirect_uri:https://gateway.example/r".into(),
            response_uri: "https://gateway.example/r".into(),
            nonce: "the nonce".into(),
            state: "the state".into(),
            definition_id: "def".into(),
            descriptors: vec![InputDescriptor {
                id: "pid".into(),
                vct: vec![vct.into()],
                claims: claims.iter().map(|claim| String::from(*claim)).collect(),
                name_space: None,
            }],
        }
    }

    fn wallet() -> Wallet {
        let sample = samples::issue_sample(1_000_000);
        Wallet::new(sample.holder_key).with(sample.credential)
    }

    #[test]
    fn only_requested_claims_are_disclosed_and_all_of_their_parts() {
        let request = request(samples::VCT, &["family_name", "address"]);
        let answer = wallet().answer(&request, 5_000).unwrap();
        let parts: Vec<&str> = answer.presentations[0].split('~').collect();
        let names: Vec<String> = parts[1..parts.len() - 1]
            .iter()
            .map(|text| crate::codec::from_base64url(text).unwrap())
            .map(|json| serde_json::from_slice::<serde_json::Value>(&json).unwrap())
            .map(|array| array[1].as_str().unwrap().into())
            .collect();
        assert!(names.contains(&"family_name".into()) && names.contains(&"locality".into()));
        assert!(!names.contains(&"given_name".into()) && !names.contains(&"birthdate".into()));
        assert_eq!(jws::payload(parts[parts.len() - 1]).unwrap()["iat"], 5);
    }

    #[test]
    fn a_wallet_without_a_fitting_credential_says_so() {
        let missing = WalletError::NoCredential("pid".into());
        let other_type = request("urn:other", &["family_name"]);
        assert_eq!(wallet().answer(&other_type, 0).unwrap_err(), missing);
        let other_claim = request(samples::VCT, &["shoe_size"]);
        assert_eq!(wallet().answer(&other_claim, 0).unwrap_err(), missing);
    }
}
