//! Accepted forms of an answer, and one refusal per rule.

use alloc::format;
use alloc::string::{String, ToString};

use super::*;

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";
const PE: QueryLanguage = QueryLanguage::PresentationExchange;

fn post<'a>(content_type: &'a str, body: &'a str) -> Result<DirectPost<'a>, NotAnAnswer> {
    post_to(PE, content_type, body)
}

fn post_to<'a>(
    query: QueryLanguage,
    content_type: &'a str,
    body: &'a str,
) -> Result<DirectPost<'a>, NotAnAnswer> {
    match Posted::parse(
        Answer { to: "", content_type: Some(content_type), body: body.as_bytes() },
        query,
    )? {
        Posted::Plain(answer) => Ok(answer),
        Posted::Encrypted(_) => panic!("an encrypted answer"),
    }
}

/// State, tokens, whether they were an array, and submission.
fn presentation(content_type: &str, body: &str) -> (String, Vec<String>, bool, String) {
    let DirectPost { state, answer } = post(content_type, body).unwrap();
    match answer {
        Content::Presentation { vp_token: VpToken::One(token), submission } => {
            (state.into_owned(), vec![token.into_owned()], false, submission.unwrap())
        }
        Content::Presentation { vp_token: VpToken::Several(tokens), submission } => {
            let tokens = tokens.into_iter().map(Cow::into_owned).collect();
            (state.into_owned(), tokens, true, submission.unwrap())
        }
        Content::Presentation { .. } => panic!("an answer to another query"),
        Content::DeviceResponse(_) => panic!("a response by itself"),
        Content::Error(_) => panic!("an error"),
    }
}

#[track_caller]
fn refused(content_type: &str, body: &str, rule: &str) {
    match post(content_type, body) {
        Err(NotAnAnswer::Malformed(text)) => assert!(text.contains(rule), "{body}: {text}"),
        other => panic!("{body}: {other:?}"),
    }
}

fn encoded(vp_token: &str, submission: &str) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("vp_token", vp_token).append_pair("state", "s");
    form.append_pair("presentation_submission", submission).finish()
}

