//! A request, as the wallet reads it, and the expected properties of a request.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::findings::Findings;
use super::link::{Link, WALLET_NONCE};
use super::query::{Format, Query};
use super::{metadata, parameters, request_object};
use crate::codec::{HashAlg, base64url};
use crate::jwe::Enc;
use crate::request::AuthorizationRequest;
use crate::request_object::ResponseKey;

/// How a client is identified (5.9.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Prefix {
    /// `redirect_uri:`
    RedirectUri,
    /// `decentralized_identifier:`
    DecentralizedIdentifier,
    /// `x509_san_dns:`
    X509SanDns,
    /// `x509_hash:`
    X509Hash,
}

/// The expected properties of a request under test.
#[derive(Clone, Debug)]
pub struct Expected {
    /// How the client is identified.
    pub prefix: Prefix,
    /// Whether answers are encrypted.
    pub encrypted: bool,
    /// The format of each requested credential.
    pub formats: Vec<Format>,
    /// Whether the rules of HAIP apply.
    pub haip: bool,
    /// Whether the tenant asked for the holder's consent to a transaction.
    pub transaction_data: bool,
    /// The trust anchor of `x5c`, in DER.
    pub anchor: Option<Vec<u8>>,
    /// The DID document.
    pub did_document: Option<Value>,
    /// The time of the wallet.
    pub now_ms: u64,
}

/// A fetched Request Object.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The `Content-Type` of the reply.
    pub content_type: String,
    /// The compact JWS.
    pub jwt: String,
    /// The wallet's nonce, if it was sent.
    pub wallet_nonce: Option<String>,
}

impl Fetched {
    /// The Request Object from a reply to a GET, or to a POST with [`WALLET_NONCE`].
    pub fn new(jwt: String, content_type: String, is_post: bool) -> Self {
        let wallet_nonce = is_post.then(|| WALLET_NONCE.to_owned());
        Self { content_type, jwt, wallet_nonce }
    }
}

/// The encryption keys that a wallet has seen: thumbprint and nonce of the request.
#[derive(Clone, Debug, Default)]
pub struct Keys(BTreeMap<Vec<u8>, String>);

/// A request, parsed as far as possible. Missing parts are empty.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Its parameters. JSON members of a request by value are parsed.
    pub parameters: Map<String, Value>,
    /// The header of the Request Object.
    pub header: Value,
    /// The client that the answer is for, as sent.
    pub client_id: String,
    /// Where the answer is posted.
    pub response_uri: String,
    /// The nonce for the holder's proof.
    pub nonce: String,
    /// The state for the answer.
    pub state: Option<String>,
    /// The query.
    pub query: Query,
    /// The origin of the page that asked. `None`: the request was behind a link.
    pub origin: Option<String>,
    /// The encryption of the answer: the first key and the first `enc` of the request.
    pub encryption: Option<(ResponseKey, Enc)>,
}

impl Prefix {
    /// The prefix, with the colon.
    pub const fn text(self) -> &'static str {
        match self {
            Self::RedirectUri => "redirect_uri:",
            Self::DecentralizedIdentifier => "decentralized_identifier:",
            Self::X509SanDns => "x509_san_dns:",
            Self::X509Hash => "x509_hash:",
        }
    }

    /// Whether the client signs with the key of a certificate.
    pub const fn is_x509(self) -> bool {
        matches!(self, Self::X509SanDns | Self::X509Hash)
    }

    /// The `x509_hash:` identifier for this leaf certificate.
    pub fn x509_hash(leaf: &[u8]) -> String {
        format!("{}{}", Self::X509Hash.text(), base64url(&HashAlg::Sha256.hash(leaf)))
    }
}

impl Request {
    /// Reads the request behind `uri`, and lists the faults of link, envelope and request.
    pub fn read(
        uri: &str,
        fetched: Option<&Fetched>,
        expected: &Expected,
        keys: &mut Keys,
    ) -> (Self, Findings) {
        let (link, mut findings) = Link::read(uri);
        let signed = expected.prefix != Prefix::RedirectUri;
        let by_reference = matches!(link, Link::ByReference { .. });
        findings.must("delivery", by_reference == fetched.is_some() && by_reference == signed, "");
        let (client_id, header, parameters) = match (&link, fetched) {
            (Link::ByReference { client_id, .. }, Some(fetched)) => {
                let read = request_object::read(client_id, fetched, expected, &mut findings);
                (client_id.clone(), read.0, read.1)
            }
            (Link::ByReference { client_id, .. }, None) => {
                (client_id.clone(), Value::Null, Map::new())
            }
            (Link::ByValue(given), _) => {
                let client_id = given.get("client_id").and_then(Value::as_str).unwrap_or_default();
                (client_id.into(), Value::Null, with_json(given, &mut findings))
            }
        };
        let read = Self::of(client_id, header, parameters);
        parameters::check(&read, expected, &mut findings);
        metadata::check(&read, expected, &mut findings);
        read.query.check(&read.parameters, expected, &mut findings);
        if let Some((key, _)) = &read.encryption {
            let before = keys.0.insert(key.thumbprint(), read.nonce.clone());
            let fresh = before.is_none_or(|nonce| nonce == read.nonce);
            findings.must("key_fresh", fresh, &key.kid);
        }
        (read, findings)
    }

    /// The values that a holder's proof repeats.
    pub fn parties(&self) -> AuthorizationRequest {
        AuthorizationRequest {
            client_id: self.client_id.clone(),
            response_uri: self.response_uri.clone(),
            nonce: self.nonce.clone(),
            state: self.state.clone().unwrap_or_default(),
            definition_id: String::new(),
            descriptors: Vec::new(),
        }
    }

    /// The same, through the browser of a page from this origin.
    #[must_use]
    pub fn from_origin(mut self, origin: &str) -> Self {
        self.origin = Some(origin.into());
        self
    }

    pub(super) fn of(client_id: String, header: Value, parameters: Map<String, Value>) -> Self {
        let text = |name: &str| parameters.get(name).and_then(Value::as_str).map(String::from);
        let mut read = Self {
            header,
            client_id,
            response_uri: text("response_uri").unwrap_or_default(),
            nonce: text("nonce").unwrap_or_default(),
            state: text("state"),
            query: Query::read(parameters.get("dcql_query").unwrap_or(&Value::Null)),
            origin: None,
            encryption: None,
            parameters,
        };
        if ["direct_post.jwt", "dc_api.jwt"].contains(&text_of(&read, "response_mode")) {
            read.encryption = metadata::encryption(&read);
        }
        read
    }
}

/// A parameter that is a string.
pub(super) fn text_of<'a>(request: &'a Request, name: &str) -> &'a str {
    request.parameters.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// By value, these parameters are JSON texts (5.1).
fn with_json(given: &Map<String, Value>, findings: &mut Findings) -> Map<String, Value> {
    let mut parameters = given.clone();
    for name in ["dcql_query", "client_metadata", "verifier_info", "transaction_data"] {
        let Some(value) = parameters.get_mut(name) else { continue };
        let read = serde_json::from_str(value.as_str().unwrap_or_default());
        findings.must("json_parameters", read.is_ok(), name);
        *value = read.unwrap_or_default();
    }
    parameters
}
