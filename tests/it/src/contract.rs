//! Compares every answer that a test receives with the OpenAPI description: its status is
//! documented, its headers and media type are there, and its body has exactly the documented
//! members.

mod schema;

use std::sync::LazyLock;

use idgate_core::{ErrorCode, Reason};
use idgate_server::openapi;
use serde_json::{Map, Value, json};

use crate::http::{Request, Response};
use crate::server::Installation;
use crate::tenant::Gateway;

static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::load);

/// Fails for an answer that the OpenAPI description does not have.
#[track_caller]
pub(crate) fn check(method: &str, target: &str, answer: &Response) {
    if let Err(why) = CONTRACT.check(method, target, answer) {
        let body = String::from_utf8_lossy(&answer.body);
        panic!("{method} {target}: {} {why}: {:?} {body}", answer.status, answer.headers);
    }
}

struct Contract {
    document: Value,
}

impl Contract {
    /// The description with every object closed. Clients must expect further members; here an
    /// undescribed member is a mistake, unless `x-open` says that there are some.
    fn load() -> Self {
        let mut document = serde_json::from_str(openapi::BROWSERS.with_pages.json).unwrap();
        close_objects(&mut document);
        Self { document }
    }

    fn check(&self, method: &str, target: &str, answer: &Response) -> Result<(), String> {
        let path = target.split('?').next().unwrap_or_default();
        // The Fetch standard defines the answer to a preflight.
        let is_preflight = answer.header("access-control-allow-methods").is_some();
        if method == "OPTIONS" && answer.status == 204 && is_preflight {
            return Ok(());
        }
        let documented = self.documented(method, path, answer.status)?;
        self.check_headers(documented, answer)?;
        let content_type = answer.header("content-type").unwrap_or_default();
        let own = content_type.split(';').next().unwrap_or_default();
        let Some((media_type, content)) = member(&documented["content"], own) else {
            return if answer.body.is_empty() { Ok(()) } else { Err("has a body".into()) };
        };
        if own != media_type {
            return Err(format!("is {content_type:?}, not {media_type}"));
        }
        if method == "HEAD" {
            return Ok(());
        }
        self.check_body(&content["schema"], media_type, &answer.body)
    }

    /// The response object of the description.
    fn documented(&self, method: &str, path: &str, status: u16) -> Result<&Value, String> {
        let component = |name: &str| Ok(&self.document["components"]["responses"][name]);
        if [414, 431].contains(&status) {
            // A request whose head was not read belongs to no path.
            return component("BadRequestResponse");
        }
        // A browser that ends up there by mistake gets a page.
        let refused =
            if path.starts_with("/v/") { "PageRefusedResponse" } else { "NotFoundResponse" };
        let Some(item) = self.path_item(path) else {
            return match status {
                400 | 404 if refused == "PageRefusedResponse" => component(refused),
                400 => component("BadRequestResponse"),
                404 => component("NotFoundResponse"),
                _ => Err("comes from a path that is not documented".into()),
            };
        };
        // A path with GET may still reject HEAD.
        let method = if method == "HEAD" && status != 405 { "GET" } else { method };
        // A preflight shares the rate limit of its route.
        if method == "OPTIONS" && status == 429 && path.starts_with("/v1/oid4vp/") {
            return component("TooManyRequestsResponse");
        }
        let Some(operation) = item.get(method.to_lowercase()) else {
            return match status {
                400 => component("BadRequestResponse"),
                // The same shape and headers.
                405 => component(refused),
                _ => Err("answers a method that is not documented".into()),
            };
        };
        let documented = operation["responses"].get(status.to_string());
        documented.map(|found| self.resolve(found)).ok_or_else(|| "is not documented".into())
    }

