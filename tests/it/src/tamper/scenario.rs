//! A good presentation as parameters and hooks, so that a row can change any single step.

use idgate_testkit::issuer::{CredentialBuilder, Unsigned};
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples;
use idgate_testkit::time::SAMPLE_NOW_MS;
use idgate_testkit::wallet::{Answer, Body, KbJwt, Presentation, present};
use serde_json::{Map, Value, json};

/// When the wallet answers, in virtual time.
pub const NOW_MS: u64 = SAMPLE_NOW_MS;
/// How long the wallet takes.
pub const ANSWER_DELAY_MS: u64 = 5_000;

/// The good presentations: every algorithm, every structure of claims.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Base {
    /// ES256, claims at the root
    Flat,
    /// ES384, disclosures inside a visible object
    Nested,
    /// ES256, an array whose elements are disclosures, itself one
    Array,
    /// ES512, disclosures inside a disclosure
    Recursive,
}

impl Base {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Flat, Self::Nested, Self::Array, Self::Recursive];

    /// The curve of issuer and holder.
    pub const fn curve(self) -> Curve {
        match self {
            Self::Flat | Self::Array => Curve::P256,
            Self::Nested => Curve::P384,
            Self::Recursive => Curve::P521,
        }
    }

    /// The claims that the tenant gets from the unchanged presentation.
    pub fn disclosed(self) -> Value {
        match self {
            Self::Flat => json!({ "given_name": "Erika", "family_name": "Mustermann" }),
            Self::Nested => json!({
                "given_name": "Erika",
                "age_equal_or_over": {"12": true, "16": true, "18": true, "21": true, "65": false},
            }),
            Self::Array => json!({ "given_name": "Erika", "nationalities": ["DE", "FR"] }),
            Self::Recursive => json!({
                "given_name": "Erika",
                "address": {
                    "street_address": "Heidestraße 17", "locality": "Köln",
                    "postal_code": "51147", "country": "DE",
                },
            }),
        }
    }

    fn claims(self) -> Vec<String> {
        match self.disclosed() {
            Value::Object(claims) => claims.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        }
    }
}

/// The operator's trust.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Trust {
    /// The name of the entry.
    pub issuer_id: String,
    /// Accepted types.
    pub vct: Vec<String>,
    /// The issuer's public keys as JWKs.
    pub keys: Vec<Value>,
    /// The X.509 roots of the issuer's certificates, in DER.
    pub sd_jwt_roots: Vec<Vec<u8>>,
    /// `if_published`, `required` or `off`.
    pub revocation: &'static str,
}

/// Changes to the output of one step, before the next step uses it.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// The credential before the issuer signs it.
    pub unsigned: fn(&mut Unsigned),
    /// The issuer-signed JWT.
    pub issuer_jwt: fn(&mut String),
    /// The chosen disclosures.
    pub presentation: fn(&mut Presentation),
    /// The key binding JWT before the holder signs it.
    pub kb_jwt: fn(&mut KbJwt),
    /// The same, with the presentation that it covers.
    pub kb_jwt_of: fn(&mut KbJwt, &Presentation),
    /// The signed key binding JWT.
    pub kb_text: fn(&mut String),
    /// The presentation as text.
    pub token: fn(&mut String),
    /// Presentations and their submission.
    pub answer: fn(&mut Answer),
    /// The submission.
    pub submission: fn(&mut Value),
    /// The entry of the submission's `descriptor_map`.
    pub descriptor: fn(&mut Value),
    /// The parameters of the answer.
    pub parameters: fn(&mut Map<String, Value>),
    /// The encoded answer.
    pub body: fn(&mut Body),
}

/// Everything from the operator's trust to the wallet's answer.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// When the wallet answers.
    pub now_ms: u64,
    /// The operator's trust.
    pub trust: Trust,
    /// The tenant's `CreateSessionRequest`.
    pub request: Value,
    /// The credential that the issuer attests.
    pub credential: CredentialBuilder,
    /// The JSON text that the issuer signs as the disclosure of `given_name`.
    pub given_name: Option<String>,
    /// The JSON text of an additional disclosure that the issuer signs.
    pub added: Option<String>,
    /// A member added to the payload after its digests were computed.
    pub inserted: Option<(&'static str, Value)>,
    /// Signs the credential.
    pub issuer_key: SigningKey,
    /// Signs the key binding JWT.
    pub holder_key: SigningKey,
    /// The claims that the holder discloses.
    pub disclose: Vec<String>,
    /// Whether the holder adds a key binding JWT.
    pub prove: bool,
    /// Whether the answer is JSON, not a form.
    pub as_json: bool,
    /// The changes.
    pub hooks: Hooks,
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            unsigned: |_| {},
            issuer_jwt: |_| {},
            presentation: |_| {},
            kb_jwt: |_| {},
            kb_jwt_of: |_, _| {},
            kb_text: |_| {},
            token: |_| {},
            answer: |_| {},
            submission: |_| {},
            descriptor: |_| {},
            parameters: |_| {},
            body: |_| {},
        }
    }
}