#[test]
fn a_form_has_plain_text_arrays_and_quoted_strings() {
    for (text, tokens, array) in [
        ("a~b~", vec!["a~b~"], false),
        ("\"a~\"", vec!["a~"], false),
        (r#"["a~","b"]"#, vec!["a~", "b"], true),
        (r#" ["\u0061"] "#, vec!["a"], true),
        ("123", vec!["123"], false),
    ] {
        let (state, got, got_array, submission) =
            presentation(FORM, &encoded(text, r#"{"é": "+"}"#));
        assert_eq!((state.as_str(), got_array), ("s", array), "{text}");
        assert_eq!(got, tokens);
        assert_eq!(submission, r#"{"é": "+"}"#);
    }
}

#[test]
fn an_answer_has_at_most_4096_values() {
    let body = |count: usize| {
        let more = "1,".repeat(count);
        format!(r#"{{"state":"s","vp_token":"a~","presentation_submission":{{}},"x":[{more}1]}}"#)
    };
    // The object, four names, three values and the array itself.
    assert!(post(JSON, &body(MAX_ANSWER_VALUES - 10)).is_ok());
    refused(JSON, &body(MAX_ANSWER_VALUES - 9), "more than 4096");
    let many = format!("[{}\"a\"]", "\"a\",".repeat(MAX_ANSWER_VALUES));
    refused(FORM, &encoded(&many, "{}"), "not valid JSON");
}

#[test]
fn a_json_body_has_strings_arrays_and_a_submission_as_object_or_text() {
    for (vp_token, tokens, array) in [
        (r#""a~""#, vec!["a~"], false),
        (r#"["a","b"]"#, vec!["a", "b"], true),
        (r#""[]""#, vec!["[]"], false),
    ] {
        for submission in [r#"{"id":"x"}"#, r#""{\"id\":\"x\"}""#] {
            let body = format!(
                r#"{{"vp_token":{vp_token},"state":"s","presentation_submission":{submission},"more":null}}"#
            );
            let (state, got, got_array, submission) = presentation(JSON, &body);
            assert_eq!((state.as_str(), got_array), ("s", array));
            assert_eq!(got, tokens);
            assert_eq!(submission, r#"{"id":"x"}"#);
        }
    }
}

#[test]
fn media_types_are_exact_with_parameters_and_in_any_case() {
    let json = r#"{"error":"access_denied","state":"s"}"#;
    for good in ["Application/JSON", "application/json; charset=utf-8", " application/json ;x"] {
        assert!(post(good, json).is_ok(), "{good}");
    }
    assert!(post("APPLICATION/x-www-form-urlencoded;charset=UTF-8", "error=e&state=s").is_ok());
    for bad in [
        "",
        "text/plain",
        "application/jsonx",
        "application/json,x",
        "application/problem+json",
        "json",
    ] {
        refused(bad, json, "Content-Type");
    }
    let missing = Posted::parse(Answer { to: "", content_type: None, body: json.as_bytes() }, PE);
    assert!(matches!(missing, Err(NotAnAnswer::Malformed(_))));
}

#[test]
fn a_line_break_after_a_form_is_reported() {
    for behind in ["\r\n", "\n", "\r", "\r\n\r\n"] {
        for form in ["error=e&state=s", "state=s&error=e", "error=e&state=s&more=x", ""] {
            refused(FORM, &format!("{form}{behind}"), "line break (CR or LF)");
        }
    }
    // Encoded it is part of the value; after JSON it is white space.
    assert!(post(FORM, "error=e&state=s%0D%0A").is_ok());
    let json = "{\"error\":\"access_denied\",\"state\":\"s\"}\r\n";
    assert!(post("application/json", json).is_ok());
}

#[test]
fn a_body_over_one_mebibyte_is_too_large() {
    let body = |n: usize| format!("error=e&state=s&more={}", "x".repeat(n - 21));
    assert!(post(FORM, &body(MAX_RESPONSE_BYTES)).is_ok());
    let too_large = post(FORM, &body(MAX_RESPONSE_BYTES + 1)).unwrap_err();
    assert_eq!(too_large, NotAnAnswer::TooLarge);
    let unknown_type = post("x", &body(MAX_RESPONSE_BYTES + 1)).unwrap_err();
    assert_eq!(unknown_type, NotAnAnswer::TooLarge);
}

#[test]
fn an_error_answer_needs_its_state() {
    for (content_type, body) in [
        (FORM, "error=access_denied&error_description=no+thanks&state=s"),
        (JSON, r#"{"error":"access_denied","state":"s"}"#),
    ] {
        let noted = post(content_type, body).unwrap();
        assert!(noted.state == "s" && matches!(noted.answer, Content::Error(_)));
    }
    refused(FORM, "error=access_denied", "state is missing");
    refused(JSON, r#"{"error":"access_denied"}"#, "state is missing");
    refused(FORM, "error=&state=s", "error is empty");
    refused(FORM, "error=e&state=", "state is empty");
    refused(JSON, r#"{"error":1,"state":"s"}"#, "error must be a string");
    // A null error counts as absent.
    refused(JSON, r#"{"error":null,"state":"s"}"#, "vp_token is missing");
}

#[test]
fn error_and_vp_token_exclude_each_other() {
    refused(FORM, "error=e&vp_token=a&state=s&presentation_submission=%7B%7D", "exclude");
    refused(FORM, "error=&vp_token=a&state=s", "exclude");
    refused(JSON, r#"{"error":"e","vp_token":"a","state":"s"}"#, "exclude");
}

fn encrypted(content_type: &str, body: &str) -> (String, Option<String>) {
    match Posted::parse(
        Answer { to: "", content_type: Some(content_type), body: body.as_bytes() },
        PE,
    )
    .unwrap()
    {
        Posted::Encrypted(EncryptedPost { response, state }) => {
            (response.into_owned(), state.map(Cow::into_owned))
        }
        Posted::Plain(answer) => panic!("{answer:?}"),
    }
}

#[test]
fn response_is_an_encrypted_answer_with_or_without_state() {
    let jwe = String::from("a.b.c.d.e");
    let state = Some(String::from("s"));
    assert_eq!(encrypted(FORM, "response=a.b.c.d.e"), (jwe.clone(), None));
    assert_eq!(encrypted(FORM, "state=s&response=a.b.c.d.e&x=1"), (jwe.clone(), state.clone()));
    assert_eq!(encrypted(JSON, r#"{"response":"a.b.c.d.e","error":null}"#), (jwe.clone(), None));
    assert_eq!(encrypted(JSON, r#"{"response":"a.b.c.d.e","state":"s"}"#), (jwe, state));
}

#[test]
fn response_excludes_the_parameters_that_it_encrypts() {
    refused(FORM, &format!("{}&response=a", encoded("a", "{}")), "excludes");
    refused(FORM, "response=a&error=access_denied&state=s", "excludes");
    refused(JSON, r#"{"response":"a","vp_token":"t"}"#, "excludes");
}

#[test]
fn response_is_a_text() {
    refused(FORM, "response=", "response is empty");
    refused(JSON, r#"{"response":""}"#, "response is empty");
    refused(JSON, r#"{"response":["a"]}"#, "response must be a string");
    refused(JSON, r#"{"response":{"ciphertext":"a"}}"#, "response must be a string");
    refused(JSON, r#"{"response":"a","state":1}"#, "state must be a string");
    refused(JSON, r#"{"response":"a","state":""}"#, "state is empty");
    refused(FORM, "response=a&state=", "state is empty");
    refused(FORM, "response=a&response=b", "repeated");
}

#[test]
fn a_null_response_counts_as_absent() {
    let answer = r#""vp_token":"a","presentation_submission":{},"state":"s","response":null"#;
    assert!(post(JSON, &format!("{{{answer}}}")).is_ok());
    let error = post(JSON, r#"{"response":null,"error":"access_denied","state":"s"}"#);
    assert!(matches!(error.unwrap().answer, Content::Error(_)));
    refused(JSON, r#"{"response":null,"error":null,"state":"s"}"#, "vp_token is missing");
}

#[test]
fn a_payload_is_an_answer_and_not_nested() {
    let payload = br#"{"vp_token":"a~","presentation_submission":{},"state":"s","exp":1}"#;
    let answer = DirectPost::from_payload(payload, PE).unwrap();
    assert!(matches!(answer.answer, Content::Presentation { .. }));
    let error = DirectPost::from_payload(br#"{"error":"access_denied","state":"s"}"#, PE).unwrap();
    assert!(matches!(error.answer, Content::Error(_)));
    for bad in ["", "[]", "vp_token=a", r#"{"response":"a.b.c.d.e"}"#, r#"{"a":1,"a":1}"#] {
        let refused = DirectPost::from_payload(bad.as_bytes(), PE);
        assert!(matches!(refused, Err(NotAnAnswer::Malformed(_))), "{bad}");
    }
    assert!(matches!(DirectPost::from_payload(b"\xff", PE), Err(NotAnAnswer::Malformed(_))));
}

#[test]
fn missing_parameters_are_refused() {
    refused(FORM, "", "state is missing");
    refused(JSON, "{}", "state is missing");
    refused(FORM, "vp_token=a&presentation_submission=%7B%7D", "state is missing");
    refused(FORM, "state=s&presentation_submission=%7B%7D", "vp_token is missing");
    refused(FORM, "state=s&vp_token=a", "presentation_submission is missing");
    refused(JSON, r#"{"vp_token":"a","state":"s"}"#, "presentation_submission is missing");
    refused(FORM, "state=&vp_token=a&presentation_submission=%7B%7D", "state is empty");
}

#[test]
fn repeated_parameters_are_refused_and_unknown_ones_ignored() {
    let good = encoded("a", "{}");
    for name in ["vp_token", "state", "presentation_submission", "%73tate"] {
        refused(FORM, &format!("{good}&{name}=x"), "repeated");
    }
    refused(FORM, "error=e&error=e&state=s", "repeated");
    assert!(post(FORM, &format!("{good}&x=1&x=2&client_id=a")).is_ok());
    refused(JSON, r#"{"error":"e","error":"e","state":"s"}"#, "twice");
    refused(JSON, r#"{"error":"e","state":"s","x":1,"\u0078":2}"#, "twice");
}

#[test]
fn wrongly_typed_json_is_refused() {
    let body = |vp_token: &str, submission: &str, state: &str| {
        format!(
            r#"{{"vp_token":{vp_token},"presentation_submission":{submission},"state":{state}}}"#
        )
    };
    for vp_token in ["{}", "1", "null", "true", "[1]", r#"["a",null]"#, r#"[["a"]]"#] {
        refused(JSON, &body(vp_token, "{}", "\"s\""), "vp_token must be");
    }
    for vp_token in ["\"\"", "[]", r#"[""]"#] {
        refused(JSON, &body(vp_token, "{}", "\"s\""), "vp_token is empty");
    }
    for submission in ["[]", "1", "null", "\"[]\"", "\"1\""] {
        refused(JSON, &body("\"a\"", submission, "\"s\""), "submission must be an object");
    }
    for submission in ["\"\"", "\"{\"", r#""{\"a\":1,\"a\":2}""#] {
        refused(JSON, &body("\"a\"", submission, "\"s\""), "submission is not valid JSON");
    }
    for state in ["1", "null", "{}"] {
        refused(JSON, &body("\"a\"", "{}", state), "state must be a string");
    }
    refused(JSON, &body("\"a\"", "{}", "\"\""), "state is empty");
}

#[test]
fn wrongly_typed_forms_are_refused() {
    refused(FORM, &encoded("", "{}"), "vp_token is empty");
    refused(FORM, &encoded("[]", "{}"), "vp_token is empty");
    refused(FORM, &encoded("\"\"", "{}"), "vp_token is empty");
    for vp_token in [r#"{"a":"b"}"#, "[1]", r#"["a",{}]"#] {
        refused(FORM, &encoded(vp_token, "{}"), "vp_token must be");
    }
    for vp_token in ["[", "\"a", "{", "[\"a\"]x", "\"a\" b"] {
        refused(FORM, &encoded(vp_token, "{}"), "vp_token is not valid JSON");
    }
    for submission in ["[]", "1", "null", "\"{}\""] {
        refused(FORM, &encoded("a", submission), "submission must be an object");
    }
    for submission in ["", "{", "{'a':1}", r#"{"a":1,"a":1}"#] {
        refused(FORM, &encoded("a", submission), "submission is not valid JSON");
    }
}

#[test]
fn bodies_that_are_neither_form_nor_json_are_refused() {
    refused(FORM, "error=%zz&state=s", "not well-formed");
    refused(FORM, "error=e&state=s&unknown=%", "not well-formed");
    refused(FORM, "error=e&state=%ff", "not well-formed");
    for bad in ["", "{", "[]x", "{\"a\":1}}", "{'a':1}"] {
        refused(JSON, bad, "not valid JSON");
    }
    for bad in ["[]", "null", "\"a\"", "1"] {
        refused(JSON, bad, "JSON object");
    }
    for content_type in [FORM, JSON] {
        let body = Posted::parse(
            Answer { to: "", content_type: Some(content_type), body: b"{\"state\":\"\xff\"}" },
            PE,
        );
        assert!(matches!(body, Err(NotAnAnswer::Malformed(_))));
    }
}

#[test]
fn depth_is_limited_everywhere() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    refused(FORM, &encoded(&deep, "{}"), "vp_token is not valid JSON");
    refused(FORM, &encoded("a", &format!("{{\"a\":{deep}}}")), "submission is not valid JSON");
    refused(JSON, &format!("{{\"a\":{deep}}}"), "nests JSON deeper than 32");
    let payload = format!("{{\"a\":{deep},\"error\":\"e\",\"state\":\"s\"}}");
    let refused = DirectPost::from_payload(payload.as_bytes(), PE);
    assert!(matches!(refused, Err(NotAnAnswer::Malformed(what)) if what.contains("deeper")));
}

/// `vp_token` of an answer to a DCQL query: `id: text, …`, with `?` for values that are not
/// strings.
fn map(content_type: &str, body: &str) -> String {
    let answer = post_to(QueryLanguage::Dcql, content_type, body).unwrap();
    let Content::Presentation { vp_token: VpToken::Map(map), submission: None } = answer.answer
    else {
        panic!("an answer to another query")
    };
    let text = |one: &Option<Cow<'_, str>>| one.as_deref().unwrap_or("?").to_string();
    let list = |list: &[Option<Cow<'_, str>>]| list.iter().map(text).collect::<Vec<_>>().join("+");
    map.iter().map(|(id, given)| format!("{id}: {};", list(given))).collect()
}

#[track_caller]
fn refused_of_dcql(content_type: &str, body: &str, rule: &str) {
    match post_to(QueryLanguage::Dcql, content_type, body) {
        Err(NotAnAnswer::Malformed(text)) => assert!(text.contains(rule), "{body}: {text}"),
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn an_answer_to_dcql_is_an_object_in_json_and_in_a_form() {
    let token = r#" {"a": ["x~", "y"], "\u0062": "z", "c": [], "d": [{}], "e": 1}"#;
    let expected = "a: x~+y;b: z;c: ;d: ?;e: ?;";
    let json = format!(r#"{{"state":"s","vp_token":{token},"poa":{{}},"exp":1}}"#);
    assert_eq!(map(JSON, &json), expected);
    assert_eq!(map(FORM, &encoded(token, "{}")), expected);
    let payload = DirectPost::from_payload(json.as_bytes(), QueryLanguage::Dcql).unwrap().answer;
    assert!(matches!(payload, Content::Presentation { vp_token: VpToken::Map(_), .. }));
    assert_eq!(map(JSON, r#"{"state":"s","vp_token":{}}"#), "");
}

#[test]
fn a_submission_in_an_answer_to_dcql_is_ignored() {
    for submission in ["{}", "[]", "not json", ""] {
        assert_eq!(map(FORM, &encoded(r#"{"a":["x"]}"#, submission)), "a: x;");
    }
    let json = r#"{"state":"s","vp_token":{"a":["x"]},"presentation_submission":7}"#;
    assert_eq!(map(JSON, json), "a: x;");
}

#[test]
fn a_token_of_the_other_query_language_is_refused() {
    for token in ["a~b~", "\"a~\"", r#"["a~"]"#, "1", "null"] {
        let rule = if token == "a~b~" { "not valid JSON" } else { "must be an object" };
        refused_of_dcql(FORM, &encoded(token, "{}"), rule);
    }
    for token in [r#""a~""#, r#"["a~"]"#, "1", "null", r#""{\"a\":[\"x\"]}""#] {
        let body = format!(r#"{{"state":"s","vp_token":{token}}}"#);
        refused_of_dcql(JSON, &body, "must be an object");
    }
    refused_of_dcql(FORM, &encoded("", "{}"), "vp_token is empty");
    refused_of_dcql(FORM, &encoded(r#"{"a":["x"],"a":["y"]}"#, "{}"), "not valid JSON");
    refused_of_dcql(JSON, r#"{"state":"s","vp_token":{"a":["x"],"a":["y"]}}"#, "twice");
}

#[test]
fn an_answer_to_an_unknown_session_may_be_in_any_language_in_use() {
    let check = |body: &str, queries: &[QueryLanguage]| {
        Answer { to: "", content_type: Some(JSON), body: body.as_bytes() }.check_syntax_of(queries)
    };
    let dcql = r#"{"state":"s","vp_token":{"a":["x"]}}"#;
    let exchange = r#"{"state":"s","vp_token":"a~","presentation_submission":{}}"#;
    let both = [PE, QueryLanguage::Dcql];
    for body in [dcql, exchange] {
        assert_eq!(check(body, &both), Ok(()));
    }
    assert!(check(dcql, &[PE]).is_err() && check(exchange, &[QueryLanguage::Dcql]).is_err());
    let neither = r#"{"state":"s"}"#;
    assert_eq!(check(neither, &both), Err(NotAnAnswer::Malformed("vp_token is missing")));
}

#[test]
fn debug_output_has_no_tokens() {
    let text = format!("{:?}", post(FORM, &encoded("secret", "{}")).unwrap());
    assert_eq!(text, "Presentation".to_string());
}
