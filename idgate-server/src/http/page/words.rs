//! The texts of pages: one file for each language, with a key and its text on each line.

use std::collections::HashMap;
use std::sync::LazyLock;

/// All languages; English is the first.
pub(super) static ALL: LazyLock<[Words; 8]> = LazyLock::new(|| {
    [
        Words::of("en", include_str!("words/en.txt")),
        Words::of("de", include_str!("words/de.txt")),
        Words::of("fr", include_str!("words/fr.txt")),
        Words::of("es", include_str!("words/es.txt")),
        Words::of("it", include_str!("words/it.txt")),
        Words::of("nl", include_str!("words/nl.txt")),
        Words::of("pl", include_str!("words/pl.txt")),
        Words::of("pt", include_str!("words/pt.txt")),
    ]
});

/// The texts of one language.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Words {
    /// ISO 639-1
    pub(super) code: &'static str,
    texts: HashMap<&'static str, &'static str>,
}

impl Words {
    fn of(code: &'static str, file: &'static str) -> Self {
        Self { code, texts: entries(file).collect() }
    }

    /// The default, for browsers that ask for no available language.
    pub(super) fn english() -> &'static Self {
        let [english, ..] = &*ALL;
        english
    }

    /// The text of a key. A test ensures that every language has all keys that the code uses.
    pub(super) fn text(&self, key: &str) -> &'static str {
        self.texts.get(key).copied().unwrap_or_default()
    }

    /// A title and a text.
    pub(super) fn notice(&self, key: &str) -> (&'static str, &'static str) {
        (self.text(&format!("{key}.title")), self.text(&format!("{key}.text")))
    }

    /// The name of a claim for people, if it has one.
    pub(super) fn claim(&self, name: &str) -> Option<&'static str> {
        self.texts.get(&*format!("claim.{name}")).copied()
    }
}

/// The lines that are neither comments nor empty.
fn entries(file: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(" = "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ENGLISH: &str = include_str!("words/en.txt");
    const OTHERS: [(&str, &str); 7] = [
        ("de", include_str!("words/de.txt")),
        ("fr", include_str!("words/fr.txt")),
        ("es", include_str!("words/es.txt")),
        ("it", include_str!("words/it.txt")),
        ("nl", include_str!("words/nl.txt")),
        ("pl", include_str!("words/pl.txt")),
        ("pt", include_str!("words/pt.txt")),
    ];

    /// Texts that are the same in English and another language.
    const SAME: [(&str, &str); 2] = [("fr", "Photo"), ("fr", "Signature")];

    /// The placeholders of a text, with repetitions.
    fn placeholders(text: &str) -> Vec<&str> {
        let mut found: Vec<_> =
            text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        found.sort_unstable();
        found
    }

    /// The keys that the code uses.
    fn named() -> BTreeSet<String> {
        let code = [
            include_str!("asking.rs"),
            include_str!("claims.rs"),
            include_str!("contacts.rs"),
            include_str!("handover.rs"),
            include_str!("live.rs"),
            include_str!("mod.rs"),
            include_str!("outcome.rs"),
        ]
        .concat();
        let after = |call: &str| {
            let keys = code.split(call).skip(1).filter_map(|rest| rest.split('"').next());
            keys.map(str::to_owned).collect::<Vec<_>>()
        };
        let notices = after("words.notice(\"").into_iter();
        let notices = notices.flat_map(|key| [format!("{key}.title"), format!("{key}.text")]);
        after("words.text(\"").into_iter().chain(notices).collect()
    }

    #[test]
    fn every_language_has_all_texts_with_their_placeholders() {
        for (code, file) in OTHERS {
            assert_eq!(entries(file).count(), entries(ENGLISH).count(), "{code}");
            for ((name, text), (key, as_english)) in entries(file).zip(entries(ENGLISH)) {
                let what = format!("{code} {name}: {text}");
                assert_eq!(name, key, "{what}");
                assert!(!text.trim().is_empty(), "{what}");
                assert_eq!(placeholders(text), placeholders(as_english), "{what}");
                assert_eq!(text == as_english, SAME.contains(&(code, text)), "{what}");
            }
        }
    }

    #[test]
    fn every_line_of_a_language_is_a_comment_or_one_key_with_its_text() {
        for (code, file) in OTHERS.into_iter().chain([("en", ENGLISH)]) {
            let lines = file.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            assert_eq!(lines.count(), entries(file).count(), "{code}");
            let words = ALL.iter().find(|words| words.code == code);
            assert_eq!(words.map(|words| words.texts.len()), Some(entries(file).count()), "{code}");
        }
    }

    #[test]
    fn english_has_exactly_the_keys_that_the_code_uses_and_claims() {
        let keys = entries(ENGLISH).map(|(key, _)| key.to_owned());
        let keys: BTreeSet<_> = keys.filter(|key| !key.starts_with("claim.")).collect();
        assert_eq!(keys, named());
    }
}