    fn path_item(&self, path: &str) -> Option<&Value> {
        // Paths are matched as sent.
        let items = self.document["paths"].as_object().filter(|_| !path.contains('%'))?;
        // A path without parameters is matched before one with parameters.
        items.get(path).or_else(|| items.iter().find(|(at, _)| leads_to(at, path)).map(|it| it.1))
    }

    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        let target = value["$ref"].as_str().and_then(|text| text.strip_prefix('#'));
        target.map_or(value, |pointer| self.document.pointer(pointer).unwrap())
    }

    fn check_headers(&self, documented: &Value, answer: &Response) -> Result<(), String> {
        for (name, header) in documented["headers"].as_object().into_iter().flatten() {
            let header = self.resolve(header);
            let Some(text) = answer.header(name) else {
                if header["required"] == true {
                    return Err(format!("lacks {name}"));
                }
                continue;
            };
            let number = header["schema"]["type"] == "integer";
            let value = if number { text.parse::<u64>().map(Value::from) } else { Ok(text.into()) };
            let value = value.map_err(|_| format!("has no number in {name}"))?;
            self.validate(&header["schema"], &value).map_err(|why| format!("{name}: {why}"))?;
        }
        Ok(())
    }

    fn check_body(&self, schema: &Value, media_type: &str, body: &[u8]) -> Result<(), String> {
        let value = match media_type {
            "application/json" => serde_json::from_slice(body).map_err(|why| why.to_string())?,
            // Another test compares it with its source.
            "application/yaml" => return Ok(()),
            // A file supplied by the operator.
            "image/png" => return Ok(()),
            _ => String::from_utf8(body.to_vec()).map_err(|why| why.to_string())?.into(),
        };
        self.validate(schema, &value)
    }

    fn validate(&self, schema: &Value, value: &Value) -> Result<(), String> {
        schema::check(&self.document, schema, value)
    }
}

/// Disallows members that are not described.
fn close_objects(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let is_open =
                members.remove("x-open").is_some() || members.contains_key("additionalProperties");
            if members.contains_key("properties") && !is_open {
                members.insert("additionalProperties".into(), false.into());
            }
            members.values_mut().for_each(close_objects);
        }
        Value::Array(items) => items.iter_mut().for_each(close_objects),
        _ => {}
    }
}

/// Whether a path template matches this path.
fn leads_to(template: &str, path: &str) -> bool {
    let (mut wanted, mut have) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), have.next()) {
            (None, None) => return true,
            (Some(name), Some(text)) if name.starts_with('{') && !text.is_empty() => {}
            (Some(name), Some(text)) if name == text => {}
            _ => return false,
        }
    }
}

/// The member with that name, otherwise the first.
fn member<'o>(object: &'o Value, name: &'o str) -> Option<(&'o str, &'o Value)> {
    let members = object.as_object()?;
    let first = || members.iter().next().map(|(name, value)| (name.as_str(), value));
    members.get(name).map(|value| (name, value)).or_else(first)
}

