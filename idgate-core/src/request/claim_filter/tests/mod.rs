//! Every keyword of [`ClaimFilter`], the values that it refuses, and invalid filters.

use alloc::string::{String, ToString};

use super::ClaimFilter;
use crate::codec::json::Tape;
use crate::error::RequestError;
use crate::request::fields::Field;

fn parse(text: &str) -> Result<ClaimFilter, RequestError> {
    let mut tape = Tape::default();
    let id = tape.parse(text.as_bytes()).unwrap();
    ClaimFilter::parse(&Field::new(tape.value(id), "f"))
}

fn matches(filter: &str, value: &str) -> bool {
    let mut tape = Tape::default();
    let id = tape.parse(value.as_bytes()).unwrap();
    parse(filter).unwrap().matches(tape.value(id))
}

/// Asserts that `filter` accepts every value of `good` and none of `bad`.
#[track_caller]
fn check(filter: &str, good: &[&str], bad: &[&str]) {
    for value in good {
        assert!(matches(filter, value), "{filter} must take {value}");
    }
    for value in bad {
        assert!(!matches(filter, value), "{filter} must refuse {value}");
    }
}

#[test]
fn the_empty_filter_accepts_everything() {
    check("{}", &["null", "1", "\"x\"", "[]", "{}", "true"], &[]);
}

