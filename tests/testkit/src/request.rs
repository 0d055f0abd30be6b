//! The authorization request, as a strict wallet reads it (OpenID4VP 5, Presentation Exchange 2).

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use url::{Host, Url};

/// The schemes of links with a request.
pub const SCHEMES: [&str; 4] = ["openid4vp", "eudi-openid4vp", "haip-vp", "av"];

/// An unsigned authorization request that a wallet can answer.
#[derive(Clone, Debug, Default)]
pub struct AuthorizationRequest {
    /// The client that the answer is for, as sent.
    pub client_id: String,
    /// Where the answer is posted.
    pub response_uri: String,
    /// The nonce for the holder's proof.
    pub nonce: String,
    /// The state for the answer.
    pub state: String,
    /// `id` of the presentation definition.
    pub definition_id: String,
    /// The requested credentials.
    pub descriptors: Vec<InputDescriptor>,
}

/// One requested credential.
#[derive(Clone, Debug, Default)]
pub struct InputDescriptor {
    /// Its id.
    pub id: String,
    /// Accepted types; empty: any.
    pub vct: Vec<String>,
    /// The claims to disclose, from the credential's root, or the elements of an mdoc.
    pub claims: Vec<String>,
    /// The namespace of the elements; only an mdoc's descriptor has one, and its id is the
    /// document type.
    pub name_space: Option<String>,
}

/// The reason why a strict wallet does not answer. The text names the parameter.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RequestRefused(pub String);

impl fmt::Display for RequestRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the wallet refuses the request: {}", self.0)
    }
}

impl std::error::Error for RequestRefused {}

impl AuthorizationRequest {
    /// Reads the request from an `openid4vp://` URI that carries it by value.
    ///
    /// # Errors
    /// [`RequestRefused`] with the first rule that it breaks.
    pub fn parse(uri: &str) -> Result<Self, RequestRefused> {
        let parameters = parameters(uri)?;
        let take = |name: &str| {
            parameters.get(name).cloned().ok_or_else(|| refused(format!("{name} is missing")))
        };
        for name in ["redirect_uri", "request_uri", "client_id_scheme", "dcql_query"] {
            ensure(!parameters.contains_key(name), || format!("{name} contradicts the request"))?;
        }
        ensure(take("response_type")? == "vp_token", || "response_type is not vp_token".into())?;
        ensure(take("response_mode")? == "direct_post", || {
            "response_mode is not direct_post".into()
        })?;
        let request = Self {
            client_id: take("client_id")?,
            response_uri: take("response_uri")?,
            nonce: take("nonce")?,
            state: take("state")?,
            definition_id: String::new(),
            descriptors: Vec::new(),
        };
        request.check_parties()?;
        check_metadata(&json("client_metadata", &take("client_metadata")?)?)?;
        request
            .with_definition(&json("presentation_definition", &take("presentation_definition")?)?)
    }

    fn check_parties(&self) -> Result<(), RequestRefused> {
        ensure(self.client_id == format!("redirect_uri:{}", self.response_uri), || {
            "client_id is not redirect_uri: and the response_uri".into()
        })?;
        self.check_response_uri()
    }

    /// The address of the answer is private, and the repeated values cannot be guessed.
    pub(crate) fn check_response_uri(&self) -> Result<(), RequestRefused> {
        let uri = Url::parse(&self.response_uri)
            .map_err(|_| refused("response_uri is not an absolute URI"))?;
        ensure(uri.scheme() == "https" || is_loopback(&uri), || {
            "response_uri is not https".into()
        })?;
        for (name, value) in [("nonce", &self.nonce), ("state", &self.state)] {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
            // 128 bits in base64url.
            ensure(value.len() >= 22 && value.chars().all(plain), || {
                format!("{name} is short or has other characters than A-Za-z0-9-._~")
            })?;
        }
        Ok(())
    }