#[test]
fn openapi_is_served_in_each_format_and_is_cacheable() {
    let gateway = Gateway::start();
    let mut http = gateway.http();
    let json = http.send(&Request::get("/api/openapi.json")).expect_status(200);
    let yaml = http.send(&Request::get("/api/openapi.yaml")).expect_status(200);
    assert_eq!(json.json()["openapi"], "3.1.0");
    assert_eq!(json.json()["info"]["version"], "0.1.0");
    assert_eq!(json.json()["jsonSchemaDialect"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(yaml.header("content-type"), Some("application/yaml"));
    assert_eq!(String::from_utf8(yaml.body).unwrap(), **openapi::PROFILES.without_pages.yaml);
    let older = http.send(&Request::get("/api/openapi-3.0.yaml")).expect_status(200);
    assert_eq!(older.header("content-type"), Some("application/yaml"));
    assert_eq!(String::from_utf8(older.body).unwrap(), **openapi::PROFILES.without_pages.yaml_3_0);
    for path in ["/api/openapi.json", "/api/openapi.yaml", "/api/openapi-3.0.yaml"] {
        let head = http.send(&Request::new("HEAD", path)).expect_status(200);
        assert_eq!(head.header("cache-control"), Some("max-age=300"), "{path}");
    }
}

#[test]
fn openapi_lists_newer_fields_only_if_the_gateway_supports_them() {
    let newer = [
        "claim_paths:",
        "profiles:",
        "same_device:",
        "credential_sets:",
        "distinct_credentials:",
        "dc_api:",
    ];
    let described = |gateway: &Gateway| {
        let yaml = gateway.http().send(&Request::get("/api/openapi.yaml")).expect_status(200);
        let json = gateway.http().send(&Request::get("/api/openapi.json")).expect_status(200);
        let json = String::from_utf8(json.body).unwrap();
        let yaml = String::from_utf8(yaml.body).unwrap();
        newer.map(|name| {
            let is_in_yaml = yaml.contains(&format!("        {name}"));
            let member = format!("\"{}\":", name.trim_end_matches(':'));
            assert_eq!(is_in_yaml, json.contains(&member), "{name}");
            is_in_yaml
        })
    };
    let draft_alone = Installation::new().with("IDGATE_PROFILES", "draft");
    assert_eq!(described(&Gateway::start_on(draft_alone)), [false; 6]);
    let more = Installation::new;
    assert_eq!(described(&Gateway::start_on(more())), [true, true, true, true, true, false]);
    let browsers = more().with("IDGATE_DC_API", "unsigned");
    assert_eq!(described(&Gateway::start_on(browsers)), [true; 6]);
    for kinds in [openapi::PROFILES, openapi::DRAFT] {
        assert!(!kinds.without_pages.yaml.contains("dc-api"));
    }
    for kinds in [openapi::BROWSERS, openapi::PROFILES, openapi::DRAFT] {
        assert!(!kinds.without_pages.yaml.contains("/v/{token}"));
        assert!(kinds.with_pages.yaml.contains("/v/{token}"));
    }
}

#[test]
fn openapi_has_every_error_code() {
    let enumerated = |name: &str| CONTRACT.document["components"]["schemas"][name]["enum"].clone();
    let errors: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let reasons: Vec<_> = Reason::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(enumerated("ErrorCode"), json!(errors));
    assert_eq!(enumerated("Reason"), json!(reasons));
}

#[test]
fn every_body_in_openapi_has_a_valid_example() {
    let mut checked = 0;
    each_object(&CONTRACT.document, &mut |object| {
        let media_types = object.get("content").and_then(Value::as_object);
        for (name, content) in media_types.into_iter().flatten() {
            let several = content["examples"].as_object().into_iter().flatten();
            let values = several.map(|(_, example)| &example["value"]);
            let examples: Vec<_> = content.get("example").into_iter().chain(values).collect();
            let is_this_document = content["schema"]["required"][0] == "openapi";
            assert!(!examples.is_empty() || is_this_document, "{name}: {content}");
            for example in examples {
                let checked_out = CONTRACT.validate(&content["schema"], example);
                checked_out.unwrap_or_else(|why| panic!("{name}: {why}: {example}"));
                checked += 1;
            }
        }
    });
    assert!(checked > 30, "{checked}");
}

#[test]
fn an_undocumented_answer_fails_the_contract_check() {
    let answer = |status, body: &Value| {
        let headers = ["content-type: application/json", "x-request-id: req_1", "retry-after: 1"];
        let headers = headers.iter().filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.into(), value.into())).collect();
        Response { status, headers, body: body.to_string().into() }
    };
    let error = json!({ "error": "not_found", "message": "m" });
    let check = |method, path, answer: &Response| CONTRACT.check(method, path, answer);
    let session = "/v1/sessions/ses_1";
    check("GET", session, &answer(404, &error)).unwrap();
    check("GET", "/nowhere", &answer(404, &error)).unwrap();
    check("PATCH", session, &answer(405, &error)).unwrap();
    for (method, path, status, body) in [
        ("GET", session, 418, error.clone()),
        ("GET", session, 409, error.clone()),
        ("GET", "/nowhere", 200, error.clone()),
        ("PATCH", session, 200, error.clone()),
        ("GET", session, 404, json!({ "error": "not_found" })),
        ("GET", session, 404, json!({ "error": "no_such_code", "message": "m" })),
        ("GET", session, 404, json!({ "error": "not_found", "message": "m", "more": 1 })),
        ("GET", session, 200, json!({ "session_id": "x", "status": "DONE", "livemode": true })),
        ("GET", session, 401, json!({ "error": "invalid_api_key", "message": "m" })), // no header
        ("DELETE", session, 204, error.clone()),
    ] {
        assert!(check(method, path, &answer(status, &body)).is_err(), "{method} {status} {body}");
    }
    let mut plain = answer(404, &error);
    plain.headers[0].1 = "text/plain".into();
    assert!(check("GET", session, &plain).is_err());
    plain.headers.clear();
    assert!(check("GET", session, &plain).is_err());
}

fn each_object(value: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(members);
            members.values().for_each(|value| each_object(value, visit));
        }
        Value::Array(items) => items.iter().for_each(|value| each_object(value, visit)),
        _ => {}
    }
}
