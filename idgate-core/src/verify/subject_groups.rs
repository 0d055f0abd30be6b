//! Credentials about the same person: equal values, position by position (decisions 4).

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use unicode_normalization::UnicodeNormalization;

use crate::codec::json::{Kind, Tape};
use crate::time::days_from_civil;

/// Whether all credentials have the same values; a missing value matches nothing.
pub(super) fn same_subject(subjects: &[&Vec<Option<String>>]) -> bool {
    let Some((first, others)) = subjects.split_first() else { return false };
    let complete = !first.is_empty() && first.iter().all(Option::is_some);
    complete && others.iter().all(|other| other == first)
}

/// A comparable form of a JSON value: NFC, case folding, white-space folding and ISO dates for
/// strings, the JSON text for the rest. `None` for what identifies nobody: null and the empty text.
pub(super) fn normalise(json: &str) -> Option<String> {
    let mut tape = Tape::default();
    let id = tape.parse(json.as_bytes()).ok()?;
    let value = tape.value(id);
    match value.kind() {
        Kind::Null => None,
        Kind::String => {
            let text = value.as_str()?;
            let text = iso_date(&text).map_or(text.clone(), |date| Cow::Owned(date.into()));
            let folded = fold(&text);
            (!folded.is_empty()).then(|| alloc::format!("s:{folded}"))
        }
        _ => Some(alloc::format!("j:{json}")),
    }
}

/// Folding can undo normalisation, so it is normalised before and after (Unicode D145).
fn fold(text: &str) -> String {
    let folded: String = caseless::default_case_fold_str(&text.nfd().collect::<String>());
    let composed: String = folded.nfc().collect();
    let words: Vec<&str> = composed.split_whitespace().collect();
    words.join(" ")
}

/// The date of `YYYY-MM-DD`, also with a time behind it.
fn iso_date(text: &str) -> Option<&str> {
    let text = text.trim();
    let date = text.get(..10)?;
    let rest = text.get(10..)?;
    let mut parts = date.split('-');
    let mut number = |digits: usize| {
        let part = parts.next()?;
        let good = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
        good.then(|| part.parse::<u64>().ok()).flatten()
    };
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    // Days repeat every 400 years: any year is as good as one after 1970.
    days_from_civil(2000 + year % 400, month, day)?;
    (rest.is_empty() || rest.starts_with(['T', 't', ' '])).then_some(date)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        same_subject(&[&alloc::vec![normalise(a)], &alloc::vec![normalise(b)]])
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
    }

    #[test]
    fn a_missing_value_matches_nothing() {
        assert!(!same("null", "null"));
        assert!(!same(r#""""#, r#"" ""#));
        assert!(!same_subject(&[&alloc::vec![None], &alloc::vec![None]]));
        assert!(!same_subject(&[&Vec::new(), &Vec::new()]));
    }

    #[test]
    fn kinds_do_not_mix() {
        assert!(!same("1", r#""1""#));
        assert!(same("1", "1"));
    }
}
