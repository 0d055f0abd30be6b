//! The key binding JWT (RFC 9901 4.3). Every part can be changed before it is signed.

use serde_json::{Map, Value, json};

use crate::jws;
use crate::keys::SigningKey;
use crate::request::AuthorizationRequest;
use crate::time::numeric_date;
use crate::wallet::Presentation;

/// A key binding JWT before it is signed.
#[derive(Clone, Debug)]
pub struct KbJwt {
    /// The key that signs it.
    pub key: SigningKey,
    /// The JOSE header.
    pub header: Map<String, Value>,
    /// The claims.
    pub claims: Map<String, Value>,
    /// Signed instead of `header`.
    pub header_text: Option<String>,
    /// Signed instead of `claims`.
    pub claims_text: Option<String>,
}

impl KbJwt {
    /// The proof for `request`.
    pub fn new(
        key: &SigningKey,
        presentation: &Presentation,
        request: &AuthorizationRequest,
        now_ms: u64,
    ) -> Self {
        let header = json!({ "alg": key.alg(), "typ": "kb+jwt" });
        let claims = json!({
            "iat": numeric_date(now_ms),
            "aud": request.client_id,
            "nonce": request.nonce,
            "sd_hash": presentation.sd_hash(),
        });
        Self {
            key: key.clone(),
            header: members(header),
            claims: members(claims),
            header_text: None,
            claims_text: None,
        }
    }

    /// Replaces a claim.
    pub fn set(&mut self, claim: &str, value: impl Into<Value>) {
        self.claims.insert(claim.into(), value.into());
    }

    /// The compact JWS.
    pub fn sign(&self) -> String {
        let text = |members: &Map<String, Value>| Value::from(members.clone()).to_string();
        let header = self.header_text.clone().unwrap_or_else(|| text(&self.header));
        let claims = self.claims_text.clone().unwrap_or_else(|| text(&self.claims));
        jws::sign_jws(&self.key, &header, &claims)
    }
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::codec::{HashAlg, base64url};
    use crate::keys::Curve;

    fn request() -> AuthorizationRequest {
        AuthorizationRequest {
            client_id: "redirect_uri:https://gateway.example/r".into(),
            response_uri: "https://gateway.example/r".into(),
            nonce: "the nonce".into(),
            state: "the state".into(),
            definition_id: "def".into(),
            descriptors: Vec::new(),
        }
    }

    fn presentation() -> Presentation {
        let disclosures = vec![String::from("WyJzIiwiYSIsMV0")];
        Presentation { jwt: "a.b.c".into(), disclosures, hash: HashAlg::Sha256 }
    }

    #[test]
    fn it_repeats_the_request_and_covers_the_presentation() {
        let key = SigningKey::from_seed(Curve::P384, "holder");
        let kb_jwt = KbJwt::new(&key, &presentation(), &request(), 7_900).sign();
        assert_eq!(jws::header(&kb_jwt), Some(json!({"alg": "ES384", "typ": "kb+jwt"})));
        let expected = json!({
            "iat": 7,
            "aud": "redirect_uri:https://gateway.example/r",
            "nonce": "the nonce",
            "sd_hash": base64url(&Sha256::digest(b"a.b.c~WyJzIiwiYSIsMV0~")),
        });
        assert_eq!(jws::payload(&kb_jwt), Some(expected));
    }

    #[test]
    fn changed_claims_and_texts_are_signed() {
        let key = SigningKey::from_seed(Curve::P256, "holder");
        let mut kb_jwt = KbJwt::new(&key, &presentation(), &request(), 0);
        kb_jwt.set("aud", json!(["a"]));
        assert_eq!(jws::payload(&kb_jwt.sign()).unwrap()["aud"], json!(["a"]));
        kb_jwt.claims_text = Some(r#"{"iat":1,"iat":2}"#.into());
        assert_eq!(jws::payload(&kb_jwt.sign()), Some(json!({"iat": 2})));
    }
}