    pub(crate) fn with_definition(mut self, definition: &Value) -> Result<Self, RequestRefused> {
        self.definition_id = text(definition, "id")?.into();
        for descriptor in array(definition, "input_descriptors")? {
            let descriptor = InputDescriptor::read(descriptor)?;
            ensure(self.descriptors.iter().all(|other| other.id != descriptor.id), || {
                "two input descriptors have the same id".into()
            })?;
            self.descriptors.push(descriptor);
        }
        Ok(self)
    }
}

impl InputDescriptor {
    fn read(descriptor: &Value) -> Result<Self, RequestRefused> {
        let formats: Vec<&String> = object(descriptor, "format")?.keys().collect();
        let is_mdoc = match formats.as_slice() {
            [only] if *only == "vc+sd-jwt" => false,
            [only] if *only == "mso_mdoc" => true,
            _ => return Err(refused("format is not vc+sd-jwt or mso_mdoc alone")),
        };
        let constraints = &descriptor["constraints"];
        ensure(text(constraints, "limit_disclosure")? == "required", || {
            "limit_disclosure is not required".into()
        })?;
        let mut read = Self { id: text(descriptor, "id")?.into(), ..Self::default() };
        for field in array(constraints, "fields")? {
            if is_mdoc { read.read_element(field)? } else { read.read_field(field)? }
        }
        Ok(read)
    }

    /// Wallets demand one path of two steps, and `intent_to_retain` (OpenID4VP draft 24 B.2.1).
    fn read_element(&mut self, field: &Value) -> Result<(), RequestRefused> {
        let path = array(field, "path")?.first().and_then(Value::as_str).unwrap_or_default();
        let steps = path.strip_prefix("$['").and_then(|rest| rest.strip_suffix("']"));
        let (name_space, element) = steps
            .and_then(|steps| steps.split_once("']['"))
            .ok_or_else(|| refused("a path is not $['namespace']['element']"))?;
        ensure(field.get("intent_to_retain").is_some_and(Value::is_boolean), || {
            "a field has no intent_to_retain".into()
        })?;
        let own = self.name_space.get_or_insert_with(|| name_space.into());
        ensure(own == name_space, || "a descriptor asks for two namespaces".into())?;
        self.claims.push(element.into());
        Ok(())
    }

    fn read_field(&mut self, field: &Value) -> Result<(), RequestRefused> {
        let path = array(field, "path")?.first().and_then(Value::as_str).unwrap_or_default();
        let name = claim_name(path).ok_or_else(|| refused("a path is not $.name or $['name']"))?;
        if name == "vct" {
            self.vct = accepted_values(field.get("filter"))?;
        } else {
            self.claims.push(name.into());
        }
        Ok(())
    }
}

/// The query of the URI, form-decoded; a repeated parameter is refused (RFC 6749 3.1).
pub(crate) fn parameters(uri: &str) -> Result<BTreeMap<String, String>, RequestRefused> {
    let url = Url::parse(uri).map_err(|_| refused("it is not a URI"))?;
    ensure(SCHEMES.contains(&url.scheme()), || "its scheme is unknown".into())?;
    ensure(url.host_str().unwrap_or_default().is_empty(), || "it has an authority".into())?;
    let mut parameters = BTreeMap::new();
    for (name, value) in url.query_pairs() {
        let name = name.into_owned();
        ensure(!parameters.contains_key(&name), || format!("{name} is repeated"))?;
        parameters.insert(name, value.into_owned());
    }
    Ok(parameters)
}

pub(crate) fn check_metadata(metadata: &Value) -> Result<(), RequestRefused> {
    let formats = object(metadata, "vp_formats")?;
    let known = ["vc+sd-jwt", "mso_mdoc"].iter().any(|name| formats.contains_key(*name));
    ensure(known, || "vp_formats has neither vc+sd-jwt nor mso_mdoc".into())
}

