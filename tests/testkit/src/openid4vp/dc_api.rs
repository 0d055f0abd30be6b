//! The browser's side (A, W3C Digital Credentials API): the request of a page, and its result.

use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::request::Request;
use crate::codec::from_base64url;

impl Request {
    /// Reads one request that a page from `origin` passed to its browser, which says whom the answer is for.
    /// `None`: it does not have that protocol's form. Signatures are not checked.
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
    /// The result of `DigitalCredential.toJSON()` for the page.
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
