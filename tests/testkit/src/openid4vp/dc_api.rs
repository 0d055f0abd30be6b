//! The browser's side (A, W3C Digital Credentials API): what a page passes on, and what it gets back.

use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::request::Request;
use crate::codec::from_base64url;

impl Request {
    /// Reads one request that a page from `origin` passed to its browser: whom the answer is for is the
    /// browser's to say. `None`: it is not of that protocol's form. Signatures are not looked at.
    pub fn of_browser(protocol: &str, data: &Value, origin: &str) -> Option<Self> {
        let (header, parameters) = match protocol {
            "openid4vp-v1-unsigned" => (Value::Null, data.as_object()?.clone()),
            "openid4vp-v1-signed" => {
                let jwt = data["request"].as_str()?;
                let mut parts = jwt.split('.');
                (decoded(parts.next()?)?.into(), decoded(parts.next()?)?)
            }
            "openid4vp-v1-multisigned" => {
                let request = &data["request"];
                let first = request.pointer("/signatures/0/protected")?.as_str()?;
                (decoded(first)?.into(), decoded(request["payload"].as_str()?)?)
            }
            _ => return None,
        };
        let client_id = format!("origin:{origin}");
        Some(Self::of(client_id, header, parameters).from_origin(origin))
    }
}

impl Answer {
    /// What the page gets from `DigitalCredential.toJSON()`.
    pub fn credential(&self, protocol: &str) -> Value {
        let data = match self.jwe() {
            Some(jwe) => json!({ "response": jwe }),
            None => Value::from(self.parameters.clone()),
        };
        json!({ "protocol": protocol, "data": data })
    }
}

fn decoded(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&from_base64url(part)?).ok()
}
