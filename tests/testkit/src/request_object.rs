//! A signed request, as a strict wallet reads it: the link, then the Request Object behind it (RFC 9101,
//! OpenID4VP 5.8), signed by a key in the client's DID document.

use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde_json::Value;

use crate::codec::{HashAlg, from_base64url};
use crate::jws;
use crate::request::{
    AuthorizationRequest, RequestRefused, array, check_metadata, ensure, parameters, refused, text,
};

/// The link: only the address of the request, and its client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JarLink {
    /// The client that the answer is for.
    pub client_id: String,
    /// The address of the Request Object.
    pub request_uri: String,
}

impl JarLink {
    /// Reads an `openid4vp://` URI that carries a request by reference.
    ///
    /// # Errors
    /// [`RequestRefused`]: it has other parameters than these two.
    pub fn parse(uri: &str) -> Result<Self, RequestRefused> {
        let mut parameters = parameters(uri)?;
        let mut take = |name: &str| {
            parameters.remove(name).ok_or_else(|| refused(format!("{name} is missing")))
        };
        let link = Self { client_id: take("client_id")?, request_uri: take("request_uri")? };
        match parameters.keys().next() {
            Some(name) => Err(refused(format!("{name} is not allowed with request_uri"))),
            None => Ok(link),
        }
    }

    /// The address of the client's DID document (did:web 3.2).
    pub fn did_document_url(&self) -> Option<String> {
        let host = self.client_id.strip_prefix("did:web:")?.replace("%3A", ":");
        let scheme = self.request_uri.split_once("://")?.0;
        Some(format!("{scheme}://{host}/.well-known/did.json"))
    }
}

/// A signed request that a wallet can answer.
#[derive(Clone, Debug)]
pub struct JarRequest {
    /// The requested credentials.
    pub request: AuthorizationRequest,
    /// The key to encrypt the answer to.
    pub key: ResponseKey,
    /// The header of the Request Object.
    pub header: Value,
    /// The claims of the Request Object.
    pub claims: Value,
}

/// The key of `client_metadata.jwks`.
#[derive(Clone, Debug)]
pub struct ResponseKey {
    /// The JWK.
    pub jwk: Value,
    /// Its `kid`.
    pub kid: String,
    /// The uncompressed point.
    pub point: Vec<u8>,
}

impl JarRequest {
    /// Verifies the Request Object that was fetched from `link`, with the client's DID document.
    ///
    /// # Errors
    /// [`RequestRefused`] with the first rule that it breaks.
    pub fn verify(
        link: &JarLink,
        jwt: &str,
        did_document: &Value,
        now_ms: u64,
    ) -> Result<Self, RequestRefused> {
        let header = jws::header(jwt).ok_or_else(|| refused("the header is not JSON"))?;
        let claims = jws::payload(jwt).ok_or_else(|| refused("the claims are not JSON"))?;
        check_signature(jwt, &header, &link.client_id, did_document)?;
        for (name, expected) in [
            ("client_id", &*link.client_id),
            ("aud", "https://self-issued.me/v2"),
            ("response_type", "vp_token"),
            ("response_mode", "direct_post.jwt"),
        ] {
            ensure(text(&claims, name)? == expected, || format!("{name} is not {expected}"))?;
        }
        let exp = member(&claims, "exp").as_u64().ok_or_else(|| refused("exp is not a number"))?;
        ensure(exp > now_ms / 1000, || "exp is over".into())?;
        let metadata = member(&claims, "client_metadata");
        check_metadata(metadata)?;
        let request = AuthorizationRequest {
            client_id: link.client_id.clone(),
            response_uri: text(&claims, "response_uri")?.into(),
            nonce: text(&claims, "nonce")?.into(),
            state: text(&claims, "state")?.into(),
            definition_id: String::new(),
            descriptors: Vec::new(),
        };
        request.check_response_uri()?;
        let request = request.with_definition(member(&claims, "presentation_definition"))?;
        let key = ResponseKey::read(metadata)?;
        Ok(Self { request, key, header, claims })
    }
}

impl ResponseKey {
    /// Its RFC 7638 thumbprint.
    pub fn thumbprint(&self) -> Vec<u8> {
        let text = |name: &str| member(&self.jwk, name).as_str().unwrap_or_default();
        let (x, y) = (text("x"), text("y"));
        let json = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        HashAlg::Sha256.hash(json.as_bytes())
    }

    fn read(metadata: &Value) -> Result<Self, RequestRefused> {
        let [jwk] = array(member(metadata, "jwks"), "keys")?.as_slice() else {
            return Err(refused("client_metadata.jwks has not one key"));
        };
        for (name, expected) in
            [("kty", "EC"), ("crv", "P-256"), ("use", "enc"), ("alg", "ECDH-ES")]
        {
            ensure(text(jwk, name)? == expected, || format!("the key's {name} is not {expected}"))?;
        }
        ensure(jwk.get("d").is_none(), || "the key is a private one".into())?;
        let point = point_of(jwk).ok_or_else(|| refused("the key has no coordinates"))?;
        Ok(Self { kid: text(jwk, "kid")?.into(), point, jwk: jwk.clone() })
    }
}

fn check_signature(
    jwt: &str,
    header: &Value,
    client_id: &str,
    did_document: &Value,
) -> Result<(), RequestRefused> {
    ensure(text(header, "alg")? == "ES256", || "alg is not ES256".into())?;
    ensure(text(header, "typ")? == "oauth-authz-req+jwt", || {
        "typ is not oauth-authz-req+jwt".into()
    })?;
    let kid = text(header, "kid")?;
    ensure(kid.starts_with(&format!("{client_id}#")), || {
        "kid is not a DID URL of the client".into()
    })?;
    ensure(text(did_document, "id")? == client_id, || "the DID document is another's".into())?;
    let methods = array(did_document, "verificationMethod")?;
    let method = methods.iter().find(|method| member(method, "id") == kid);
    let method = method.ok_or_else(|| refused("the DID document has no such method"))?;
    for purpose in ["authentication", "assertionMethod"] {
        let listed = array(did_document, purpose)?.iter().any(|id| id == kid);
        ensure(listed, || format!("the key is not for {purpose}"))?;
    }
    let verifies = || {
        let key = VerifyingKey::from_sec1_bytes(&point_of(member(method, "publicKeyJwk"))?).ok()?;
        let (signing_input, signature) = jwt.rsplit_once('.')?;
        let signature = Signature::from_slice(&from_base64url(signature)?).ok()?;
        key.verify(signing_input.as_bytes(), &signature).ok()
    };
    verifies().ok_or_else(|| refused("the signature is not the client's"))
}

pub(crate) fn point_of(jwk: &Value) -> Option<Vec<u8>> {
    let coordinate = |name: &str| member(jwk, name).as_str().and_then(from_base64url);
    Some([vec![4], coordinate("x")?, coordinate("y")?].concat())
}

fn member<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}
