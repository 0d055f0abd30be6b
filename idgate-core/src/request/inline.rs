//! The authorization request in the query of a URI (OpenID4VP 5).

use alloc::string::String;

use serde::Serialize;

use crate::codec::form::push_pair;
use crate::codec::json::json_text;
use crate::request::dcql_request;
use crate::request::parameters::RequestParameters;
use crate::request::presentation_definition::{Format, PresentationDefinition};
use crate::request::profile::Profile;

/// The length of a typical request with one credential and a few claims, in bytes.
const USUAL_LENGTH: usize = 2048;

#[derive(Serialize)]
struct ClientMetadata {
    vp_formats: Format,
}

/// The request as the query of a URI.
pub(crate) fn inline_query(parameters: RequestParameters<'_>) -> String {
    match parameters.profile {
        Profile::Draft => draft_query(parameters),
        Profile::V1_0 | Profile::Haip => dcql_request::inline_query(parameters),
    }
}

/// The query of drafts. `response_type` and `response_mode` are included because wallets refuse a
/// request without them.
fn draft_query(parameters: RequestParameters<'_>) -> String {
    let RequestParameters { definition_id, request, .. } = parameters;
    let definition = PresentationDefinition::new(definition_id, request);
    let metadata = ClientMetadata { vp_formats: Format::of_request(request) };
    let mut query = String::with_capacity(USUAL_LENGTH);
    for (name, value) in [
        ("client_id", parameters.client_id),
        ("response_type", "vp_token"),
        ("response_mode", "direct_post"),
        ("response_uri", parameters.response_uri),
        ("nonce", parameters.nonce),
        ("state", parameters.state),
        ("presentation_definition", &json_text(&definition)),
        ("client_metadata", &json_text(&metadata)),
    ] {
        push_pair(&mut query, name, value);
    }
    query
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use alloc::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;
    use crate::request::{PresentationRequest, Scheme, fixtures};

    #[test]
    fn the_inline_uri_decodes_back_into_its_parts() {
        let session = fixtures::session(fixtures::two_credentials());
        let uri = session.deep_link(Scheme::OpenId4Vp);
        let query = uri.strip_prefix("openid4vp://?").unwrap();
        let pairs: Vec<(String, String)> =
            form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let parts: BTreeMap<_, _> = pairs.iter().cloned().collect();
        assert_eq!(parts.len(), pairs.len());

        let response_uri = format!("https://gateway.example/v1/oid4vp/response/{}", session.id());
        let expected = [
            ("client_id", format!("redirect_uri:{response_uri}")),
            ("nonce", session.offers.own().nonce.expose().into()),
            ("response_mode", "direct_post".into()),
            ("response_type", "vp_token".into()),
            ("response_uri", response_uri),
            ("state", session.offers.own().state.expose().into()),
        ];
        for (name, value) in &expected {
            assert_eq!(&parts[*name], value, "{name}");
        }
        assert_eq!(parts.len(), expected.len() + 2);

        let algs = json!(["ES256", "ES384", "ES512"]);
        let format = json!({"vc+sd-jwt": {"sd-jwt_alg_values": algs, "kb-jwt_alg_values": algs}});
        let metadata: Value = serde_json::from_str(&parts["client_metadata"]).unwrap();
        assert_eq!(metadata, json!({"vp_formats": format}));

        let definition: Value = serde_json::from_str(&parts["presentation_definition"]).unwrap();
        let descriptor = |id: &str, fields: Value| {
            let constraints = json!({"limit_disclosure": "required", "fields": fields});
            json!({"id": id, "format": format, "constraints": constraints})
        };
        let expected = json!({
            "id": session.id().as_str(),
            "input_descriptors": [
                descriptor("pid", json!([
                    {"path": ["$.vct"], "filter": {"type": "string", "const": "urn:one"}},
                    {"path": ["$.given_name"]},
                    {"path": ["$.family_name"]},
                    {"path": ["$.birthdate"]},
                ])),
                descriptor("credential_2", json!([
                    {"path": ["$.vct"], "filter": {"type": "string", "enum": ["urn:a", "urn:b"]}},
                    {"path": ["$.age"], "filter": {"type": "integer", "minimum": 18}},
                    {"path": ["$.family_name"]},
                    {"path": ["$.given_name"]},
                    {"path": ["$.birthdate"]},
                ])),
            ],
        });
        assert_eq!(definition, expected);
    }

    /// White space between the tokens of a tenant's filter is removed. White space in its texts is
    /// sent as `%20`, so that percent-only decoders read the same.
    #[test]
    fn an_inline_link_has_no_plus_and_none_of_the_tenants_white_space() {
        let body = "{ \"credentials\" : [ { \"format\": \"vc+sd-jwt\", \"issuer_id\": \"two\",
            \"claims\": [\"age\", \"name\"], \"claim_filters\": {
                \"age\" : { \"type\" : [ \"integer\" ,\t\"null\" ] , \"minimum\" :\r\n 18.0 },
                \"name\": { \"enum\": [ \"A  \\\" B\" , { \"a\" : [ ] , \"b\" : { } } ] } } } ] }";
        let request =
            PresentationRequest::parse(body.as_bytes(), &fixtures::trust(), true).unwrap();
        let link = fixtures::session(request).deep_link(Scheme::OpenId4Vp);
        assert!(!link.contains('+'), "{link}");
        let (_, query) = link.split_once('?').unwrap();
        let definition =
            query.split('&').find_map(|pair| pair.strip_prefix("presentation_definition="));
        let definition = percent_decoded(definition.unwrap());
        for compact in [
            r#"{"type":["integer","null"],"minimum":18.0}"#,
            r#"{"enum":["A  \" B",{"a":[],"b":{}}]}"#,
        ] {
            assert!(definition.contains(compact), "{definition}");
        }
    }

    /// Decodes like a reader that supports only percent-encoding.
    fn percent_decoded(text: &str) -> String {
        let mut bytes = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (escape, tail) = rest.split_at(if first == '%' { 3 } else { 1 });
            rest = tail;
            bytes.push(match escape.strip_prefix('%') {
                Some(digits) => u8::from_str_radix(digits, 16).unwrap(),
                None => escape.as_bytes()[0],
            });
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn nonce_and_state_are_256_bits_of_unreserved_characters() {
        let session = fixtures::session(fixtures::one_credential());
        for text in [session.offers.own().nonce.expose(), session.offers.own().state.expose()] {
            assert_eq!(text.len(), 43);
            assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        }
        assert_ne!(session.offers.own().nonce.expose(), session.offers.own().state.expose());
    }
}
