//! The languages of pages, and how one is chosen (RFC 9110 12.5.4).

use super::words::{self, Words};
use crate::limits::MAX_LANGUAGES;

/// A language of pages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Language(&'static Words);

impl Language {
    /// The available language that the browser prefers; English if it prefers none of them.
    pub(crate) fn of(accepted: Option<&str>) -> Self {
        let mut best = (0, Words::english());
        for range in accepted.unwrap_or_default().split(',').take(MAX_LANGUAGES) {
            let (tag, parameter) = range.split_once(';').unwrap_or((range, "q=1"));
            let primary = tag.trim().split('-').next().unwrap_or_default();
            let found = words::ALL.iter().find(|words| words.code.eq_ignore_ascii_case(primary));
            let weight = weight(parameter.trim());
            if let Some(words) = found.filter(|_| weight > best.0) {
                best = (weight, words);
            }
        }
        Self(best.1)
    }

    /// The language with this code (ISO 639-1), if available.
    pub(crate) fn named(code: &str) -> Option<Self> {
        words::ALL.iter().find(|words| words.code == code).map(Self)
    }

    /// All of them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        words::ALL.iter().map(Self)
    }

    pub(super) fn words(self) -> &'static Words {
        self.0
    }
}

/// In thousandths; 0 means not wanted.
fn weight(parameter: &str) -> u16 {
    let value = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    let weight: f32 = value.and_then(|value| value.trim().parse().ok()).unwrap_or(0.0);
    match weight {
        w if w >= 1.0 => 1000,
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 to 1000
        w if w > 0.0 => (w * 1000.0) as u16,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_that_pages_do_not_have_is_not_chosen() {
        assert_eq!(Language::named("pl").map(|one| one.words().code), Some("pl"));
        for code in ["", "sv", "PL", "pl-PL", "e"] {
            assert_eq!(Language::named(code), None, "{code}");
        }
    }

    #[test]
    fn the_preferred_language_is_chosen_and_english_otherwise() {
        for (accepted, code) in [
            (None, "en"),
            (Some(""), "en"),
            (Some("de"), "de"),
            (Some("de-AT,de;q=0.9,en;q=0.8"), "de"),
            (Some("en;q=0.5, fr;q=0.6"), "fr"),
            (Some("sv, es;q=0.3"), "es"),
            (Some("nl-BE"), "nl"),
            (Some("pl,pt;q=0.9"), "pl"),
            (Some("pt-BR"), "pt"),
            (Some("IT"), "it"),
            (Some("ja,*"), "en"),
            (Some("de;q=0, it;q=0.001"), "it"),
            (Some("de;q=x,,;;=,fr;q=2"), "fr"),
            (Some("de;q=NaN,fr;q=-1"), "en"),
        ] {
            assert_eq!(Language::of(accepted).words().code, code, "{accepted:?}");
        }
        let long = "x,".repeat(100_000) + "de";
        assert_eq!(Language::of(Some(&long)).words().code, "en");
    }
}
