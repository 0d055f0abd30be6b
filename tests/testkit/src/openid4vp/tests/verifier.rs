//! A verifier that makes one good request. Every part can be changed.

use serde_json::{Map, Value, json};

use crate::codec::base64_standard;
use crate::jws;
use crate::keys::{Curve, SigningKey};
use crate::openid4vp::{Expected, Fetched, Findings, Format, Keys, Prefix, Request};
use crate::samples;
use crate::time::{SAMPLE_NOW_MS, numeric_date};
use crate::x509::{CertificateBuilder, Identity, Name, SUBJECT_ALT_NAME, dns_names};

pub(super) const RESPONSE_URI: &str = "https://gateway.example/r";
pub(super) const REQUEST_URI: &str = "https://gateway.example/q";
const DID: &str = "did:web:gateway.example";

/// A request before it is signed.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) expected: Expected,
    pub(super) scheme: &'static str,
    pub(super) header: Value,
    pub(super) claims: Value,
    pub(super) chain: Vec<Vec<u8>>,
    pub(super) key: SigningKey,
    pub(super) link: Map<String, Value>,
    pub(super) media_type: String,
    pub(super) wallet_nonce: Option<String>,
    pub(super) keys: Keys,
}

pub(super) fn sd_jwt_vc() -> Value {
    json!({ "id": "pid", "format": "dc+sd-jwt", "meta": { "vct_values": [samples::VCT] },
        "claims": [{ "path": ["given_name"] }, { "path": ["address", "locality"] }] })
}

pub(super) fn mdoc() -> Value {
    json!({ "id": "licence", "format": "mso_mdoc", "meta": { "doctype_value": crate::mdoc::MDL },
        "claims": [{ "path": [crate::mdoc::MDL_NAME_SPACE, "family_name"], "intent_to_retain": false }] })
}

impl Made {
    /// A request of this client, under HAIP if it is `x509_hash:`.
    pub(super) fn new(prefix: Prefix, encrypted: bool) -> Self {
        let root = Identity::iaca(Curve::P384, SAMPLE_NOW_MS);
        let key = SigningKey::from_seed(Curve::P256, "verifier").with_kid(format!("{DID}#1"));
        let name = Name::new("UT", "Verifier");
        let leaf = CertificateBuilder::document_signer(&root, name, &key, SAMPLE_NOW_MS)
            .set(SUBJECT_ALT_NAME, false, dns_names(&["gateway.example"]))
            .issue(&root, &key);
        let client_id = match prefix {
            Prefix::RedirectUri => format!("redirect_uri:{RESPONSE_URI}"),
            Prefix::DecentralizedIdentifier => format!("decentralized_identifier:{DID}"),
            Prefix::X509SanDns => "x509_san_dns:gateway.example".into(),
            Prefix::X509Hash => Prefix::x509_hash(&leaf.der),
        };
        let did_document = json!({ "id": DID, "verificationMethod": [
            { "id": format!("{DID}#1"), "publicKeyJwk": key.public_jwk() }] });
        let mut header = json!({ "alg": "ES256", "typ": "oauth-authz-req+jwt" });
        if prefix == Prefix::DecentralizedIdentifier {
            header["kid"] = format!("{DID}#1").into();
        }
        Self {
            expected: Expected {
                prefix,
                encrypted,
                formats: vec![Format::SdJwtVc, Format::Mdoc],
                haip: prefix == Prefix::X509Hash,
                transaction_data: false,
                anchor: Some(root.der.clone()),
                did_document: Some(did_document),
                now_ms: SAMPLE_NOW_MS,
            },
            scheme: "openid4vp",
            header,
            claims: claims(&client_id, encrypted, prefix != Prefix::RedirectUri),
            chain: vec![leaf.der],
            key,
            link: Map::from_iter([("client_id".into(), client_id.into())]),
            media_type: "application/oauth-authz-req+jwt".into(),
            wallet_nonce: None,
            keys: Keys::default(),
        }
    }

    pub(super) fn read(&mut self) -> (Request, Findings) {
        let signed = self.expected.prefix != Prefix::RedirectUri;
        let mut link = self.link.clone();
        match signed {
            true => drop(link.entry("request_uri").or_insert(REQUEST_URI.into())),
            false => link.extend(self.claims.as_object().unwrap().clone()),
        }
        let fetched = signed.then(|| self.fetched());
        let query = String::from_utf8(crate::wallet::Body::form(&link).bytes).unwrap();
        let uri = format!("{}://?{query}", self.scheme);
        Request::read(&uri, fetched.as_ref(), &self.expected, &mut self.keys)
    }

    fn fetched(&self) -> Fetched {
        let mut header = self.header.clone();
        if self.expected.prefix.is_x509() && header.is_object() && header.get("x5c").is_none() {
            header["x5c"] = self.chain.iter().map(|one| base64_standard(one)).collect();
        }
        let jwt = jws::sign_jws(&self.key, &header.to_string(), &self.claims.to_string());
        let content_type = self.media_type.clone();
        Fetched { content_type, jwt, wallet_nonce: self.wallet_nonce.clone() }
    }
}

fn claims(client_id: &str, encrypted: bool, signed: bool) -> Value {
    let mut claims = json!({
        "client_id": client_id,
        "response_type": "vp_token",
        "response_mode": if encrypted { "direct_post.jwt" } else { "direct_post" },
        "response_uri": RESPONSE_URI,
        "nonce": "exc7gBkxjx1rdc9udRrveKvSsJIq80avlXeLHhGwqtA",
        "state": "eyJhb0dj-iOiJub25lIn0",
        "dcql_query": { "credentials": [sd_jwt_vc(), mdoc()] },
        "client_metadata": { "vp_formats_supported": {
            "dc+sd-jwt": { "sd-jwt_alg_values": ["ES256"], "kb-jwt_alg_values": ["ES256"] },
            "mso_mdoc": { "issuerauth_alg_values": [-7, -9], "deviceauth_alg_values": [-7, -9] },
        } },
    });
    if encrypted {
        let jwk = json!({ "kty": "EC", "crv": "P-256", "use": "enc", "alg": "ECDH-ES", "kid": "1",
            "x": "DxiH5Q4Yx3UrukE2lWCErq8N8bqC9CHLLrAwLz5BmE0",
            "y": "XtLM4-3h5o3HUH0MHVJV0kyq0iBlrBwlh8qEDMZ4-Pc" });
        let metadata = &mut claims["client_metadata"];
        metadata["jwks"] = json!({ "keys": [jwk] });
        metadata["encrypted_response_enc_values_supported"] = json!(["A256GCM", "A128GCM"]);
    }
    if signed {
        claims["aud"] = "https://self-issued.me/v2".into();
        claims["iat"] = numeric_date(SAMPLE_NOW_MS).into();
        claims["exp"] = (numeric_date(SAMPLE_NOW_MS) + 300).into();
    }
    claims
}