fn accepted_values(filter: Option<&Value>) -> Result<Vec<String>, RequestRefused> {
    let filter = filter.ok_or_else(|| refused("the vct field has no filter"))?;
    let values = match (filter.get("const"), filter.get("enum").and_then(Value::as_array)) {
        (Some(value), None) => vec![value.clone()],
        (None, Some(values)) => values.clone(),
        _ => return Err(refused("the filter of vct has neither const nor enum")),
    };
    let texts = values.iter().map(|value| value.as_str().map(String::from)).collect();
    Option::ok_or(texts, refused("the filter of vct has other values than strings"))
}

fn claim_name(path: &str) -> Option<&str> {
    let bracketed = |path: &'_ str| -> Option<()> {
        (path.starts_with("$['") && path.ends_with("']")).then_some(())
    };
    let name = match bracketed(path) {
        Some(()) => path.get(3..path.len().saturating_sub(2))?,
        None => path.strip_prefix("$.")?,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

fn is_loopback(uri: &Url) -> bool {
    let is_here = match uri.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    uri.scheme() == "http" && is_here
}

fn json(name: &str, text: &str) -> Result<Value, RequestRefused> {
    serde_json::from_str(text).map_err(|_| refused(format!("{name} is not JSON")))
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str, RequestRefused> {
    let text = value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| refused(format!("{name} is not a string, or empty")))
}

pub(crate) fn array<'a>(value: &'a Value, name: &str) -> Result<&'a Vec<Value>, RequestRefused> {
    let array = value.get(name).and_then(Value::as_array).filter(|array| !array.is_empty());
    array.ok_or_else(|| refused(format!("{name} is not an array, or empty")))
}

fn object<'a>(
    value: &'a Value,
    name: &str,
) -> Result<&'a serde_json::Map<String, Value>, RequestRefused> {
    let object = value.get(name).and_then(Value::as_object);
    object.ok_or_else(|| refused(format!("{name} is not an object")))
}

pub(crate) fn ensure(holds: bool, rule: impl FnOnce() -> String) -> Result<(), RequestRefused> {
    if holds { Ok(()) } else { Err(RequestRefused(rule())) }
}