impl Scenario {
    /// A presentation made at `now_ms` that is verified if left unchanged.
    pub fn good(base: Base, now_ms: u64) -> Self {
        let issuer_key = samples::issuer_key(base.curve());
        let holder_key = samples::holder_key(base.curve());
        let claims = base.claims();
        Self {
            now_ms,
            trust: Trust {
                issuer_id: samples::ISSUER.into(),
                vct: vec![samples::VCT.into()],
                keys: vec![issuer_key.public_jwk()],
                sd_jwt_roots: Vec::new(),
                revocation: "if_published",
            },
            request: json!({ "credentials": [{
                "id": "pid",
                "format": "vc+sd-jwt",
                "issuer_id": samples::ISSUER,
                "claims": claims,
            }]}),
            credential: samples::identity(&holder_key, now_ms),
            given_name: None,
            added: None,
            inserted: None,
            issuer_key,
            holder_key,
            disclose: claims,
            prove: true,
            as_json: false,
            hooks: Hooks::default(),
        }
    }

    /// When the session is created.
    pub fn created_ms(&self) -> u64 {
        self.now_ms.saturating_sub(ANSWER_DELAY_MS)
    }

    /// The wallet's answer to the request behind `uri`.
    ///
    /// # Panics
    /// The request is not one that a strict wallet answers.
    #[allow(clippy::panic)] // the table runs in tests only
    pub fn answer(&self, uri: &str) -> Body {
        let request =
            AuthorizationRequest::parse(uri).unwrap_or_else(|refused| panic!("{refused}"));
        let parameters = self.parameters(&request);
        let mut body = if self.as_json { Body::json(&parameters) } else { Body::form(&parameters) };
        (self.hooks.body)(&mut body);
        body
    }

    /// The parameters of the wallet's answer to `request`.
    pub fn parameters(&self, request: &AuthorizationRequest) -> Map<String, Value> {
        let mut answer = Answer::new(request, vec![self.token(request)]);
        (self.hooks.answer)(&mut answer);
        (self.hooks.submission)(&mut answer.presentation_submission);
        if let Some(entry) = answer.presentation_submission.pointer_mut("/descriptor_map/0") {
            (self.hooks.descriptor)(entry);
        }
        let mut parameters = answer.parameters();
        (self.hooks.parameters)(&mut parameters);
        parameters
    }

    /// Changes the issuer's attestation.
    pub fn attest(&mut self, change: impl FnOnce(CredentialBuilder) -> CredentialBuilder) {
        self.credential = change(std::mem::take(&mut self.credential));
    }

    /// The NumericDate `seconds` after the wallet's answer.
    pub fn seconds_from_now(&self, seconds: i64) -> i64 {
        i64::try_from(self.now_ms / 1000).unwrap_or_default().saturating_add(seconds)
    }

    /// The presentation for `request`.
    pub fn token(&self, request: &AuthorizationRequest) -> String {
        let presentation = self.presentation();
        let mut kb_jwt = KbJwt::new(&self.holder_key, &presentation, request, self.now_ms);
        (self.hooks.kb_jwt)(&mut kb_jwt);
        (self.hooks.kb_jwt_of)(&mut kb_jwt, &presentation);
        let mut kb_text = kb_jwt.sign();
        (self.hooks.kb_text)(&mut kb_text);
        let mut token = present(&presentation, self.prove.then_some(&kb_text));
        (self.hooks.token)(&mut token);
        token
    }

    fn presentation(&self) -> Presentation {
        let mut unsigned = self.credential.clone().build();
        if let Some(json_text) = &self.given_name {
            unsigned.replace_disclosure("given_name", json_text);
        }
        if let Some(json_text) = &self.added {
            unsigned.add_disclosure(json_text);
        }
        if let Some((name, value)) = &self.inserted {
            unsigned.payload.insert((*name).into(), value.clone());
        }
        (self.hooks.unsigned)(&mut unsigned);
        let mut issued = unsigned.sign(&self.issuer_key);
        (self.hooks.issuer_jwt)(&mut issued.jwt);
        let mut presentation = Presentation::choosing(&issued, |disclosure| {
            let asked = |root| self.disclose.iter().any(|claim| claim == root);
            disclosure.path.is_empty() || disclosure.root_claim().is_some_and(asked)
        });
        (self.hooks.presentation)(&mut presentation);
        presentation
    }
}
