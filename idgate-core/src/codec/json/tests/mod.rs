use alloc::string::String;

use super::*;
use crate::limits::{MAX_DEPTH, MAX_JSON_VALUES};

fn parse(text: &str) -> Result<Tape<'_>, JsonError> {
    let mut tape = Tape::default();
    tape.parse(text.as_bytes()).map(|_| tape)
}

fn root<'t, 'a>(tape: &'t Tape<'a>) -> Value<'t, 'a> {
    tape.value(NodeId(0))
}

#[test]
fn reads_every_kind() {
    let tape =
        parse(r#" {"a":[1,-2.5e3,true,false,null,"x\u00e9\ud83d\ude00\n"],"b":{}} "#).unwrap();
    let a: Vec<_> = root(&tape).get("a").unwrap().elements().unwrap().collect();
    assert_eq!(a[0].as_u64(), Some(1));
    assert_eq!(a[1].as_f64(), Some(-2500.0));
    assert_eq!((a[2].as_bool(), a[3].as_bool()), (Some(true), Some(false)));
    assert_eq!(a[4].kind(), Kind::Null);
    assert_eq!(a[5].as_str().as_deref(), Some("xé😀\n"));
    assert_eq!(root(&tape).get("b").unwrap().members().unwrap().count(), 0);
    assert!(root(&tape).get("c").is_none());
}

#[test]
fn keeps_the_source_text() {
    let text = r#"{"a": [1.0, "\u0041"]}"#;
    let tape = parse(text).unwrap();
    let mut out = String::new();
    root(&tape).write_source(&mut out);
    assert_eq!(out, text);
}

#[test]
fn refuses_duplicate_names() {
    assert_eq!(parse(r#"{"a":1,"a":2}"#).err(), Some(JsonError::DuplicateName));
    assert_eq!(parse(r#"{"a":1,"\u0061":2}"#).err(), Some(JsonError::DuplicateName));
    let many = |last: &str| {
        let members: String = (0..50).map(|i| format!("\"k{i}\":0,")).collect();
        format!("{{{members}\"{last}\":0}}")
    };
    assert_eq!(parse(&many("k7")).err(), Some(JsonError::DuplicateName));
    assert!(parse(&many("k50")).is_ok());
}

#[test]
fn refuses_depth_beyond_the_limit() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(parse(&nested(MAX_DEPTH + 1)).err(), Some(JsonError::TooDeep));
    assert_eq!(parse(&nested(100_000)).err(), Some(JsonError::TooDeep));
    assert_eq!(parse(&"{\"a\":".repeat(100_000)).err(), Some(JsonError::TooDeep));
}

/// This limits the memory that untrusted text may take, whatever its length.
#[test]
fn a_tape_holds_at_most_32768_values() {
    let ones = |count: usize| format!("[1{}]", ",1".repeat(count - 1));
    assert!(parse(&ones(MAX_JSON_VALUES - 1)).is_ok());
    assert_eq!(parse(&ones(MAX_JSON_VALUES)).err(), Some(JsonError::TooMany));
    assert_eq!(parse(&ones(1024 * 1024)).err(), Some(JsonError::TooMany));
    let (half, mut tape) = (ones(MAX_JSON_VALUES / 2), Tape::with_capacity(usize::MAX / 64));
    assert!(tape.nodes.capacity() <= MAX_JSON_VALUES);
    assert!(tape.parse(half.as_bytes()).is_ok());
    assert_eq!(tape.parse(half.as_bytes()).err(), Some(JsonError::TooMany));
}

#[test]
fn a_text_has_at_most_16_kib_of_names_with_escapes() {
    let names = |count: usize| {
        let name = |at| format!("\"\\u0061{}{at:02}\":0,", "a".repeat(1016));
        let members: String = (0..count).map(name).collect();
        format!("{{{members}\"b\":\"\\u0061\"}}")
    };
    assert!(parse(&names(16)).is_ok());
    assert_eq!(parse(&names(17)).err(), Some(JsonError::TooMany));
}

#[test]
fn escaped_strings_are_compared_as_they_are_resolved() {
    let tape = parse(r#"["\u0061b\"\\\ud83d\ude00c\n",""]"#).unwrap();
    let texts: Vec<_> = root(&tape).elements().unwrap().filter_map(Value::as_text).collect();
    let resolved = "ab\"\\\u{1f600}c\n";
    assert_eq!(texts[0].unescape(), resolved);
    assert!(texts[0].is(resolved) && texts[1].is(""));
    for (at, _) in resolved.char_indices() {
        assert!(!texts[0].is(&resolved[..at]), "{at}");
    }
    assert!(!texts[0].is("ab\"\\\u{1f600}c\nd") && !texts[0].is("xb") && !texts[1].is("a"));
}

#[test]
fn refuses_numbers_beyond_a_double() {
    assert_eq!(parse("1e400").err(), Some(JsonError::NumberRange));
    assert_eq!(parse(&"9".repeat(400)).err(), Some(JsonError::NumberRange));
    assert!(parse("1e308").is_ok());
    assert!(parse("1e-400").is_ok());
}

#[test]
fn refuses_text_that_is_not_json() {
    for bad in [
        "",
        " ",
        "{",
        "}",
        "[1,]",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "1.",
        ".5",
        "+1",
        "1e",
        "--1",
        "tru",
        "nul",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"\u{1}\"",
        "1 2",
        "[1 2]",
        "{\"a\" 1}",
        "NaN",
        "'a'",
        "\u{feff}1",
        "[\"a\":1]",
        "\"\\u+123\"",
    ] {
        assert_eq!(parse(bad).err(), Some(JsonError::Syntax), "{bad}");
    }
    assert_eq!(Tape::default().parse(b"\"\xff\"").err(), Some(JsonError::Syntax));
}

#[test]
fn a_failed_text_leaves_nothing_on_the_tape() {
    let mut tape = Tape::default();
    assert!(tape.parse(b"[1,2,").is_err());
    let id = tape.parse(b"[3]").unwrap();
    let first = tape.value(id).elements().unwrap().next().unwrap();
    assert_eq!(first.as_u64(), Some(3));
}

/// With the feature `arbitrary_precision` of another crate in the build, serde_json would accept
/// this.
#[test]
fn does_not_depend_on_the_features_of_serde_json() {
    let tape = parse(r#"{"$serde_json::private::Number":"7"}"#).unwrap();
    assert_eq!(root(&tape).kind(), Kind::Object);
}

fn explained(text: &[u8]) -> String {
    Tape::default().parse_explaining(text).unwrap_err()
}

#[test]
fn errors_name_line_and_column() {
    for (text, expected) in [
        ("", "is not valid JSON (line 1, column 1)"),
        ("{", "is not valid JSON (line 1, column 2)"),
        ("{\"a\": 1\n \"b\": 2}", "is not valid JSON (line 2, column 2)"),
        ("{\n\"\u{e4}\": tru}", "is not valid JSON (line 2, column 6)"),
        ("{\"a\" 1}", "is not valid JSON (line 1, column 6)"),
        ("[1,]", "is not valid JSON (line 1, column 4)"),
        ("[1,\n2] x", "is not valid JSON (line 2, column 4)"),
        ("[\n\n1e400]", "has a number outside the range of a double (line 3, column 6)"),
        ("{\"a\": 1,\n\"a\": 2}", "names a JSON member twice"),
    ] {
        assert_eq!(explained(text.as_bytes()), expected, "{text}");
    }
    assert_eq!(explained(b"{\n  \"\xff\"}"), "is not valid JSON (line 2, column 4)");
}
