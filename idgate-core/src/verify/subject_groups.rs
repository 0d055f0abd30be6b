//! Credentials about the same person: equal values, position by position.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use unicode_normalization::UnicodeNormalization;

use crate::codec::json::{Kind, Tape, Value};
use crate::request::Decimal;
use crate::time::UnixMillis;

/// Whether all credentials have the same values; a missing value equals nothing.
pub(super) fn same_subject(subjects: &[&Vec<Option<String>>]) -> bool {
    let Some((first, others)) = subjects.split_first() else { return false };
    let complete = !first.is_empty() && first.iter().all(Option::is_some);
    complete && others.iter().all(|other| other == first)
}

/// A comparable form of a JSON value: NFC, case folding, white-space folding and ISO dates for
/// strings, exact decimals for numbers, members in any order. `None` for values that identify no
/// person: null, the empty text and empty containers.
pub(super) fn normalise(json: &str) -> Option<String> {
    let mut tape = Tape::default();
    let id = tape.parse(json.as_bytes()).ok()?;
    let mut out = String::new();
    write_normal(tape.value(id), &mut out).then_some(out)
}

/// The recursion is limited by the depth that strict JSON may have. `false`: there is nothing to
/// compare.
fn write_normal(value: Value<'_, '_>, out: &mut String) -> bool {
    match value.kind() {
        Kind::Null => false,
        Kind::Bool => push(out, if value.as_bool() == Some(true) { "true" } else { "false" }),
        Kind::Number => push(out, &Decimal::parse(value.as_number().unwrap_or("0")).canonical()),
        Kind::String => {
            let text = value.as_str().unwrap_or_default();
            let folded = fold(iso_date(&text).unwrap_or(&text));
            push(out, &format!("{folded:?}")) && !folded.is_empty()
        }
        Kind::Array => {
            let mut elements = value.elements().into_iter().flatten().peekable();
            let some = elements.peek().is_some();
            out.push('[');
            for element in elements {
                write_normal(element, out);
                out.push(',');
            }
            push(out, "]") && some
        }
        Kind::Object => {
            let members = value.members().into_iter().flatten();
            let mut members: Vec<_> = members.map(|(name, v)| (name.unescape(), v)).collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            out.push('{');
            for (name, value) in &members {
                push(out, &format!("{name:?}:"));
                write_normal(*value, out);
                out.push(',');
            }
            push(out, "}") && !members.is_empty()
        }
    }
}

fn push(out: &mut String, text: &str) -> bool {
    out.push_str(text);
    true
}

/// Folding can undo normalisation, so the text is normalised before and after (Unicode D145).
fn fold(text: &str) -> String {
    let folded: String = caseless::default_case_fold_str(&text.nfd().collect::<String>());
    let composed: String = folded.nfc().collect();
    let words: Vec<&str> = composed.split_whitespace().collect();
    words.join(" ")
}

/// The date in `YYYY-MM-DD`, or in a whole RFC 3339 time.
fn iso_date(text: &str) -> Option<&str> {
    let text = text.trim();
    let (date, rest) = text.split_at_checked(10)?;
    let midnight = if rest.is_empty() { "T00:00:00Z" } else { rest };
    // The calendar repeats every 400 years, so any year can be mapped to one after 1970.
    let year: u64 = date.get(..4)?.parse().ok()?;
    let moved = format!("{}{}{midnight}", 2000 + year % 400, date.get(4..)?);
    UnixMillis::parse_rfc3339(&moved).map(|_| date)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        same_subject(&[&vec![normalise(a)], &vec![normalise(b)]])
    }

    #[test]
    fn folds_case_composition_and_white_space() {
        assert!(same(r#""MÜLLER  Öz""#, r#"" mu\u0308ller öz ""#));
        assert!(same(r#""STRASSE""#, r#""straße""#));
        assert!(!same(r#""Muller""#, r#""Müller""#));
    }

    #[test]
    fn folds_iso_dates() {
        assert!(same(r#""1990-05-01""#, r#""1990-05-01T00:00:00Z""#));
        assert!(!same(r#""1990-05-01""#, r#""1990-05-02""#));
        assert!(!same(r#""1990-05-01""#, r#""1990-05-01x""#));
        assert!(!same(r#""1990-05-01""#, r#""1990-05-01 junk""#));
        assert!(same(r#""1932-02-29T10:00:00+02:00""#, r#""1932-02-29""#));
    }

    #[test]
    fn a_missing_value_matches_nothing() {
        assert!(!same("null", "null"));
        assert!(!same(r#""""#, r#"" ""#));
        assert!(!same_subject(&[&vec![None], &vec![None]]));
        assert!(!same_subject(&[&Vec::new(), &Vec::new()]));
        assert!(!same("{}", "{}"));
        assert!(!same("[]", "[]"));
    }

    #[test]
    fn values_inside_containers_are_folded_too() {
        assert!(same(r#"["DE","\u00fc"]"#, r#"["de","u\u0308"]"#));
        assert!(same(r#"{"a":1,"b":2.0}"#, r#"{"b":2,"a":1.00}"#));
        assert!(!same(r#"["a","b"]"#, r#"["b","a"]"#));
        assert!(same("1990", "1990.0"));
    }

    #[test]
    fn kinds_do_not_mix() {
        assert!(!same("1", r#""1""#));
        assert!(same("1", "1"));
    }
}