#[test]
fn type_names_one_or_several_types() {
    check(r#"{"type":"string"}"#, &["\"\""], &["1", "null", "true", "[]", "{}"]);
    check(r#"{"type":"integer"}"#, &["1", "1.0", "-3", "1e2", "0"], &["1.5", "\"1\"", "1e-1"]);
    check(r#"{"type":"number"}"#, &["1", "1.5"], &["\"1\"", "null"]);
    check(r#"{"type":"boolean"}"#, &["true", "false"], &["0", "\"true\""]);
    check(r#"{"type":["null","array"]}"#, &["null", "[1]"], &["{}", "0"]);
    check(r#"{"type":"object"}"#, &["{}"], &["[]"]);
}

#[test]
fn const_compares_by_value() {
    check(r#"{"const":true}"#, &["true"], &["false", "\"true\"", "1", "null"]);
    check(r#"{"const":9007199254740993}"#, &["9007199254740993"], &["9007199254740992"]);
    check(r#"{"const":null}"#, &["null"], &["0", "\"\"", "false"]);
    check(r#"{"const":{"a":[1]}}"#, &[r#"{"a":[1.0]}"#], &[r#"{"a":[1],"b":2}"#, "{}"]);
}

#[test]
fn enum_takes_any_of_its_values() {
    check(r#"{"enum":["DE","AT",1]}"#, &["\"DE\"", "\"A\\u0054\"", "1.0"], &["\"de\"", "\"1\""]);
}

#[test]
fn bounds_are_exact_and_imply_numbers() {
    check(
        r#"{"minimum":18}"#,
        &["18", "18.0", "99"],
        &["17.9999999999999999999", "\"19\"", "null"],
    );
    check(r#"{"maximum":18}"#, &["18", "-1"], &["18.0000000000000000001", "\"1\"", "[]"]);
    check(r#"{"exclusiveMinimum":18}"#, &["18.1"], &["18", "17", "true"]);
    check(r#"{"exclusiveMaximum":18}"#, &["17"], &["18", "1e2", "{}"]);
}

#[test]
fn lengths_count_code_points_and_imply_strings() {
    check(
        r#"{"minLength":2}"#,
        &["\"éé\"", "\"\\ud83d\\ude00x\""],
        &["\"é\"", "\"😀\"", "22", "[1,2]"],
    );
    check(r#"{"maxLength":1}"#, &["\"\"", "\"😀\""], &["\"ab\"", "1", "null"]);
}

#[test]
fn pattern_is_unanchored_and_implies_strings() {
    check(r#"{"pattern":"b+"}"#, &["\"abc\"", "\"b\""], &["\"ac\"", "1", "null"]);
    check(r#"{"pattern":"^[A-Z]{2}$"}"#, &["\"DE\""], &["\"DEU\"", "\"DE\\n\"", "\"de\""]);
}

#[test]
fn digits_and_word_characters_are_ascii() {
    check(r#"{"pattern":"^\\d+$"}"#, &["\"12\""], &["\"١٢\"", "\"1a\""]);
    check(r#"{"pattern":"^[\\d.]+$"}"#, &["\"1.2\""], &["\"١\""]);
    check(r#"{"pattern":"^\\w\\W$"}"#, &["\"a-\"", "\"aé\""], &["\"é-\""]);
    check(r#"{"pattern":"^\\\\d$"}"#, &["\"\\\\d\""], &["\"\\\\1\"", "\"1\""]);
}

#[test]
fn format_date_takes_days_that_exist() {
    check(
        r#"{"format":"date"}"#,
        &["\"2000-02-29\"", "\"1926-11-21\"", "\"9999-12-31\"", "\"0000-02-29\""],
        &[
            "\"1900-02-29\"",
            "\"2001-02-29\"",
            "\"2001-13-01\"",
            "\"2001-04-31\"",
            "\"2001-00-01\"",
            "\"2001-01-00\"",
            "\"2001-1-1\"",
            "\"20010101\"",
            "\"2001-01-01T00:00:00Z\"",
            "\"+001-01-01\"",
            "\"２００1-01-01\"",
            "\"\"",
            "20010101",
            "null",
        ],
    );
}

#[test]
fn date_bounds_are_inclusive() {
    check(
        r#"{"format":"date","formatMinimum":"1970-01-02","formatMaximum":"2008-11-21"}"#,
        &["\"1970-01-02\"", "\"2008-11-21\"", "\"1999-12-31\""],
        &["\"1970-01-01\"", "\"2008-11-22\"", "\"1999-99-99\"", "\"1999\"", "1999"],
    );
}

#[test]
fn every_rule_must_hold() {
    check(r#"{"type":"integer","minimum":1,"maximum":3}"#, &["1", "3"], &["2.5", "0", "4"]);
    check(r#"{"type":"string","minimum":1}"#, &[], &["\"2\"", "2"]);
}

#[test]
fn other_keywords_are_refused() {
    for keyword in ["$ref", "not", "anyOf", "properties", "multipleOf", "Type", "description", ""] {
        let error = parse(&format!("{{\"{keyword}\":{{}}}}")).unwrap_err();
        let shown = match keyword {
            "$ref" | "" => "f".to_string(),
            _ => format!("f.{keyword}"),
        };
        assert_eq!((error.code.as_str(), error.path), ("invalid_request", shown), "{keyword}");
    }
}

#[test]
fn keywords_of_the_wrong_type_are_refused() {
    for (filter, path) in [
        ("[]", "f"),
        ("null", "f"),
        (r#"{"type":"date"}"#, "f.type"),
        (r#"{"type":null}"#, "f.type"),
        (r#"{"type":[]}"#, "f.type"),
        (r#"{"type":["string",1]}"#, "f.type[1]"),
        (r#"{"enum":"a"}"#, "f.enum"),
        (r#"{"enum":[]}"#, "f.enum"),
        (r#"{"minimum":"18"}"#, "f.minimum"),
        (r#"{"maximum":null}"#, "f.maximum"),
        (r#"{"exclusiveMinimum":true}"#, "f.exclusiveMinimum"),
        (r#"{"exclusiveMaximum":[]}"#, "f.exclusiveMaximum"),
        (r#"{"minLength":-1}"#, "f.minLength"),
        (r#"{"maxLength":1.5}"#, "f.maxLength"),
        (r#"{"pattern":1}"#, "f.pattern"),
        (r#"{"format":"date-time"}"#, "f.format"),
        (r#"{"format":null}"#, "f.format"),
        (r#"{"format":"date","formatMinimum":"2001-02-29"}"#, "f.formatMinimum"),
        (r#"{"format":"date","formatMaximum":20010101}"#, "f.formatMaximum"),
        (r#"{"formatMinimum":"2001-02-28"}"#, "f"),
        (r#"{"formatMaximum":"2001-02-28"}"#, "f"),
    ] {
        let error = parse(filter).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.path.as_str()),
            ("invalid_request", path),
            "{filter}"
        );
    }
}

#[test]
fn patterns_that_are_not_linear_or_too_large_are_refused() {
    for pattern in [
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        r"(a)\\1",
        "(",
        "[",
        "*",
        r"\\",
        r"[\\w\\W]{1000}{1000}",
        r"\\p{L}{999}",
        "(((a{99}){99}){99}){99}",
    ] {
        let error = parse(&format!("{{\"pattern\":\"{pattern}\"}}")).unwrap_err();
        assert_eq!(error.path, "f.pattern", "{pattern}");
    }
}

#[test]
fn patterns_over_256_characters_are_refused() {
    let filter = |n: usize| format!("{{\"pattern\":\"{}\"}}", "é".repeat(n));
    assert!(parse(&filter(256)).is_ok());
    assert!(parse(&filter(257)).unwrap_err().rule.contains("256"));
}

#[test]
fn the_wallet_gets_six_keywords_and_exact_numbers() {
    let filter = parse(
        r#"{"type":"integer","format":"date","minimum":9007199254740993,"exclusiveMaximum":9e99,"enum":[1.0]}"#,
    );
    let expected = r#"{"type":"integer","minimum":9007199254740993,"enum":[1.0]}"#;
    assert_eq!(filter.unwrap().for_wallet().as_deref(), Some(expected));
    assert_eq!(parse(r#"{"minLength":2}"#).unwrap().for_wallet(), None);
    assert_eq!(parse("{}").unwrap().for_wallet(), None);
}

#[test]
fn a_stored_filter_is_the_same_filter() {
    let filter = parse(r#"{"const":9007199254740993}"#).unwrap();
    let stored = serde_json::to_string(&filter).unwrap();
    let again: ClaimFilter = serde_json::from_str(&stored).unwrap();
    assert_eq!((again.source.as_str(), again.rules.len()), (filter.source.as_str(), 1));
    assert!(serde_json::from_str::<ClaimFilter>(r#""{\"not\":{}}""#).is_err());
    assert!(serde_json::from_str::<ClaimFilter>(r#""{""#).is_err());
}

#[test]
fn reading_a_stored_filter_compiles_nothing() {
    // No compiler accepts this pattern, so reading the filter did not compile it.
    let stored: ClaimFilter = serde_json::from_str(r#""{\"pattern\":\"(\"}""#).unwrap();
    let mut tape = Tape::default();
    let id = tape.parse(b"\"(\"").unwrap();
    assert!(!stored.matches(tape.value(id)));
    assert!(parse(r#"{"pattern":"("}"#).is_err());
}

#[test]
fn ordinary_patterns_are_small_enough() {
    for pattern in [
        r"^\\p{Lu}[\\p{L} '-]*$",
        r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[a-z]{2,}$",
        r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$",
        r"^.{1,50}$",
    ] {
        assert!(parse(&format!("{{\"pattern\":\"{pattern}\"}}")).is_ok(), "{pattern}");
    }
}

#[test]
fn debug_output_has_no_values() {
    let text: String = format!("{:?}", parse(r#"{"const":"Erika"}"#).unwrap());
    assert_eq!(text, "ClaimFilter(1 rules)".to_string());
}

#[test]
fn in_a_union_of_types_a_rule_applies_to_its_own_type_only() {
    assert!(matches(r#"{"type":["string","null"],"pattern":"^D"}"#, "null"));
    assert!(!matches(r#"{"type":["string","null"],"pattern":"^D"}"#, r#""x""#));
    assert!(matches(r#"{"type":["string","array"],"minLength":3}"#, r#"["x"]"#));
    assert!(!matches(r#"{"minimum":18}"#, r#""20""#));
}

#[test]
fn a_pattern_is_not_matched_against_long_texts() {
    let text = |len: usize| format!("\"{}\"", "a".repeat(len));
    assert!(matches(r#"{"pattern":"^a"}"#, &text(4096)));
    assert!(!matches(r#"{"pattern":"^a"}"#, &text(4097)));
}

#[test]
fn syntax_that_ecma_262_does_not_have_is_refused() {
    for bad in ["(?i)a", "(?P<n>a)", "[a&&b]", "[a--b]", "[a~~b]", "[a[b]]", "(?x: a)"] {
        assert!(super::has_foreign_syntax(bad), "{bad}");
    }
    for good in ["(?:a|b)", "(?<n>a)", "a&&b--c", "[a&b]", "\\(?i", "[-a]", "[a-]", "[\\[a]", "a~~"]
    {
        assert!(!super::has_foreign_syntax(good), "{good}");
    }
}