pub(crate) fn refused(rule: impl Into<String>) -> RequestRefused {
    RequestRefused(rule.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    const RESPONSE_URI: &str = "https://gateway.example/v1/oid4vp/response/ses_1";

    fn definition() -> Value {
        json!({"id": "def", "input_descriptors": [{
            "id": "pid",
            "format": {"vc+sd-jwt": {"sd-jwt_alg_values": ["ES256"]}},
            "constraints": {"limit_disclosure": "required", "fields": [
                {"path": ["$.vct"], "filter": {"type": "string", "const": "urn:pid"}},
                {"path": ["$.given_name"]},
                {"path": ["$['18plus']"]},
            ]},
        }]})
    }

    fn good() -> Vec<(&'static str, String)> {
        vec![
            ("client_id", format!("redirect_uri:{RESPONSE_URI}")),
            ("response_uri", RESPONSE_URI.into()),
            ("response_type", "vp_token".into()),
            ("response_mode", "direct_post".into()),
            ("nonce", "n".repeat(43)),
            ("state", "s".repeat(43)),
            ("client_metadata", json!({"vp_formats": {"vc+sd-jwt": {}}}).to_string()),
            ("presentation_definition", definition().to_string()),
        ]
    }

    fn parse(parameters: &[(&str, String)]) -> Result<AuthorizationRequest, RequestRefused> {
        let mut url = Url::parse("openid4vp://?").unwrap();
        url.query_pairs_mut().extend_pairs(parameters);
        AuthorizationRequest::parse(url.as_str())
    }

    fn parse_with(name: &'static str, value: &str) -> Result<AuthorizationRequest, RequestRefused> {
        let mut parameters = good();
        parameters.retain(|(other, _)| *other != name);
        parameters.push((name, value.into()));
        parse(&parameters)
    }

    #[test]
    fn a_good_request_is_read() {
        let request = parse(&good()).unwrap();
        assert_eq!(request.definition_id, "def");
        let [descriptor] = request.descriptors.as_slice() else { panic!("one descriptor") };
        assert_eq!(descriptor.vct, ["urn:pid"]);
        assert_eq!(descriptor.claims, ["given_name", "18plus"]);
    }

    #[test]
    fn an_mdoc_descriptor_is_read() {
        let mdoc = |field: Value| {
            let definition = json!({"id": "def", "input_descriptors": [{
                "id": "org.iso.18013.5.1.mDL",
                "format": {"mso_mdoc": {"alg": ["ES256"]}},
                "constraints": {"limit_disclosure": "required", "fields": [field]},
            }]});
            parse_with("presentation_definition", &definition.to_string())
        };
        let path = "$['org.iso.18013.5.1']['family_name']";
        let read = mdoc(json!({"path": [path], "intent_to_retain": false})).unwrap();
        assert_eq!(read.descriptors[0].name_space.as_deref(), Some("org.iso.18013.5.1"));
        assert_eq!(read.descriptors[0].claims, ["family_name"]);
        assert!(mdoc(json!({"path": [path]})).unwrap_err().0.contains("intent_to_retain"));
        assert!(mdoc(json!({"path": ["$.family_name"], "intent_to_retain": false})).is_err());
    }

    #[test]
    fn every_parameter_is_required_once() {
        for (name, value) in good() {
            let mut without = good();
            without.retain(|(other, _)| *other != name);
            assert!(parse(&without).unwrap_err().0.contains(name), "without {name}");
            let mut twice = good();
            twice.push((name, value));
            assert!(parse(&twice).unwrap_err().0.contains("repeated"), "twice {name}");
        }
    }

    #[test]
    fn another_client_id_form_is_refused() {
        assert!(parse_with("client_id", RESPONSE_URI).is_err());
        assert!(parse_with("client_id", "redirect_uri:https://other.example").is_err());
        assert!(parse_with("client_id_scheme", "redirect_uri").is_err());
    }

    #[test]
    fn fragment_mode_and_http_beyond_loopback_are_refused() {
        assert!(parse_with("response_mode", "fragment").is_err());
        let mut http = good();
        http[0].1 = "redirect_uri:http://gateway.example/r".into();
        http[1].1 = "http://gateway.example/r".into();
        assert!(parse(&http).unwrap_err().0.contains("https"));
        http[0].1 = "redirect_uri:http://127.0.0.1:8080/r".into();
        http[1].1 = "http://127.0.0.1:8080/r".into();
        assert!(parse(&http).is_ok());
    }

    #[test]
    fn a_definition_that_strict_wallets_refuse_is_refused() {
        let edits: [fn(&mut Value); 5] = [
            |d| d["input_descriptors"][0]["constraints"]["limit_disclosure"] = "preferred".into(),
            |d| d["input_descriptors"][0]["format"]["dc+sd-jwt"] = json!({}),
            |d| d["input_descriptors"] = json!([]),
            |d| d["input_descriptors"][0]["constraints"]["fields"][1]["path"] = json!(["$..a"]),
            |d| {
                let again = d["input_descriptors"][0].clone();
                d["input_descriptors"].as_array_mut().unwrap().push(again);
            },
        ];
        for edit in edits {
            let mut definition = definition();
            edit(&mut definition);
            let refused = parse_with("presentation_definition", &definition.to_string());
            assert!(refused.is_err(), "{definition}");
        }
    }

    #[test]
    fn a_weak_nonce_and_an_unknown_scheme_are_refused() {
        assert!(parse_with("nonce", "short").is_err());
        assert!(parse_with("state", &"+".repeat(43)).is_err());
        assert!(AuthorizationRequest::parse("https://gateway.example/?client_id=x").is_err());
        assert!(AuthorizationRequest::parse("not a URI").is_err());
    }
}
