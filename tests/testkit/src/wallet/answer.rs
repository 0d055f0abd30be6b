//! The authorization response (OpenID4VP 8, Presentation Exchange 2 6).

use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::request::AuthorizationRequest;

/// The answer before it is encoded.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The address to post it to.
    pub response_uri: String,
    /// One presentation per input descriptor, in their order.
    pub presentations: Vec<String>,
    /// Says which presentation answers which descriptor.
    pub presentation_submission: Value,
    /// The request's state.
    pub state: String,
}

/// A body with its media type.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Body {
    /// The `Content-Type`.
    pub content_type: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// Answers `request`, presentation by presentation.
    pub fn new(request: &AuthorizationRequest, presentations: Vec<String>) -> Self {
        let single = presentations.len() == 1;
        let descriptor_map: Vec<Value> = request
            .descriptors
            .iter()
            .enumerate()
            .map(|(index, descriptor)| {
                let path = if single { "$".into() } else { format!("$[{index}]") };
                let format = if descriptor.name_space.is_some() { "mso_mdoc" } else { "vc+sd-jwt" };
                json!({ "id": descriptor.id, "format": format, "path": path })
            })
            .collect();
        let presentation_submission = json!({
            "id": "submission",
            "definition_id": request.definition_id,
            "descriptor_map": descriptor_map,
        });
        Self {
            response_uri: request.response_uri.clone(),
            presentations,
            presentation_submission,
            state: request.state.clone(),
        }
    }

    /// `vp_token`: a string for one presentation, an array for several.
    pub fn vp_token(&self) -> Value {
        match self.presentations.as_slice() {
            [single] => single.as_str().into(),
            several => several.to_vec().into(),
        }
    }

    /// The parameters of the answer, before they are encoded.
    pub fn parameters(&self) -> Map<String, Value> {
        Map::from_iter([
            (String::from("vp_token"), self.vp_token()),
            (String::from("presentation_submission"), self.presentation_submission.clone()),
            (String::from("state"), self.state.as_str().into()),
        ])
    }

    /// As `application/x-www-form-urlencoded`.
    pub fn form_body(&self) -> Body {
        Body::form(&self.parameters())
    }

    /// As `application/json`.
    pub fn json_body(&self) -> Body {
        Body::json(&self.parameters())
    }
}

impl Body {
    /// `application/x-www-form-urlencoded`; everything but strings as JSON text.
    pub fn form(parameters: &Map<String, Value>) -> Self {
        let mut form = form_urlencoded::Serializer::new(String::new());
        for (name, value) in parameters {
            form.append_pair(name, value.as_str().unwrap_or(&value.to_string()));
        }
        Self {
            content_type: "application/x-www-form-urlencoded".into(),
            bytes: form.finish().into_bytes(),
        }
    }

    /// `application/json`.
    pub fn json(parameters: &Map<String, Value>) -> Self {
        Self {
            content_type: "application/json".into(),
            bytes: Value::from(parameters.clone()).to_string().into_bytes(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::request::InputDescriptor;

    fn answer(ids: &[&str]) -> Answer {
        let descriptor = |id: &&str| InputDescriptor { id: (*id).into(), ..Default::default() };
        let request = AuthorizationRequest {
            client_id: "client".into(),
            response_uri: "https://gateway.example/r".into(),
            nonce: "nonce".into(),
            state: "a state & more".into(),
            definition_id: "def".into(),
            descriptors: ids.iter().map(descriptor).collect(),
        };
        Answer::new(&request, ids.iter().map(|id| format!("{id}~")).collect())
    }

    #[test]
    fn one_presentation_is_a_string_at_the_root() {
        let answer = answer(&["pid"]);
        assert_eq!(answer.vp_token(), "pid~");
        let submission = &answer.presentation_submission;
        assert_eq!(submission["definition_id"], "def");
        let expected = json!([{"id": "pid", "format": "vc+sd-jwt", "path": "$"}]);
        assert_eq!(submission["descriptor_map"], expected);
    }

    #[test]
    fn several_presentations_are_an_array_with_indexed_paths() {
        let answer = answer(&["a", "b"]);
        assert_eq!(answer.vp_token(), json!(["a~", "b~"]));
        assert_eq!(answer.presentation_submission["descriptor_map"][1]["path"], "$[1]");
    }

    #[test]
    fn both_bodies_decode_to_the_same_parameters() {
        let answer = answer(&["a", "b"]);
        let json: Value = serde_json::from_slice(&answer.json_body().bytes).unwrap();
        for (name, text) in form_urlencoded::parse(&answer.form_body().bytes) {
            match json[name.as_ref()].as_str() {
                Some(string) => assert_eq!(string, text),
                None => assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json[&*name]),
            }
        }
        assert_eq!(json["state"], "a state & more");
    }
}
